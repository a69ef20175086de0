"""Moves views past the ops that read them, so that these can share their kernels.

A view of a whole tensor in another order separates an elementwise op from its producer. The
op can also be computed in the tensor's own shape, with views of its other operands and of its
result. The same holds for a reduction whose dimensions are reordered or padded by unit extents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.strided_view import StridedView, row_major_strides
from hipgraft.ir.tensors import Shape, element_type_of, shape_of
from hipgraft.transforms.fusion import CONTRACTIONS, ELEMENTWISE, NORMS, is_compute
from hipgraft.transforms.kernel_levels import NO_LEVEL, KernelLevels, base_of, joins
from hipgraft.transforms.norm_shapes import can_have_shape, parameters
from hipgraft.transforms.recognition.values import make_window, mode_of, readers, window
from hipgraft.transforms.windows import make_shown, narrowed


@dataclass(frozen=True)
class _Viewed:
    """An operand that is a view of another op's whole result.

    Attributes:
        base: result of the other op.
        window: window on `base`, of the operand's shape.
        level: level of the other op.
    """

    base: ir.Value
    window: StridedView
    level: int


def reorders(op: ir.Operation) -> bool:
    """Returns whether an op is a view of a hipDNN op's whole result."""
    if op.name != hipdnn.ViewOp.OP_NAME:
        return False
    owner = defining_op(op.operands[0])
    if owner is None or not is_compute(owner):
        return False
    base, view = window(op.results[0])
    return view.storage_order(shape_of(base)) is not None


def narrow_view(op: ir.Operation) -> bool:
    """Replaces a view of a tensor with widened elements by the widened view of the narrow tensor.

    Each reader can then widen the elements that it reads, and the wide tensor is not stored.
    """
    cast = defining_op(op.operands[0]) if op.name == hipdnn.ViewOp.OP_NAME else None
    if cast is None or mode_of(cast) != "identity" or not _widens(cast):
        return False
    if _feeds_contraction(op.results[0]):
        return False
    base, copied = window(cast.operands[0])
    seen = window(op.results[0])[1].on_copied(copied)
    if seen is None:
        return False
    with ir.InsertionPoint(op):
        made = ir.Operation.create(
            cast.name,
            results=[op.results[0].type],
            operands=[make_window(base, seen, op.location)],
            attributes=attributes_of(cast),
            loc=op.location,
        )
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()
    if not readers(cast.results[0]):
        cast.erase()
    return True


def _is_widened_once(value: ir.Value, narrow: ir.Value) -> bool:
    """Whether no kernel would read the narrow tensor instead of the wide one."""
    if _feeds_contraction(value):
        return True
    views = readers(value)
    ends = [
        one for view in views for one in (readers(view.results[0]) if _is_view(view) else [view])
    ]
    return len(readers(narrow)) == 1 and not any(map(is_compute, ends))


def _is_view(op: ir.Operation) -> bool:
    return op.name == hipdnn.ViewOp.OP_NAME


def _feeds_contraction(value: ir.Value) -> bool:
    """Whether a value is read by elementwise ops alone, the last of which a contraction reads.

    These ops do not share the contraction's kernel, but may share that of the value's producer.
    """
    is_computed = False
    while len(found := readers(value)) == 1 and found[0].name in ELEMENTWISE:
        value, is_computed = found[0].results[0], True
    return is_computed and len(found) == 1 and found[0].name in CONTRACTIONS


def _widens(cast: ir.Operation) -> bool:
    (value,), result = cast.operands, cast.results[0]
    return shape_of(value) == shape_of(result) and _width(value) < _width(result)


class ViewMotion:
    """Moves views past the ops of one block, first to last.

    An op moves to the shape of the operand that is computed last, if an op of that shape can
    share the kernel that computes it.
    """

    def __init__(self) -> None:
        self._levels = KernelLevels()

    def visit(self, op: ir.Operation) -> ir.Operation | None:
        """Moves an op to the shape of an operand, and returns the new op; None if it stays.

        Raises:
            Declined: the move would pay off, but is not possible.
        """
        try:
            viewed = self._best_viewed(op)
            moved = None if viewed is None else _moved(op, viewed)
        except Declined:
            self._levels.note(op)
            raise
        self._levels.note(op if moved is None else moved)
        if moved is not None:
            op.erase()
        return moved

    def _best_viewed(self, op: ir.Operation) -> _Viewed | None:
        """Returns the operand in whose shape to compute an op; None to keep its own shape."""
        if op.name == hipdnn.ReductionOp.OP_NAME or op.name in NORMS:
            return self._reduced(op)
        if op.name != hipdnn.PointwiseOp.OP_NAME or mode_of(op) == "gen_index":
            return None
        found = [one for one in map(self._viewed, op.operands) if one is not None]
        shape = shape_of(op.results[0])
        fitting = [one for one in found if one.window.shape == shape]
        best = max(fitting, key=lambda one: one.level, default=None)
        own = (self._levels.of(value) for value in op.operands if joins(op, value))
        if best is None or best.level <= max(own, default=NO_LEVEL):
            return None
        # An op cannot join the kernel of one operand if another operand is computed later.
        last = max(map(self._levels.of, op.operands))
        return best if best.level == last else None

    def _reduced(self, op: ir.Operation) -> _Viewed | None:
        """Returns the elementwise result that a reduction or norm views, to share its kernel."""
        viewed = self._viewed(op.operands[0])
        owner = None if viewed is None else defining_op(viewed.base)
        if viewed is None or owner is None or owner.name not in ELEMENTWISE:
            return None
        seen, shape = viewed.window, shape_of(viewed.base)
        fits = can_have_shape(op, seen, shape) if op.name in NORMS else _same_dims(seen, shape)
        return viewed if fits else None

    def _viewed(self, value: ir.Value) -> _Viewed | None:
        base = base_of(value)
        owner = defining_op(base)
        if base == value or owner is None or not is_compute(owner):
            return None
        _, view = window(value)
        if view.storage_order(shape_of(base)) is None:
            return None
        return _Viewed(base, view, self._levels.of(base))


