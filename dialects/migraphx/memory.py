"""Describes the physical tensors of the shaped arguments and results in a kernel's signature."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from hipgraft.dialects.migraphx.types import ShapedType, ShapedTypeError


@dataclass(frozen=True)
class MemoryLayout:
    """The packed row-major tensor of which a shaped value is a window.

    Attributes:
        kind: the shaped type.
        order: logical dimensions in memory order, outermost first.
        shape: extents of the packed tensor, in that order; 1 where a dimension is a broadcast.
    """

    kind: ShapedType
    order: tuple[int, ...]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, kind: ShapedType) -> MemoryLayout:
        """Returns the memory layout of values of a type.

        Dimensions are sorted by stride and extent. If a stride exceeds the size of the inner
        dimensions, rows in memory are longer (padding, or a slice of a larger tensor).

        Raises:
            ShapedTypeError: a shape or stride is dynamic, or no packed tensor has these strides.
        """
        shape, strides = kind.extents, kind.steps
        order = tuple(
            sorted(range(len(shape)), key=lambda dim: (strides[dim], shape[dim]), reverse=True)
        )
        extents = {dim: 1 if strides[dim] == 0 else shape[dim] for dim in order}
        # The stride of a dimension of extent 1 is irrelevant.
        moving = [dim for dim in order if extents[dim] > 1]
        if moving and strides[moving[-1]] != 1:
            raise ShapedTypeError(
                f"!migraphx.shaped type with smallest stride {strides[moving[-1]]} has no "
                f"supported in-memory layout, in {kind}"
            )
        for outer, inner in itertools.pairwise(moving):
            extents[inner] = _row(kind, strides[inner], strides[outer], extents[inner], outer)
        return cls(kind, order, tuple(extents[dim] for dim in order))

    @property
    def elements(self) -> int:
        """The number of elements of the packed tensor."""
        return math.prod(self.shape)

    @property
    def is_broadcast(self) -> bool:
        """Whether some elements share an address."""
        pairs = zip(self.kind.extents, self.kind.steps, strict=True)
        return any(extent > 1 and stride == 0 for extent, stride in pairs)

    @property
    def is_padded(self) -> bool:
        """Whether memory contains elements outside of the value."""
        kept = (1 if self.kind.steps[dim] == 0 else self.kind.extents[dim] for dim in self.order)
        return tuple(kept) != self.shape


def _row(kind: ShapedType, step: int, next_step: int, extent: int, outer: int) -> int:
    """Returns the number of elements in the rows inside the dimension `outer`."""
    what = f"!migraphx.shaped type can't be laid out in memory when the stride {next_step}"
    if next_step < step * extent:
        raise ShapedTypeError(
            f"{what} at index {outer} being smaller than the product of previous lengths "
            f"{step * extent}, in {kind}"
        )
    if next_step % step:
        raise ShapedTypeError(
            f"{what} at index {outer} does not evenly divide the previous stride {step}, in {kind}"
        )
    return next_step // step
