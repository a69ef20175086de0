"""Describes strided operands as windows of packed tensors, which IREE can bind.

IREE binds packed row-major buffers only. A strided view is described as a *physical* tensor and the
window that the view cuts out of it. The physical tensor has its dims sorted by stride, and its rows
are as long as the stride between them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hipgraft.ir.strided_view import row_major_strides


def memory_element(element_type: str) -> str:
    """Returns the type that holds elements of `element_type` in memory.

    IREE packs integers of 4 bits, two to a byte, but has no buffers of 4-bit floats. Memory does
    not distinguish unsigned integers; only arithmetic does.
    """
    return "i4" if element_type == "f4E2M1FN" else element_type.removeprefix("u")


@dataclass(frozen=True)
class Window:
    """A box inside a packed tensor.

    Attributes:
        offsets: start of the box, per dim.
        sizes: extent of the box, per dim.
    """

    extents: tuple[int, ...]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the box is all of the tensor."""
        return self.extents == self.sizes


@dataclass(frozen=True)
class Layout:
    """A tensor's logical shape and its strides and offset in memory.

    Attributes:
        shape: logical extents.
        strides: elements between neighbours, per logical dim; 0 is a broadcast. The stride of a dim
            of extent 1 has no effect.
        offset: elements from the pointer to the first element.
        element_type: MLIR text of the element type.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    element_type: str

    @classmethod
    def row_major(cls, shape: Sequence[int], element_type: str) -> Layout:
        """Returns the packed layout of `shape` at offset 0."""
        return cls(tuple(shape), row_major_strides(shape), 0, element_type)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Logical dims in memory order, outermost first, without broadcast dims."""
        dims = range(len(self.shape))
        kept = [dim for dim in dims if self.shape[dim] == 1 or self.strides[dim] != 0]
        moving = self._moving(kept)
        if moving == sorted(moving, key=self._outermost_first):
            return tuple(kept)  # dims of extent 1 may have any stride and keep their position
        return tuple(sorted(kept, key=self._outermost_first))

    @cached_property
    def window(self) -> Window | None:
        """The view as a box in a packed tensor, `flat_offset` elements after the pointer.

        The tensor's dims are `order`, followed by one for the gap between elements if the
        innermost stride is not 1. None if the strides do not nest (overlapping windows, or every
        other element of rows of odd length): such a view is gathered from a flat tensor.
        """
        extents = self._extents()
        if extents is None:
            return None
        sizes = tuple(self.shape[dim] for dim in self.order)
        sizes += (1,) * (len(extents) - len(sizes))
        offsets = self._offsets(extents, sizes)
        if offsets is None:
            return Window(extents, (0,) * len(extents), sizes)
        outermost = self._outermost
        grown = tuple(
            extent + offset if position == outermost else extent
            for position, (extent, offset) in enumerate(zip(extents, offsets, strict=True))
        )
        return Window(grown, offsets, sizes)

    @property
    def has_gaps(self) -> bool:
        """Whether elements are missing between neighbours of the window's innermost dim."""
        return self.window is not None and len(self.window.extents) > len(self.order)

    @property
    def flat_offset(self) -> int:
        """Elements before the window's tensor: `offset`, unless the window includes it."""
        extents = self._extents()
        if extents is None or self.window is None:
            return self.offset
        return self.offset if self._offsets(extents, self.window.sizes) is None else 0

    @property
    def physical_shape(self) -> tuple[int, ...]:
        """Extents of the packed tensor that the kernel binds."""
        if self.window is None:
            steps = zip(self.shape, self.strides, strict=True)
            return (self.offset + sum((size - 1) * step for size, step in steps) + 1,)
        if self.flat_offset:
            return (self.flat_offset + math.prod(self.window.extents),)
        return self.window.extents

    @property
    def physical_elements(self) -> int:
        """Elements from the pointer that the kernel's binding spans.

        The span includes the whole last row, so it may exceed the last element that is read.
        """
        return math.prod(self.physical_shape)

    @property
    def physical_type(self) -> str:
        """MLIR text of the packed tensor's type."""
        extents = "".join(f"{size}x" for size in self.physical_shape)
        return f"tensor<{extents}{memory_element(self.element_type)}>"

    def _outermost_first(self, dim: int) -> tuple[int, int]:
        return (-self.strides[dim], dim)

    def _moving(self, dims: Sequence[int]) -> list[int]:
        return [dim for dim in dims if self.shape[dim] > 1]

    @property
    def _outermost(self) -> int:
        """Position in `order` of the dim whose extent may grow; -1 for the gap's dim."""
        moving = self._moving(self.order)
        return self.order.index(moving[0]) if moving else -1

    def _extents(self) -> tuple[int, ...] | None:
        """Computes the physical dims' extents from nested strides; the outermost is minimal."""
        moving = self._moving(self.order)
        if not moving:
            return (1,) * len(self.order)
        extents = {moving[0]: self.shape[moving[0]]}
        for outer, inner in itertools.pairwise(moving):
            extents[inner], rest = divmod(self.strides[outer], self.strides[inner])
            if rest or extents[inner] < self.shape[inner]:
                return None
        gap = self.strides[moving[-1]]
        row = tuple(extents.get(dim, 1) for dim in self.order)
        return row if gap == 1 else (*row, gap)

    def _offsets(self, extents: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        """The offset as one index per dim, or None if the window would cross the end of a row."""
        outermost = self._outermost
        rest = self.offset
        offsets: list[int] = []
        for position, step in enumerate(row_major_strides(extents)):
            movable = position == outermost or extents[position] > 1
            index, rest = divmod(rest, step) if movable else (0, rest)
            if position != outermost and index + sizes[position] > extents[position]:
                return None
            offsets.append(index)
        return None if rest else tuple(offsets)