def _moved(op: ir.Operation, viewed: _Viewed) -> ir.Operation:
    """Rebuilds an op in the shape of `viewed.base`, and replaces its result by a view."""
    shape, seen, result = shape_of(viewed.base), viewed.window, op.results[0]
    if op.name == hipdnn.ReductionOp.OP_NAME:
        dims = _same_dims(seen, shape)
        extents = [1] * len(shape)
        for dim, extent in zip(dims, shape_of(result), strict=True):
            if dim is not None:
                extents[dim] = extent
        steps = row_major_strides(extents)
        strides = tuple(0 if dim is None else steps[dim] for dim in dims)
        shape, seen = tuple(extents), StridedView(shape_of(result), strides)
        inputs = [(viewed.base, StridedView.of_shape(shape_of(viewed.base)))]
    elif op.name in NORMS:
        whole = (viewed.base, StridedView.of_shape(shape))
        inputs = [whole, *parameters(op, len(shape))]
    elif _width(result) > _width(viewed.base) and not _is_widened_once(result, viewed.base):
        raise Declined("wider", "its result has wider elements than the tensor that is viewed")
    else:
        inputs = [_viewed_before(value, seen, shape) for value in op.operands]
    windows = _readers_windows(result, seen)
    with ir.InsertionPoint(op):
        made = ir.Operation.create(
            op.name,
            results=[ir.RankedTensorType.get(shape, element_type_of(result))],
            operands=[make_shown(*one, op.location) for one in inputs],
            attributes=attributes_of(op),
            loc=op.location,
        )
    for reader, direct in windows:
        with ir.InsertionPoint(reader):
            value = make_window(made.results[0], direct, reader.location)
        reader.results[0].replace_all_uses_with(value)
    with ir.InsertionPoint(op):
        whole = make_window(made.results[0], seen, op.location)
    result.replace_all_uses_with(whole)
    return made


def _same_dims(view: StridedView, shape: Shape) -> list[int | None]:
    """Maps each dimension of a view to the dimension of the row-major tensor that it shows.

    The list has None for dimensions of extent 1, and is empty if others are split or joined.
    """
    steps = row_major_strides(shape)
    dims = {
        (extent, step): dim
        for dim, (extent, step) in enumerate(zip(shape, steps, strict=True))
        if extent != 1
    }
    pairs = list(zip(view.shape, view.strides, strict=True))
    if {pair for pair in pairs if pair[0] != 1} != set(dims):
        return []
    return [dims.get(pair) for pair in pairs]


def _width(value: ir.Value) -> int:
    return byte_width(element_type_of(value)) or 0


_Input = tuple[ir.Value, StridedView]


def _viewed_before(value: ir.Value, view: StridedView, shape: Shape) -> _Input:
    """Returns the window that shows an operand in the shape before the view."""
    base, own = window(value)
    before = own.expand(view.shape).before(view, shape)
    if before is None:
        raise Declined("no-strides", "an operand has no strides in the shape of the other one")
    return base, narrowed(before)


def _readers_windows(
    value: ir.Value, view: StridedView
) -> Sequence[tuple[ir.Operation, StridedView]]:
    """Returns the views on a value, as windows on the tensor that it will be a view of."""
    found = readers(value)
    views = [one for one in found if one.name == hipdnn.ViewOp.OP_NAME]
    if len(found) > 1 and any(one.name == "func.return" for one in found):
        raise Declined("returned", "its result is returned and read by other ops, too")
    windows: list[tuple[ir.Operation, StridedView]] = []
    for one in views:
        seen = window(one.results[0])[1].on_copied(view)
        if seen is None:
            raise Declined("no-window", "a view of its result has no strides in the other shape")
        windows.append((one, seen))
    return windows
