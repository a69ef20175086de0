"""Moves norms to the shape of the tensor that their operand views."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import Shape, shape_of
from hipgraft.transforms.recognition.values import window


def can_have_shape(op: ir.Operation, seen: StridedView, shape: Shape) -> bool:
    """Whether a norm computes the same in another shape that ends in the dims it normalises.

    Args:
        op: the norm.
        seen: the window of its operand on a tensor.
        shape: shape of that tensor.
    """
    own, scale = shape_of(op.results[0]), shape_of(op.operands[1])
    dims = _without_leading_ones(scale)
    if len(op.results) > 1 or not dims or len(scale) != len(own) or not seen.covers(shape):
        return False
    if op.name == hipdnn.LayernormOp.OP_NAME and len(hipdnn.LayernormOp(op).dims) != len(dims):
        return False
    return own[-len(dims) :] == dims == shape[-len(dims) :]


def parameters(op: ir.Operation, rank: int) -> list[tuple[ir.Value, StridedView]]:
    """Returns windows on scale, bias and epsilon of a norm, for operands of another rank."""
    own = len(shape_of(op.results[0]))
    found: list[tuple[ir.Value, StridedView]] = []
    for value in list(op.operands)[1:]:
        base, view = window(value)
        if len(view.shape) == own:
            dims = _without_leading_ones(view.shape)
            reshaped = view.reshape((*[1] * (rank - len(dims)), *dims))
            assert reshaped is not None  # because only dims of extent 1 change
            view = reshaped
        found.append((base, view))
    return found


def _without_leading_ones(shape: Sequence[int]) -> Shape:
    first = next((dim for dim, extent in enumerate(shape) if extent > 1), len(shape))
    return tuple(shape[first:])
