"""Computes elementwise ops in the shape in which other ops read them, to share their kernels."""

from __future__ import annotations

from collections.abc import Mapping

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import Shape, element_type_of, shape_of
from hipgraft.transforms.fusion import ELEMENTWISE, is_compute
from hipgraft.transforms.kernel_levels import KernelLevels, joins
from hipgraft.transforms.recognition.values import mode_of, readers, window
from hipgraft.transforms.windows import make_shown, narrowed

_MOST_RAISED = 64
"""Elementwise ops that move together at most; a longer chain stays."""


def raise_reshape(op: ir.Operation, levels: KernelLevels) -> bool:
    """Computes elementwise ops in the shape of a view that splits or adds dimensions.

    The view is the only reader, and its own readers broadcast or reduce it: they can then share
    a kernel with the ops. The ops stay if they share one with the producers of their operands.
    """
    moved = _raised(op, levels)
    if not moved:
        levels.note(op)
        return False
    made: dict[ir.Value, ir.Value] = {}
    for one in reversed(moved):
        made[one.results[0]] = _in_shape(one, shape_of(op.results[0]), made)
    op.results[0].replace_all_uses_with(made[op.operands[0]])
    for one in reversed(moved):
        levels.replace(one.results[0], made[one.results[0]])
    for one in (op, *moved):
        one.erase()
    return True


def _raised(op: ir.Operation, levels: KernelLevels) -> list[ir.Operation]:
    """Returns the ops that can be computed in the shape of a view of the first; often none."""
    maker = defining_op(op.operands[0]) if op.name == hipdnn.ViewOp.OP_NAME else None
    if maker is None or not is_compute(maker):
        return []
    shape = shape_of(op.results[0])
    found = readers(op.results[0])
    if not found or not all(_walks(one, shape) for one in found):
        return []
    if not window(op.results[0])[1].covers(shape_of(maker.results[0])):
        return []
    moved = _apart(maker, levels)
    results = [one.results[0] for one in moved]
    outer = [(one, value) for one in moved for value in one.operands if value not in results]
    can_move = all(_reshaped(one, value, shape) is not None for one, value in outer)
    return moved if can_move else []


def _apart(last: ir.Operation, levels: KernelLevels) -> list[ir.Operation]:
    """Returns `last` and the pointwise ops before it that are computed for it alone, last first.

    The list is empty if another op computes an operand of one, and could share its kernel.
    """
    found = [last]
    for op in found:
        if op.name != hipdnn.PointwiseOp.OP_NAME or mode_of(op) == "gen_index":
            return []
        if len(readers(op.results[0])) > 1 or len(found) > _MOST_RAISED:
            return []
        level = levels.of(op.results[0])
        joined = [
            defining_op(value)
            for value in dict.fromkeys(op.operands)
            if joins(op, value) and levels.of(value) == level
        ]
        found.extend(one for one in joined if one is not None)
    return found


def _walks(op: ir.Operation, shape: Shape) -> bool:
    """Whether an op broadcasts or reduces a tensor of a shape."""
    is_broadcast = op.name in ELEMENTWISE and shape_of(op.results[0]) != shape
    return is_broadcast or op.name == hipdnn.ReductionOp.OP_NAME


def _reshaped(op: ir.Operation, value: ir.Value, shape: Shape) -> StridedView | None:
    """Returns the window that shows an operand of an elementwise op in another shape."""
    return window(value)[1].expand(shape_of(op.results[0])).reshape(shape)


def _in_shape(op: ir.Operation, shape: Shape, made: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """Rebuilds a pointwise op in another shape of its elements.

    Args:
        op: the op.
        shape: the new shape of its result.
        made: replacements of the operands that already have the new shape.
    """
    shown: dict[ir.Value, tuple[ir.Value, StridedView]] = {}
    for value in op.operands:
        if value not in made:
            view = _reshaped(op, value, shape)
            assert view is not None  # otherwise the op would stay
            shown[value] = window(value)[0], view
    shorter = {value: (base, narrowed(view)) for value, (base, view) in shown.items()}
    ranks = [len(view.shape) for _, view in shorter.values()]
    if len(shape) in ranks or any(value in made for value in op.operands):
        shown = shorter  # else no operand would have the first dimensions, of extent 1
    kind = ir.RankedTensorType.get(shape, element_type_of(op.results[0]))
    with ir.InsertionPoint(op):
        operands = [
            made[value] if value in made else make_shown(*shown[value], op.location)
            for value in op.operands
        ]
        created = ir.Operation.create(op.name, [kind], operands, attributes_of(op), loc=op.location)
    return created.results[0]
