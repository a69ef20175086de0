"""Lets attention read its operands from the sources of copies."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.strided_view import StridedView, joined_run
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.values import Rules, make_window, mode_of, readers, window

HEADS = 1
"""The dim of heads."""

_RANK = 4


def read_sources(op: ir.Operation, rules: Rules) -> str | None:
    """Lets attention read from the sources of copies that repeat heads, or join batch and heads."""
    batches = _joined_batches(op)
    read = op if batches is None else _with_batches(op, batches)
    copied = [_read_source(read, index) for index in (1, 2)]
    return "operands that were copied" if batches or any(copied) else None


def _read_source(op: ir.Operation, index: int) -> bool:
    """Lets `op` read an operand from the source of copies; returns whether there are copies."""
    base, view = unrepeated(*window(op.operands[index]))
    if base == window(op.operands[index])[0]:
        return False
    with ir.InsertionPoint(op):
        op.operands[index] = make_window(base, view, op.location)
    return True


def _joined_batches(op: ir.Operation) -> tuple[int, int] | None:
    """Returns the extents of batch and heads that are joined as the heads of attention.

    Returns None unless attention could read the source of a copy once they are split. PyTorch's
    multi-head attention copies parts of a packed projection to join batch and heads.
    """
    attention = hipdnn.SdpaOp(op)
    tensors = list(op.operands)[:3]
    mask = attention.attn_mask
    plain = tensors if mask is None else [*tensors, mask]
    if len(plain) != len(op.operands) or len(op.results) != 1 or attention.alibi_mask:
        return None
    if any(len(shape_of(value)) != _RANK for value in plain):
        return None
    if len({shape_of(value)[: HEADS + 1] for value in tensors}) > 1 or shape_of(tensors[0])[0] != 1:
        return None
    found = {runs for value in tensors if (runs := _heads_in_source(value)) is not None}
    return found.pop() if len(found) == 1 else None


def _heads_in_source(value: ir.Value) -> tuple[int, int] | None:
    """Returns the extents that the heads of a copy have in its source; None if they have one."""
    base, view = window(value)
    op = defining_op(base)
    if (
        op is None
        or mode_of(op) != "identity"
        or element_type_of(op.operands[0]) != element_type_of(base)
    ):
        return None
    runs = view.through_copy(window(op.operands[0])[1])
    moving = [] if runs is None else [run for run in runs[HEADS] if run[0] > 1]
    if len(moving) != 2 or moving[1][1] == 0 or joined_run(moving) is not None:
        return None
    return moving[0][0], moving[1][0]


def _with_batches(op: ir.Operation, lead: tuple[int, int]) -> ir.Operation:
    """Rebuilds attention with another split of batch and heads, and reads copies' sources."""
    result = op.results[0]
    with ir.InsertionPoint(op), op.location:
        operands = [_split(value, lead) for value in op.operands]
        kind = ir.RankedTensorType.get([*lead, *shape_of(result)[2:]], element_type_of(result))
        made = ir.Operation.create(op.name, [kind], operands, attributes_of(op))
    take_place(op, made.results[0])
    for index in range(3):
        _read_source(made, index)
    return made


def _split(value: ir.Value, lead: tuple[int, int]) -> ir.Value:
    """Views an operand [1, heads, ...] as [batch, heads, ...]."""
    base, view = window(value)
    outer = lead if view.shape[HEADS] > 1 else (1, 1)
    split = view.reshape((*outer, *view.shape[2:]))
    assert split is not None  # because one dim becomes two
    return make_window(base, split)


def take_place(op: ir.Operation, o: ir.Value) -> None:
    """Replaces the result of an op by `o`; windows on it stay windows on the same storage."""
    shape = shape_of(op.results[0])
    for reader in readers(op.results[0]):
        if reader.name == "hipdnn.view":
            reader.operands[0] = o
    if next(iter(op.results[0].uses), None) is not None:
        with ir.InsertionPoint(op):
            whole = make_window(o, StridedView.of_shape(shape), op.location)
        op.results[0].replace_all_uses_with(whole)


def copied_window(view: StridedView, value: ir.Value) -> tuple[ir.Value, StridedView] | None:
    """Converts a window on a row-major copy of `value` to a window on its base."""
    source, copied = window(value)
    runs = view.through_copy(copied)
    composed = None if runs is None else _composed(runs, copied.offset)
    return None if composed is None else (source, composed)


def unrepeated(base: ir.Value, view: StridedView) -> tuple[ir.Value, StridedView]:
    """Reads a copy from its source, and each group of equal heads once."""
    op = defining_op(base)
    while mode_of(op) == "identity" and op is not None:
        if element_type_of(op.operands[0]) != element_type_of(base):
            break
        found = copied_window(view, op.operands[0])
        if found is None:
            break
        base, view = found
        op = defining_op(base)
    return base, view


def _composed(runs: Sequence[list[tuple[int, int]]], offset: int) -> StridedView | None:
    """Returns a window with one stride per dimension; drops a repetition inside of the heads."""
    dims: list[tuple[int, int]] = []
    for dim, walked in enumerate(runs):
        moving = [run for run in walked if run[0] > 1]
        if dim == HEADS and len(moving) == 2 and moving[1][1] == 0:
            moving = moving[:1]
        joined = joined_run(moving)
        if joined is None:
            return None
        dims.append(joined)
    return StridedView(tuple(n for n, _ in dims), tuple(step for _, step in dims), offset)
