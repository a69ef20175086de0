"""The choice of how to reduce, and other ways than IREE's own splitting of long reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, lowers, shape_of, variant
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.padding import padded
from hipgraft.codegen.lowering.reduction import LONGEST_ROW, neutral
from hipgraft.codegen.lowering.reduction_op import accumulator_of, finished, reduced, total_of
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import ReductionMode, ReductionOp

# What the lanes of a workgroup read at once; other lengths are read by a single lane.
_AT_ONCE = 256

# IREE leaves shorter ones whole; one workgroup is busy longer than a launch takes with longer ones.
_SHORTEST, _LONGEST = 1 << 10, 1 << 19

_PARTS = 64
_SHORTEST_PART = 1 << 11

# How the results of parts are put together, where not as their elements.
_OF_PARTS = {
    ReductionMode.AVG: ReductionMode.ADD,
    ReductionMode.NORM1: ReductionMode.ADD,
    ReductionMode.NORM2: ReductionMode.ADD,
    ReductionMode.MUL_NO_ZEROS: ReductionMode.MUL,
}


def _rows(op: ReductionOp) -> int:
    """How many results there are, each of a row of its own; 0 if rows are not contiguous."""
    shape, axes = shape_of(op.in_), sorted(op.axes)
    wide = [dim for dim, extent in enumerate(shape) if extent > 1]
    trailing = wide[len(wide) - sum(dim in wide for dim in axes) :]
    return math.prod(shape) // _length(op) if set(trailing) <= set(axes) else 0


def _length(op: ReductionOp) -> int:
    return math.prod(shape_of(op.in_)[dim] for dim in op.axes)


def _is_total(op: ReductionOp, _: Target) -> bool:
    return _rows(op) == 1 and _SHORTEST <= _length(op) < _LONGEST


def _parts(op: ReductionOp) -> int:
    """Into how many parts to split each row; a single one can be padded."""
    length, rows = _length(op), _rows(op)
    if rows == 1:
        return _PARTS
    return math.gcd(length, _PARTS) if 0 < rows <= _PARTS else 1


def _is_long(op: ReductionOp, _: Target) -> bool:
    shortest = _LONGEST if _rows(op) == 1 else _parts(op) * _SHORTEST_PART
    return _parts(op) > 1 and _length(op) >= shortest


@lowers(ReductionOp)
def lower_reduction(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces rows as they are, and few elements so that more than one lane reads them."""
    if _is_read_again(op, lowering.target):
        lowering.emitter.whole_reductions = True
        return reduced(op, lowering)
    if not _is_short(op, lowering.target):
        return reduced(op, lowering)
    if 1 < shape_of(op.in_)[-1] < _length(op):
        return _by_rows(op, lowering)
    odd = _length(op) % lowering.target.wavefront_size > 0
    return _padded(op, lowering) if odd else reduced(op, lowering)


def _is_read_again(op: ReductionOp, target: Target) -> bool:
    """Whether a row is read again with what it was reduced to, as by a softmax.

    One workgroup reads it in less time than several take to meet, and IREE's take a lane each.
    """
    others = [use.owner.name for use in op.out.uses if use.owner.name != "hipdnn.yield"]
    is_row = _rows(op) == 1 and 1 < _length(op) <= LONGEST_ROW
    return target.kind is TargetKind.AMDGPU and is_row and len(others) > 0


def _is_short(op: ReductionOp, target: Target) -> bool:
    """Whether all elements are too few for IREE to split them, even padded."""
    most = _SHORTEST - _AT_ONCE
    return target.kind is TargetKind.AMDGPU and _rows(op) == 1 and 1 < _length(op) <= most


def _by_rows(op: ReductionOp, lowering: Lowering) -> list[Tensor]:
    """Reduces the last dim, then what is left: rows need no padding to have lanes of their own."""
    emitter, x = lowering.emitter, lowering.tensor(op.in_)
    accumulator, last = accumulator_of(op, x), x.rank - 1
    rows = total_of(emitter, op.mode, x, [last], accumulator)
    mode = _OF_PARTS.get(op.mode, op.mode)
    total = total_of(emitter, mode, emitter.apart(rows), range(last), accumulator)
    return [finished(op, emitter, x, _reshaped(emitter, op, total))]


@variant(ReductionOp, "padded", _is_total, flag_set="whole-reductions")
def lower_padded(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces everything in one workgroup, whose lanes read several elements at once."""
    return _padded(op, lowering)


def _padded(op: ReductionOp, lowering: Lowering) -> list[Tensor]:
    x = lowering.tensor(op.in_)
    flat = _grown(lowering.emitter, op.mode, x, _AT_ONCE)
    total = total_of(lowering.emitter, op.mode, flat, [0], accumulator_of(op, x))
    return [finished(op, lowering.emitter, x, _reshaped(lowering.emitter, op, total))]


@variant(ReductionOp, "split", _is_long)
def lower_split(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces parts of each row in workgroups of their own, then their results."""
    emitter, x = lowering.emitter, lowering.tensor(op.in_)
    parts, rows, accumulator = _parts(op), _rows(op), accumulator_of(op, x)
    flat = _grown(emitter, op.mode, x, _AT_ONCE * parts) if rows == 1 else _flat(emitter, x)
    split = emitter.reshape(flat, (rows, parts, flat.shape[0] // (rows * parts)))
    each = total_of(emitter, op.mode, split, [2], accumulator)
    mode = _OF_PARTS.get(op.mode, op.mode)
    total = total_of(emitter, mode, emitter.apart(each), [1], accumulator)
    return [finished(op, emitter, x, _reshaped(emitter, op, total))]


def _flat(emitter: Emitter, x: Tensor) -> Tensor:
    return emitter.reshape(emitter.logical(x), (math.prod(x.shape),))


def _grown(emitter: Emitter, mode: ReductionMode, x: Tensor, multiple: int) -> Tensor:
    """All elements in a row, and so many more that do not count that `multiple` divides it."""
    flat = _flat(emitter, x).with_unit_dim(0).with_unit_dim(0)  # `padded` leaves two dims alone
    more = -flat.shape[2] % multiple
    wide = padded(emitter, flat, [0], [more], neutral(mode, x.element))
    return Tensor.logical(wide.name, wide.shape[2:], wide.element)


def _reshaped(emitter: Emitter, op: ReductionOp, total: Tensor) -> Tensor:
    return emitter.reshape(total, shape_of(op.out))
