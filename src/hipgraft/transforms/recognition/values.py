"""Reads stage-1 values as expressions: looks through casts, copies and windows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of


@dataclass(frozen=True)
class Rules:
    """Rules for the changes that recognition may make.

    Attributes:
        drop_roundings: whether f16 and bf16 intermediates may stay in f32.
    """

    drop_roundings: bool


def mode_of(op: ir.Operation | None) -> str | None:
    """Returns the mode of a pointwise op or a reduction, None for any other op."""
    if op is None or op.name not in ("hipdnn.pointwise", "hipdnn.reduction"):
        return None
    return ir.StringAttr(op.attributes["mode"]).value


def made_by(value: ir.Value, mode: str) -> ir.Operation | None:
    """Returns the pointwise op or reduction of `mode` that defines `value` before casts."""
    op = defining_op(through_casts(value))
    return op if mode_of(op) == mode else None


def through_casts(value: ir.Value) -> ir.Value:
    """Returns the value before casts and copies."""
    op = defining_op(value)
    while op is not None and mode_of(op) == "identity":
        value = op.operands[0]
        op = defining_op(value)
    return value


def through_widenings(value: ir.Value) -> ir.Value:
    """Returns the value before lossless casts and copies."""
    op = defining_op(value)
    while op is not None and mode_of(op) == "identity" and not _narrows(op):
        value = op.operands[0]
        op = defining_op(value)
    return value


def through_reshapes(value: ir.Value) -> ir.Value:
    """Returns the value before casts, copies and reshapes of all but the last two dimensions."""
    value = through_casts(value)
    base, view = window(value)
    while base != value and view.covers(shape_of(base)) and view.shape[-2:] == shape_of(base)[-2:]:
        value = through_casts(base)
        base, view = window(value)
    return value


def _narrows(cast: ir.Operation) -> bool:
    before, after = element_type_of(cast.operands[0]), element_type_of(cast.results[0])
    return before != after and not (is_narrow(before) and not is_narrow(after))


def is_narrow(element: ir.Type) -> bool:
    """Whether an element type rounds coarser than f32."""
    return isinstance(element, ir.FloatType) and element.width < 32


def splat_value(value: ir.Value) -> float | None:
    """Returns the number of a floating-point splat, None for any other value."""
    op = defining_op(through_casts(value))
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    number = attribute.get_splat_value()
    return ir.FloatAttr(number).value if isinstance(number, ir.FloatAttr) else None


def split_splat(op: ir.Operation) -> tuple[ir.Value, float] | None:
    """Returns the other operand and the constant of a commutative op, None without a constant."""
    for value, other in (tuple(op.operands), tuple(op.operands)[::-1]):
        number = splat_value(other)
        if number is not None:
            return value, number
    return None


def same(left: ir.Value, right: ir.Value) -> bool:
    """Whether two values are the same up to widening casts and equal windows."""
    left, right = through_widenings(left), through_widenings(right)
    return left == right or window(left) == window(right)


def window(value: ir.Value) -> tuple[ir.Value, StridedView]:
    """Returns the tensor that owns a value's storage, and the value's window on it."""
    op = defining_op(value)
    if op is None or op.name != "hipdnn.view":
        return value, StridedView.of_shape(shape_of(value))
    view = hipdnn.ViewOp(op)
    return view.base, StridedView(shape_of(value), tuple(view.strides), view.offset)


def make_window(base: ir.Value, view: StridedView, location: ir.Location | None = None) -> ir.Value:
    """Builds a view of `base`, which is not a view; returns `base` if the window is all of it."""
    if view.shape == shape_of(base) and view.covers(view.shape):
        return base
    kind = ir.RankedTensorType.get(view.shape, element_type_of(base))
    return hipdnn.view(base, kind, offset=view.offset, strides=view.strides, loc=location)


def readers(value: ir.Value) -> list[ir.Operation]:
    """Returns the ops that read `value`, each once."""
    found: list[ir.Operation] = []
    for use in value.uses:
        owner = use.owner.operation
        if owner not in found:
            found.append(owner)
    return found


def only_reader(value: ir.Value) -> ir.Operation | None:
    """Returns the only op that reads `value`, looking through casts; None if it is not unique."""
    found = readers(value)
    while len(found) == 1 and mode_of(found[0]) == "identity":
        found = readers(found[0].results[0])
    return found[0] if len(found) == 1 else None


def interior(root: ir.Value, leaves: Collection[ir.Value]) -> list[ir.Operation]:
    """Returns the ops that compute `root` from `leaves` and constants, `root`'s own first."""
    found: list[ir.Operation] = []
    waiting = [root]
    while waiting:
        value = waiting.pop()
        op = defining_op(value)
        if value in leaves or op is None or op in found or op.name == "arith.constant":
            continue
        found.append(op)
        waiting += list(op.operands)
    return found


def check_interior(root: ir.Value, leaves: Sequence[ir.Value], rules: Rules) -> None:
    """Checks that only `root` of a recognised expression is needed, and how it may be rounded.

    Raises:
        Declined: an intermediate is read elsewhere, or is rounded and has to be.
    """
    ops = interior(root, leaves)
    for op in ops[1:]:
        _check_readers(op, ops)
        if not rules.drop_roundings and any(is_narrow(element_type_of(r)) for r in op.results):
            raise Declined("rounds", f"'{op.name}' rounds an intermediate to its type")


def _check_readers(op: ir.Operation, ops: Sequence[ir.Operation]) -> None:
    # Casts and windows are cheap enough to be computed twice.
    if op.name == "hipdnn.view" or mode_of(op) == "identity":
        return
    if any(reader not in ops for result in op.results for reader in readers(result)):
        what = mode_of(op) or op.name.removeprefix("hipdnn.")
        raise Declined("read-elsewhere", f"its intermediate '{what}' is read elsewhere")
