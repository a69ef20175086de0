"""Computes shapes for the rules of several ops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from hipgraft.ir.tensors import Shape


def shape_text(shape: Sequence[int]) -> str:
    """Returns a shape as messages show it, e.g. `1x64x56x56`."""
    return "x".join(map(str, shape))


def broadcast(*shapes: Sequence[int]) -> Shape | None:
    """Returns the common shape by numpy's rules, None if there is none."""
    extents: list[int] = []
    for column in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        others = {extent for extent in column if extent != 1}
        if len(others) > 1:
            return None
        extents.append(others.pop() if others else 1)
    return tuple(reversed(extents))


def furthest_element(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Returns the distance in elements from the first element to the last in memory."""
    return sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))


def batch_extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Returns the elements per step of the first dimension, if steps do not overlap."""
    steps = zip(shape[1:], strides[1:], strict=True)
    return max((extent * stride for extent, stride in steps), default=1)
