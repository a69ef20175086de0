"""Recognises attention from its products and softmax, and keys that heads share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.recognition.attention_operands import (
    HEADS,
    copied_window,
    read_sources,
    take_place,
    unrepeated,
)
from hipgraft.transforms.recognition.values import (
    Rules,
    check_interior,
    is_narrow,
    made_by,
    make_window,
    mode_of,
    same,
    splat_value,
    split_splat,
    through_casts,
    through_reshapes,
    through_widenings,
    window,
)

_HIDDEN = -1e30
"""Scores at or below this weigh nothing beside any score that a program computes."""

_RANK = 4


@dataclass
class _Scores:
    """The arithmetic between the product of queries and keys and the softmax.

    Attributes:
        shape: shape of the scores that the softmax reads.
        scale: factor of the product.
        summands: masks that are added.
        hidden: selecting masks, the score that each inserts, and when it keeps the product.
        batches: how many of the leading dims, if there are more than two, join to the batch; the
            others join to the heads.
    """

    shape: tuple[int, ...]
    scale: float = 1.0
    summands: list[ir.Value] = field(default_factory=list[ir.Value])
    hidden: list[tuple[ir.Value, float, bool]] = field(
        default_factory=list[tuple[ir.Value, float, bool]]
    )
    batches: int = 1

    @property
    def masks(self) -> list[ir.Value]:
        """All masks."""
        return [value for value, *_ in self.hidden] + self.summands


def recognize_attention(op: ir.Operation, rules: Rules) -> str | None:
    """Replaces `softmax(scale · q · kᵀ + mask) · v`; `op` is the second product."""
    scores = _softmax_operand(through_reshapes(op.operands[0]))
    if scores is None:
        return None
    parts = _Scores(shape_of(scores))
    product = _peel_scores(scores, parts)
    if product is None:
        return None
    q, k, v = *product.operands, op.operands[1]
    windows = [window(q), _transposed(k), window(v)]
    _join_leading(parts, [view for _, view in windows])
    tensors = [
        _unscaled(*_heads(*windows[0], parts), parts, rules),
        _unscaled(*_heads(*windows[1], parts), parts, rules),
        _heads(*windows[2], parts),
    ]
    narrow = [_narrowed(*tensor) for tensor in tensors[:2]]
    if all(element_type_of(base) == element_type_of(tensors[2][0]) for base, _ in narrow):
        tensors[:2] = narrow
    _check_shapes([view.shape for _, view in tensors])
    check_interior(op.results[0], [q, k, v, *parts.masks], rules)
    with ir.InsertionPoint(op), op.location:
        o = _sdpa(op, parts, [make_window(*tensor, op.location) for tensor in tensors])
    take_place(op, o)
    read_sources(ir.OpResult(o).owner.operation, rules)
    return "sdpa"


def _narrowed(base: ir.Value, view: StridedView) -> tuple[ir.Value, StridedView]:
    """Returns a window on the tensor before a widening of its elements, else the same window.

    Attention accumulates and computes the softmax in f32 even if queries and keys are narrow.
    """
    op = defining_op(base)
    if op is None or mode_of(op) != "identity" or through_widenings(base) == base:
        return base, view
    source, seen = window(op.operands[0])
    moved = view.on_copied(seen)
    return (base, view) if moved is None else (source, moved)


def _softmax_operand(weights: ir.Value) -> ir.Value | None:
    """Returns the operand of a softmax along the last dimension, None if it is not one.

    A guard may follow that sets weights to 0 if they are NaN or if all their scores are minus
    infinity. sdpa needs no guard: it returns 0 where a query sees no key.
    """
    value, tested = _unguarded(weights)
    quotient = made_by(value, "div")
    if quotient is None:
        return None
    powers = made_by(quotient.operands[0], "exp")
    total = made_by(quotient.operands[1], "ADD")
    if powers is None or total is None or not same(total.operands[0], quotient.operands[0]):
        return None
    shifted = made_by(powers.operands[0], "sub")
    largest = None if shifted is None else made_by(shifted.operands[1], "MAX")
    if shifted is None or largest is None or not same(largest.operands[0], shifted.operands[0]):
        return None
    last = [len(shape_of(value)) - 1]
    if hipdnn.ReductionOp(total).axes != last or hipdnn.ReductionOp(largest).axes != last:
        raise Declined("softmax-dimension", "the softmax is not along the last dimension")
    if tested is not None and not same(tested, shifted.operands[0]):
        return None
    return shifted.operands[0]


def _unguarded(weights: ir.Value) -> tuple[ir.Value, ir.Value | None]:
    """Returns the weights before a guard, and the scores that it tests, if any."""
    select = made_by(weights, "binary_select")
    if select is None or splat_value(select.operands[1]) != 0:
        return weights, None
    test = made_by(select.operands[0], "cmp_neq")
    value = select.operands[2]
    if test is not None and all(same(operand, value) for operand in test.operands):
        return value, None
    scores = _scores_all_hidden(select.operands[0])
    return (weights, None) if scores is None else (value, scores)


def _scores_all_hidden(test: ir.Value) -> ir.Value | None:
    """Returns the scores of the test `not any(not (s = -inf))`: a whole row is minus infinity."""
    any_seen = made_by(test, "logical_not")
    is_one = None if any_seen is None else made_by(any_seen.operands[0], "cmp_neq")
    if is_one is None or splat_value(is_one.operands[1]) != 0:
        return None
    count = made_by(is_one.operands[0], "ADD") or made_by(is_one.operands[0], "MAX")
    if count is None or hipdnn.ReductionOp(count).axes != [len(shape_of(count.results[0])) - 1]:
        return None
    seen = made_by(count.operands[0], "logical_not")
    hidden = None if seen is None else made_by(seen.operands[0], "cmp_eq")
    if hidden is None or splat_value(hidden.operands[1]) != -math.inf:
        return None
    return hidden.operands[0]


def _peel_scores(value: ir.Value, scores: _Scores) -> ir.Operation | None:
    """Strips masks and scales from the scores; returns the product, None if there is none."""
    inner: ir.Value | None = value
    while inner is not None:
        op = defining_op(through_reshapes(inner))
        if op is None or op.name == "hipdnn.matmul":
            return op
        inner = _peel(op, scores)
    return None


def _peel(op: ir.Operation, scores: _Scores) -> ir.Value | None:
    """Strips one op from the scores; None if attention has no such op."""
    mode = mode_of(op)
    if mode == "mul" and (split := split_splat(op)) is not None:
        scores.scale *= split[1]
        return split[0]
    if mode == "div" and (divisor := splat_value(op.operands[1])):
        scores.scale /= divisor
        return op.operands[0]
    if mode not in ("add", "binary_select"):
        return None
    if scores.scale != 1.0:
        raise Declined("scaled-mask", "the scores are masked before they are scaled")
    if shape_of(op.results[0]) != scores.shape:
        raise Declined("mask-shape", "the scores are masked in another shape than the softmax's")
    return _peel_mask(op, scores) if mode == "add" else _peel_selection(op, scores)


def _peel_mask(op: ir.Operation, scores: _Scores) -> ir.Value | None:
    for inner, mask in (tuple(op.operands), tuple(op.operands)[::-1]):
        if _leads_to_product(inner):
            scores.summands.append(mask)
            return inner
    return None


def _leads_to_product(value: ir.Value) -> bool:
    op = defining_op(through_reshapes(value))
    while op is not None and mode_of(op) in ("add", "mul", "div", "binary_select"):
        inner = [defining_op(through_reshapes(operand)) for operand in op.operands]
        op = next((one for one in inner if one is not None and _is_score_op(one)), None)
    return op is not None and op.name == "hipdnn.matmul"


def _is_score_op(op: ir.Operation) -> bool:
    return op.name == "hipdnn.matmul" or mode_of(op) in ("add", "mul", "div", "binary_select")


def _peel_selection(op: ir.Operation, scores: _Scores) -> ir.Value | None:
    """Strips `where(mask, scores, -inf)` or `where(mask, -inf, scores)`."""
    mask, *branches = op.operands
    for index, branch in enumerate(branches):
        number = splat_value(branch)
        if number is None:
            continue
        if number > _HIDDEN:
            raise Declined("finite-mask", f"hidden scores are {number:g}, which is not negligible")
        scores.hidden.append((mask, number, index == 1))
        return branches[1 - index]
    return None


def _unscaled(
    base: ir.Value, view: StridedView, scores: _Scores, rules: Rules
) -> tuple[ir.Value, StridedView]:
    """Returns a window on the unscaled operand of the product; `scores` gets the factors."""
    op = defining_op(through_casts(base))
    split = split_splat(op) if op is not None and mode_of(op) == "mul" else None
    if op is None or split is None or not _may_drop(op, rules):
        return base, view
    if element_type_of(split[0]) != element_type_of(base):
        return base, view
    found = copied_window(view, split[0])
    if found is None:
        return base, view
    scores.scale *= split[1]
    return _unscaled(*unrepeated(*found), scores, rules)


def _may_drop(op: ir.Operation, rules: Rules) -> bool:
    return rules.drop_roundings or not is_narrow(element_type_of(op.results[0]))


def _transposed(value: ir.Value) -> tuple[ir.Value, StridedView]:
    base, view = window(value)
    dims = list(range(len(view.shape)))
    return base, view.permute([*dims[:-2], *dims[:-3:-1]])


def _heads(base: ir.Value, view: StridedView, scores: _Scores) -> tuple[ir.Value, StridedView]:
    """Returns a window as [B, H, S, D], without repeated heads."""
    lead = scores.shape[:-2]
    if len(lead) != len(view.shape) - 2:
        grouped = view.reshape((*lead, *view.shape[-2:])) if _fits(view, lead) else None
        if grouped is None:
            raise Declined("attention-batch", "batches and heads are grouped in several ways")
        view = grouped
    if len(view.shape) > _RANK:
        joined = _joined(view, scores)
        if joined is None:
            raise Declined("attention-batch", "the batches of an operand do not join")
        view = joined
    while len(view.shape) < _RANK:
        view = view.insert(0)
    return unrepeated(base, view)


def _join_leading(scores: _Scores, views: Sequence[StridedView]) -> None:
    """Chooses how many leading dims of attention of a higher rank join to the batch."""
    rank = len(scores.shape)
    if rank <= _RANK:
        return
    for batches in range(rank - 3, 0, -1):
        scores.batches = batches
        joined = [_joined(view, scores) for view in views if len(view.shape) == rank]
        joined += [_mask_view(window(one)[1], scores) for one in scores.masks]
        if all(joined):
            return
    raise Declined("attention-rank", f"attention of rank {rank} whose batches do not join")


def _joined(view: StridedView, scores: _Scores) -> StridedView | None:
    """Returns a window whose leading dims are joined to one of batches and one of heads.

    A dim stays 1 if all that it joins have extent 1, as those of a mask that repeats may.
    """
    *lead, rows, columns = view.shape
    wide: list[int] = []
    joined: list[int] = []
    for part in (slice(scores.batches), slice(scores.batches, len(lead))):
        is_one = math.prod(lead[part]) == 1
        extents = [1] * len(lead[part]) if is_one else list(scores.shape[:-2][part])
        wide += extents
        joined.append(math.prod(extents))
    return view.expand((*wide, rows, columns)).reshape((*joined, rows, columns))


def _fits(view: StridedView, lead: Sequence[int]) -> bool:
    return math.prod(view.shape[:-2]) == math.prod(lead)


def _check_shapes(shapes: Sequence[tuple[int, ...]]) -> None:
    q, k, v = shapes
    if not q[0] == k[0] == v[0]:
        raise Declined("attention-batch", "queries, keys and values have different batches")
    if q[HEADS] % k[HEADS] or q[HEADS] % v[HEADS]:
        raise Declined("attention-heads", "the heads of the queries are no multiple of the keys'")


def _sdpa(op: ir.Operation, scores: _Scores, tensors: Sequence[ir.Value]) -> ir.Value:
    q, k, v = tensors
    return hipdnn.sdpa(
        q,
        k,
        v,
        attn_mask=_mask(scores),
        attn_scale_value=scores.scale,
        result_type=ir.RankedTensorType.get(
            [*shape_of(q)[:3], shape_of(v)[3]], element_type_of(op.results[0])
        ),
    )


def _mask(scores: _Scores) -> ir.Value | None:
    """Builds the sum of all masks, which broadcasts to the scores [B, H, Sq, Skv]."""
    total: ir.Value | None = None
    masks = [mask for mask in scores.summands if splat_value(mask) != 0]
    for summand in [*masks, *(_selected(*one) for one in scores.hidden)]:
        total = summand if total is None else _add(total, summand)
    if total is None:
        return None
    base, view = window(total)
    joined = _mask_view(view, scores)
    assert joined is not None  # a sum of masks that all join
    return make_window(base, joined)


def _mask_view(view: StridedView, scores: _Scores) -> StridedView | None:
    """Returns the window of a mask as [B, H, Sq, Skv]; None if its leading dims do not join."""
    rank = max(len(scores.shape), _RANK)
    whole = view.expand((1,) * (rank - len(view.shape)) + view.shape)
    return whole if rank == _RANK else _joined(whole, scores)


def _add(left: ir.Value, right: ir.Value) -> ir.Value:
    shape = [max(pair) for pair in zip(shape_of(left), shape_of(right), strict=True)]
    kind = ir.RankedTensorType.get(shape, ir.F32Type.get())
    return hipdnn.pointwise(left, right, mode="add", result_type=kind)


def _selected(mask: ir.Value, hidden: float, shown: bool) -> ir.Value:
    """Builds a summand that is 0 where `mask` is `shown`, and `hidden` elsewhere."""
    kind = ir.RankedTensorType.get([1] * len(shape_of(mask)), ir.F32Type.get())
    zero, low = (_splat(kind, number) for number in (0.0, hidden))
    branches = (zero, low) if shown else (low, zero)
    result = ir.RankedTensorType.get(shape_of(mask), ir.F32Type.get())
    return hipdnn.pointwise(mask, *branches, mode="binary_select", result_type=result)


def _splat(kind: ir.RankedTensorType, value: float) -> ir.Value:
    number = ir.FloatAttr.get(kind.element_type, value)
    return arith_d.ConstantOp(kind, ir.DenseElementsAttr.get_splat(kind, number)).result
