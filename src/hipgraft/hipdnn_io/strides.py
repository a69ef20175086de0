"""Strides of tensors as hipDNN's frontend gives them."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.hipdnn.shapes import row_major
from hipgraft.hipdnn_io.document import TensorDocument


def infer_strides(dims: Sequence[int], operands: Sequence[TensorDocument]) -> list[int]:
    """Returns the strides of a node's result for which none are given.

    They are those of the first operand of the same extents; else packed, in the order of the
    first operand of the same rank; else row-major.
    """
    for operand in operands:
        if operand.dims == list(dims) and all(operand.strides):
            return operand.strides
    same_rank = (one for one in operands if len(one.dims) == len(dims))
    like = next(same_rank, None)
    return row_major(dims) if like is None else packed_like(dims, like)


def packed_like(dims: Sequence[int], like: TensorDocument) -> list[int]:
    """Returns packed strides for `dims`, with the dimensions in the order in memory of `like`."""
    inner_first = sorted(range(len(dims)), key=lambda dim: (like.strides[dim], -dim))
    strides = [0] * len(dims)
    step = 1
    for dim in inner_first:
        strides[dim] = step
        step *= dims[dim]
    return strides


def same_places(dims: Sequence[int], left: Sequence[int], right: Sequence[int]) -> bool:
    """Returns whether two layouts give each element the same offset."""
    return len(left) == len(right) and all(
        extent == 1 or a == b for extent, a, b in zip(dims, left, right, strict=True)
    )
