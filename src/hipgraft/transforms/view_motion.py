"""Moves views past the ops that read them, so that these can share their kernels.

A view of a whole tensor in another order separates an elementwise op from its producer. The
op can also be computed in the tensor's own shape, with views of its other operands and of its
result. The same holds for a reduction whose dimensions are reordered or padded by unit extents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import attributes_of, defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.strided_view import StridedView, row_major_strides
from hipgraft.ir.tensors import Shape, element_type_of, shape_of
from hipgraft.transforms.fusion import CONTRACTIONS, ELEMENTWISE, NORMS, is_compute
from hipgraft.transforms.norm_shapes import can_have_shape, parameters
from hipgraft.transforms.outlining import is_splat
from hipgraft.transforms.recognition.values import make_window, mode_of, readers, window

_NO_LEVEL = -1
"""The level of values that no kernel computes."""


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


def raise_reshape(op: ir.Operation) -> bool:
    """Computes elementwise ops in the shape of a view that adds dimensions of extent 1 to them.

    The view is the only reader, and its own readers broadcast it: they can then share a kernel with
    the ops. The ops stay if they share one with the producers of their operands.
    """
    maker = defining_op(op.operands[0]) if _is_view(op) else None
    moved = [] if maker is None else _apart(maker)
    if not moved:
        return False
    shape, before = shape_of(op.results[0]), shape_of(moved[0].results[0])
    found = readers(op.results[0])
    broadcasts = all(one.name in ELEMENTWISE and shape_of(one.results[0]) != shape for one in found)
    if not found or not broadcasts or not window(op.results[0])[1].covers(before):
        return False
    if [extent for extent in shape if extent > 1] != [extent for extent in before if extent > 1]:
        return False
    made: dict[ir.Value, ir.Value] = {}
    for one in reversed(moved):
        made[one.results[0]] = _in_shape(one, shape, made)
    op.results[0].replace_all_uses_with(made[op.operands[0]])
    for one in (op, *moved):
        one.erase()
    return True


_MOST_RAISED = 64
"""Elementwise ops that move together at most; a longer chain stays."""


def _apart(last: ir.Operation) -> list[ir.Operation]:
    """Returns `last` and the pointwise ops before it that are computed for it alone, last first.

    The list is empty if another op computes an operand of one, and could share its kernel.
    """
    found = [last]
    for op in found:
        if op.name != hipdnn.PointwiseOp.OP_NAME or mode_of(op) == "gen_index":
            return []
        if len(readers(op.results[0])) > 1 or len(found) > _MOST_RAISED:
            return []
        joined = [defining_op(value) for value in dict.fromkeys(op.operands) if _joins(op, value)]
        found.extend(one for one in joined if one is not None)
    return found


def _in_shape(op: ir.Operation, shape: Shape, made: Mapping[ir.Value, ir.Value]) -> ir.Value:
    """Rebuilds a pointwise op in a shape with other dimensions of extent 1.

    Args:
        op: the op.
        shape: the new shape of its result.
        made: replacements of the operands that already have the new shape.
    """
    shown: dict[ir.Value, tuple[ir.Value, StridedView]] = {}
    for value in op.operands:
        if value not in made:
            base, own = window(value)
            view = own.expand(shape_of(op.results[0])).reshape(shape)
            assert view is not None  # because only dimensions of extent 1 change
            shown[value] = base, view
    narrowed = {value: (base, _narrowed(view)) for value, (base, view) in shown.items()}
    ranks = [len(view.shape) for _, view in narrowed.values()]
    if len(shape) in ranks or any(value in made for value in op.operands):
        shown = narrowed  # else no operand would have the first dimensions, of extent 1
    kind = ir.RankedTensorType.get(shape, element_type_of(op.results[0]))
    with ir.InsertionPoint(op):
        operands = [
            made[value] if value in made else make_shown(*shown[value], op.location)
            for value in op.operands
        ]
        created = ir.Operation.create(op.name, [kind], operands, attributes_of(op), loc=op.location)
    return created.results[0]


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
    share the kernel that computes it. The level of a value is the least number of kernels that
    must finish before its own kernel starts.
    """

    def __init__(self) -> None:
        self._levels: dict[ir.Value, int] = {}

    def visit(self, op: ir.Operation) -> ir.Operation | None:
        """Moves an op to the shape of an operand, and returns the new op; None if it stays.

        Raises:
            Declined: the move would pay off, but is not possible.
        """
        try:
            viewed = self._best_viewed(op)
            moved = None if viewed is None else _moved(op, viewed)
        except Declined:
            self._note(op)
            raise
        self._note(op if moved is None else moved)
        if moved is not None:
            op.erase()
        return moved

    def _note(self, op: ir.Operation) -> None:
        """Records the level of an op's results."""
        level = max((self._level_after(op, value) for value in op.operands), default=_NO_LEVEL)
        if is_compute(op):
            level = max(level, 0)
        for value in op.results:
            self._levels[value] = level

    def _level_after(self, op: ir.Operation, value: ir.Value) -> int:
        level = self._levels.get(_base(value), _NO_LEVEL)
        is_barrier = level != _NO_LEVEL and is_compute(op) and not _joins(op, value)
        return level + is_barrier

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
        own = (self._levels.get(value, _NO_LEVEL) for value in op.operands if _joins(op, value))
        if best is None or best.level <= max(own, default=_NO_LEVEL):
            return None
        # An op cannot join the kernel of one operand if another operand is computed later.
        last = max(self._levels.get(_base(value), _NO_LEVEL) for value in op.operands)
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
        base = _base(value)
        owner = defining_op(base)
        if base == value or owner is None or not is_compute(owner):
            return None
        _, view = window(value)
        if view.storage_order(shape_of(base)) is None:
            return None
        return _Viewed(base, view, self._levels[base])


