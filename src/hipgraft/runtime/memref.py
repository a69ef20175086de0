"""Memref values as the interpreter holds them."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.bindings import ir
from hipgraft.element_types import byte_size, byte_width
from hipgraft.views import row_major_strides


@dataclass(frozen=True)
class MemRef:
    """A memref value; strides and offset in elements, `address` is the aligned pointer."""

    address: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_type: ir.Type

    @staticmethod
    def packed(address: int, memref_type: ir.Type) -> MemRef:
        """A memref of identity layout."""
        static = ir.MemRefType(memref_type)
        shape = tuple(static.shape)
        return MemRef(address, 0, shape, row_major_strides(shape), static.element_type)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps."""
        return byte_size(self.shape, self.element_type) or 0

    @property
    def first(self) -> int:
        """Address of the first element."""
        return self.address + self.offset * (byte_width(self.element_type) or 0)
