"""Lowers reductions by default, and registers alternatives to IREE's split of long ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, alternative, lowers
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import LONGEST_ROW, neutral
from hipgraft.codegen.lowering.reduction.reduction_op import (
    accumulator_of,
    finished,
    reduced,
    total_of,
)
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import ReductionMode, ReductionOp
from hipgraft.ir.tensors import shape_of

# The lanes of a workgroup read this many elements at once; IREE reads rows whose length is not a
# multiple of this number with a single lane.
_AT_ONCE = 256

# IREE does not split reductions shorter than `_SHORTEST`. With `_LONGEST` or more elements, one
# workgroup takes longer than an additional launch.
_SHORTEST, _LONGEST = 1 << 10, 1 << 19

# By estimated time: the lengths of non-contiguous rows from which a copy of few rows pays off, if
# one op reads them or several ops do.
_LONG_ACROSS, _LONG_ACROSS_TWICE, _MOST_ACROSS = 256, 64, 1 << 16

_PARTS = 64
_SHORTEST_PART = 1 << 11

# The modes that combine partial results, where they differ from the reduction's own mode.
_OF_PARTS = {
    ReductionMode.AVG: ReductionMode.ADD,
    ReductionMode.NORM1: ReductionMode.ADD,
    ReductionMode.NORM2: ReductionMode.ADD,
    ReductionMode.MUL_NO_ZEROS: ReductionMode.MUL,
}


def _rows(op: ReductionOp) -> int:
    """Returns the number of rows; 0 for reductions over a non-contiguous dimension."""
    shape, axes = shape_of(op.in_), sorted(op.axes)
    wide = [dim for dim, extent in enumerate(shape) if extent > 1]
    trailing = wide[len(wide) - sum(dim in wide for dim in axes) :]
    return math.prod(shape) // _length(op) if set(trailing) <= set(axes) else 0


def _length(op: ReductionOp) -> int:
    return math.prod(shape_of(op.in_)[dim] for dim in op.axes)


def _is_total(op: ReductionOp, _: Target) -> bool:
    return _rows(op) == 1 and _SHORTEST <= _length(op) < _LONGEST


def _parts(op: ReductionOp) -> int:
    """Returns the number of parts to split each row into; a single row can be padded to that."""
    length, rows = _length(op), _rows(op)
    if rows == 1:
        return _PARTS
    return math.gcd(length, _PARTS) if 0 < rows <= _PARTS else 1


def _is_long(op: ReductionOp, _: Target) -> bool:
    shortest = _LONGEST if _rows(op) == 1 else _parts(op) * _SHORTEST_PART
    return _parts(op) > 1 and _length(op) >= shortest


@lowers(ReductionOp)
def lower_reduction(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces rows in one step; distributes even few elements over several lanes."""
    if _is_slow_across(op, lowering):
        rows = lowering.emitter.in_rows(lowering.tensor(op.in_), op.axes)
        lowering.tensors[op.in_] = rows
    if lowering.emitter.is_one_row or _is_read_again(op, lowering.target):
        lowering.emitter.whole_reductions = True
        return reduced(op, lowering)
    if not _is_short(op, lowering.target):
        return reduced(op, lowering)
    if 1 < shape_of(op.in_)[-1] < _length(op):
        return _by_rows(op, lowering)
    odd = _length(op) % lowering.target.wavefront_size > 0
    return _padded(op, lowering) if odd else reduced(op, lowering)


def _is_slow_across(op: ReductionOp, lowering: Lowering) -> bool:
    """Whether a copy whose rows are contiguous pays off, for all ops that read it.

    IREE lets one work item reduce a non-contiguous row, so few rows occupy few compute units.
    """
    x = lowering.tensor(op.in_)
    length, readers = _length(op), {use.owner.operation for use in op.in_.uses}
    is_slow = length >= (_LONG_ACROSS if len(readers) == 1 else _LONG_ACROSS_TWICE)
    is_few = math.prod(x.shape) <= length * _MOST_ACROSS
    return lowering.target.kind is TargetKind.AMDGPU and is_slow and is_few


def _is_read_again(op: ReductionOp, target: Target) -> bool:
    """Whether other ops use the result along with the row itself, as in a softmax.

    One workgroup reduces the row faster than several can synchronize; IREE would also use only one
    lane of each workgroup.
    """
    others = [use.owner.name for use in op.out.uses if use.owner.name != "hipdnn.yield"]
    is_row = _rows(op) == 1 and 1 < _length(op) <= LONGEST_ROW
    return target.kind is TargetKind.AMDGPU and is_row and len(others) > 0


def _is_short(op: ReductionOp, target: Target) -> bool:
    """Whether there are too few elements for IREE to split, even with padding."""
    most = _SHORTEST - _AT_ONCE
    return target.kind is TargetKind.AMDGPU and _rows(op) == 1 and 1 < _length(op) <= most


def _by_rows(op: ReductionOp, lowering: Lowering) -> list[Tensor]:
    """Reduces the last dim, then the others: each row has its own lanes without padding."""
    emitter, x = lowering.emitter, lowering.tensor(op.in_)
    accumulator, last = accumulator_of(op, x), x.rank - 1
    rows = total_of(emitter, op.mode, x, [last], accumulator)
    mode = _OF_PARTS.get(op.mode, op.mode)
    total = total_of(emitter, mode, emitter.materialized(rows), range(last), accumulator)
    return [finished(op, emitter, x, _reshaped(emitter, op, total))]


@alternative(ReductionOp, "padded", _is_total, flag_set="whole-reductions")
def lower_padded(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces all elements in one workgroup, in which each lane reads several elements at once."""
    return _padded(op, lowering)


def _padded(op: ReductionOp, lowering: Lowering) -> list[Tensor]:
    x = lowering.tensor(op.in_)
    flat = _grown(lowering.emitter, op.mode, x, _AT_ONCE)
    total = total_of(lowering.emitter, op.mode, flat, [0], accumulator_of(op, x))
    return [finished(op, lowering.emitter, x, _reshaped(lowering.emitter, op, total))]


@alternative(ReductionOp, "split", _is_long)
def lower_split(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces parts of each row in separate workgroups, then combines their results."""
    emitter, x = lowering.emitter, lowering.tensor(op.in_)
    parts, rows, accumulator = _parts(op), _rows(op), accumulator_of(op, x)
    flat = _grown(emitter, op.mode, x, _AT_ONCE * parts) if rows == 1 else _flat(emitter, x)
    split = emitter.reshape(flat, (rows, parts, flat.shape[0] // (rows * parts)))
    each = total_of(emitter, op.mode, split, [2], accumulator)
    mode = _OF_PARTS.get(op.mode, op.mode)
    total = total_of(emitter, mode, emitter.materialized(each), [1], accumulator)
    return [finished(op, emitter, x, _reshaped(emitter, op, total))]


def _flat(emitter: Emitter, x: Tensor) -> Tensor:
    return emitter.reshape(emitter.logical(x), (math.prod(x.shape),))


def _grown(emitter: Emitter, mode: ReductionMode, x: Tensor, multiple: int) -> Tensor:
    """Returns all elements as one row, padded with neutral elements to a multiple of `multiple`."""
    flat = _flat(emitter, x).with_unit_dim(0).with_unit_dim(0)  # `padded` skips two dims
    more = -flat.shape[2] % multiple
    wide = padded(emitter, flat, [0], [more], neutral(mode, x.element))
    return Tensor.logical(wide.name, wide.shape[2:], wide.element)


def _reshaped(emitter: Emitter, op: ReductionOp, total: Tensor) -> Tensor:
    return emitter.reshape(total, shape_of(op.out))