def _base(value: ir.Value) -> ir.Value:
    """Returns the base of a view, or the value itself."""
    owner = defining_op(value)
    return value if owner is None or owner.name != hipdnn.ViewOp.OP_NAME else owner.operands[0]


def _joins(op: ir.Operation, value: ir.Value) -> bool:
    """Whether the shape of an op lets it share the kernel that computes a value."""
    owner = defining_op(value)
    if owner is None or not is_compute(owner):
        return False
    if op.name in ELEMENTWISE:
        walked = [owner.results[0]]
        if owner.name not in ELEMENTWISE:
            walked += list(owner.operands)[:1]
        return shape_of(op.results[0]) in map(shape_of, walked)
    is_walk = op.name in ("hipdnn.layernorm", "hipdnn.rmsnorm", "hipdnn.reduction")
    return is_walk and owner.name in ELEMENTWISE and op.operands[0] == value


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
    return base, _narrowed(before)


def _narrowed(view: StridedView) -> StridedView:
    """Returns a window without broadcasts, which operands need not spell out."""
    if all(step for extent, step in zip(view.shape, view.strides, strict=True) if extent > 1):
        return view
    dims = [
        (1 if step == 0 else extent, step)
        for extent, step in zip(view.shape, view.strides, strict=True)
    ]
    while len(dims) > 1 and dims[0][0] == 1:
        del dims[0]
    return StridedView(tuple(n for n, _ in dims), tuple(step for _, step in dims), view.offset)


def make_shown(base: ir.Value, view: StridedView, location: ir.Location | None = None) -> ir.Value:
    """Builds a view of `base`, which is not a view; a splat of its shape if `base` is one."""
    owner = defining_op(base)
    if owner is None or not is_splat(base) or view.shape == shape_of(base):
        return make_window(base, view, location)
    kind = ir.RankedTensorType.get(view.shape, element_type_of(base))
    number = ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()
    repeated = ir.DenseElementsAttr.get_splat(kind, number)
    return arith_d.ConstantOp(kind, repeated, loc=location).result


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
