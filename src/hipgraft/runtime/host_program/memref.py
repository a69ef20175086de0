"""Defines the memref values of the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.element_types import byte_size, byte_width
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.runtime.recording import DYNAMIC, Tensor


@dataclass(frozen=True)
class MemRef:
    """A memref value; strides and offset are in elements, `address` is the aligned pointer."""

    address: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element_type: ir.Type

    @staticmethod
    def packed(address: int, memref_type: ir.Type) -> MemRef:
        """Returns a memref of identity layout and static shape."""
        static = ir.MemRefType(memref_type)
        shape = tuple(static.shape)
        return MemRef(address, 0, shape, row_major_strides(shape), static.element_type)

    @staticmethod
    def of_shape(address: int, shape: Sequence[int], memref_type: ir.Type) -> MemRef:
        """Returns a memref of identity layout; its type may have dynamic extents."""
        element_type = ir.MemRefType(memref_type).element_type
        return MemRef(address, 0, tuple(shape), row_major_strides(shape), element_type)

    @staticmethod
    def of_tensor(address: int, tensor: Tensor, memref_type: ir.Type) -> MemRef:
        """Returns a memref with the layout of a tensor."""
        element_type = ir.MemRefType(memref_type).element_type
        return MemRef(address, tensor.offset, tensor.shape, tensor.dense_strides, element_type)

    @staticmethod
    def laid_out(address: int, memref_type: ir.Type) -> MemRef:
        """Returns a memref with the layout of its type."""
        static = ir.MemRefType(memref_type)
        if 0 in static.shape:
            # MLIR treats strides as dynamic if they are products with an extent of 0.
            return MemRef.packed(address, memref_type)
        strides, offset = static.get_strides_and_offset()
        return MemRef(address, offset, tuple(static.shape), tuple(strides), static.element_type)

    @property
    def is_packed(self) -> bool:
        """Whether the elements are row-major without gaps and start at the pointer."""
        return self.offset == 0 and self.strides == row_major_strides(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the elements in bytes, without gaps."""
        return byte_size(self.shape, self.element_type) or 0

    @property
    def first(self) -> int:
        """The address of the first element."""
        return self.address + self.offset * (byte_width(self.element_type) or 0)


def tensor_of(value: ir.Value) -> Tensor:
    """Returns a memref's tensor, with the name in its location."""
    name = value.location.name_str if isinstance(value.location, ir.NameLoc) else ""
    if not isinstance(value.type, ir.MemRefType):
        raise HipgraftError(f"expected a memref as argument, but found '{value.type}'")
    kind = ir.MemRefType(value.type)
    if not kind.has_static_shape:
        dims = range(kind.rank)
        shape = tuple(DYNAMIC if kind.is_dynamic_dim(dim) else kind.shape[dim] for dim in dims)
        return Tensor(name, shape, str(kind.element_type))
    memref = MemRef.laid_out(0, value.type)
    strides = None if memref.is_packed else memref.strides
    return Tensor(name, memref.shape, str(memref.element_type), strides, memref.offset)
