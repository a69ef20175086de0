"""Writes attention and its gradient as ATen ops."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.dtypes import largest_finite
from hipgraft.ir.element_types import byte_width
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Number, Torch
from hipgraft.transforms.hipdnn_to_torch.norms import present
from hipgraft.transforms.hipdnn_to_torch.writer import spelled

_KEYS = 3  # dimension of the scores [B, H, Sq, Skv]


def sdpa(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes `softmax(scale · q · kᵀ + mask) · v`, and the statistics of the softmax."""
    assert isinstance(op, hipdnn.SdpaOp)
    _refuse(op)
    q = t.product(t.read(op.q), [_per_head(t, op, op.descale_q)])
    k, v = (
        _repeated(t, _rows(t, op, value, table), shape_of(op.q)[1])
        for value, table in ((op.k, op.page_table_k), (op.v, op.page_table_v))
    )
    k = t.product(k, [_per_head(t, op, op.descale_k)])
    scores = _masked(t, op, _scores(t, op, q, k))
    if _is_plain(op):
        return [t.matmul(t.op("aten.softmax.int", [scores, _KEYS, None], t.shape(scores)), v)]
    values = _softmax(t, op, scores)
    weights = values["weights"]
    read = t.product(weights, [_given(t, op.scale_s)])
    if op.scale_s is not None or byte_width(element_type_of(op.v)) == 1:
        read = _rounded(t, read, op.v)
    factors = [_given(t, op.descale_s), _per_head(t, op, op.descale_v)]
    attention = t.product(t.matmul(_kept(t, op, read), v), factors)
    values["o"] = t.product(attention, [_given(t, op.scale_o)])
    for name, value in (("amax_s", weights), ("amax_o", attention)):
        if getattr(op, name) is not None:
            values[name] = t.view(t.largest(t.unary("abs", value), range(4)), [1])
    return present(op, values)


def sdpa_backward(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Writes the gradients; with the weights p from `stats`, `ds = p · (do · vᵀ - Σ do · o)`."""
    assert isinstance(op, hipdnn.SdpaBackwardOp)
    _refuse(op)
    heads = shape_of(op.q)[1]
    q, o, do = (_in_use(t, t.read(value), op.seq_len_q) for value in (op.q, op.o, op.do))
    k, v = (_repeated(t, _in_use(t, t.read(value), op.seq_len_kv), heads) for value in (op.k, op.v))
    scores = _masked(t, op, _scores(t, op, q, k))
    p = t.unary("exp", t.sub(scores, _finite(t, t.view(t.read(op.stats), t.rows(scores, [3])))))
    dp = _kept(t, op, t.matmul(do, t.transpose(v, 2, 3)))
    ds = t.mul(p, t.sub(dp, t.sum(t.mul(do, o), [3])))
    scaled = t.product(ds, [_scale(t, op)])
    gradients = {
        "dq": t.matmul(scaled, k),
        "dk": _shared(t, t.matmul(t.transpose(scaled, 2, 3), q), op.dk),
        "dv": _shared(t, t.matmul(t.transpose(_kept(t, op, p), 2, 3), do), op.dv),
    }
    if op.dbias is not None:
        gradients["dbias"] = t.summed_to(ds, shape_of(op.dbias))
    return present(op, gradients)


def _scores(t: Torch, op: hipdnn.AttentionOp, q: ir.Value, k: ir.Value) -> ir.Value:
    return t.product(t.matmul(q, t.transpose(k, 2, 3)), [_scale(t, op)])


def _scale(t: Torch, op: hipdnn.AttentionOp) -> Number | None:
    return op.attn_scale_value if op.scale is None else t.number(op.scale)


def _given(t: Torch, value: ir.Value | None) -> Number | None:
    return None if value is None else t.number(value)


def _masked(t: Torch, op: hipdnn.AttentionOp, scores: ir.Value) -> ir.Value:
    """Adds masks to the scores; a score that the query must not see becomes minus infinity."""
    shape = t.shape(scores)
    query, key = t.positions(shape, 2), t.positions(shape, _KEYS)
    seen: list[ir.Value] = []
    if op.alibi_mask:
        distance = t.as_type(t.binary("sub", key, query, 1), t.wide)
        scores = t.add(scores, t.mul(t.literal(_slopes(shape[1]), [1, shape[1], 1, 1]), distance))
    if op.attn_mask is not None:
        mask = t.read(op.attn_mask, wide=False)
        if str(mask.type).endswith(",i1>"):
            seen.append(mask)
        else:
            scores = t.add(scores, t.as_type(mask, t.wide))
    lengths = [_lengths(t, value) for value in (op.seq_len_q, op.seq_len_kv)]
    seen += _bounds(t, op, query, key, lengths)
    for index, length in zip((query, key), lengths, strict=True):
        if length is not None:
            seen.append(t.test("lt", index, length))
    for test in seen:
        scores = t.where(test, scores, -math.inf)
    return scores


def _bounds(
    t: Torch,
    op: hipdnn.AttentionOp,
    query: ir.Value,
    key: ir.Value,
    lengths: Sequence[ir.Value | None],
) -> list[ir.Value]:
    """Writes `query - left < key <= query + right`, counted from the diagonal."""
    bottom_right = (
        op.causal_mask_bottom_right
        or op.diagonal_alignment is hipdnn.DiagonalAlignment.BOTTOM_RIGHT
    )
    if bottom_right:
        queries, keys = lengths
        query = t.binary("sub", query, shape_of(op.q)[2] if queries is None else queries, 1)
        query = t.binary("add", query, op.keys if keys is None else keys, 1)
    right = 0 if op.is_causal else op.right_bound
    tests: list[ir.Value] = []
    for name, bound, sign in (("le", right, 1), ("gt", op.left_bound, -1)):
        if bound is not None and bound >= 0:
            tests.append(t.test(name, key, t.binary("add", query, sign * bound, 1)))
    return tests


def _lengths(t: Torch, value: ir.Value | None) -> ir.Value | None:
    """Returns the rows in use per batch, in a shape that broadcasts to the scores."""
    if value is None:
        return None
    lengths = t.as_type(t.read(value, wide=False), "si64")
    return t.view(lengths, [math.prod(shape_of(value)), 1, 1, 1])


def _slopes(heads: int) -> list[float]:
    """Returns ALiBi's slopes: geometric for 2ⁿ heads; the others use every second one of 2ⁿ⁺¹."""
    power = 1 << (heads.bit_length() - 1)
    series = [2 ** (-8 / power * (head + 1)) for head in range(power)]
    return series + [2 ** (-4 / power * (2 * head + 1)) for head in range(heads - power)]


def _softmax(t: Torch, op: hipdnn.SdpaOp, scores: ir.Value) -> dict[str, ir.Value]:
    """Writes the weights, which are 0 in rows without keys, and the statistics of each row."""
    highest = t.largest(scores, [_KEYS])
    sink = None
    if op.sink_token is not None:
        sink = t.view(t.read(op.sink_token), [1, t.shape(scores)[1], 1, 1])
        highest = t.maximum(highest, sink)
    highest = _finite(t, highest)
    powers = t.unary("exp", t.sub(scores, highest))
    total = t.sum(powers, [_KEYS])
    if sink is not None:
        total = t.add(total, t.unary("exp", t.sub(sink, highest)))
    divisor = t.where(t.test("eq", total, 0.0), 1.0, total)
    return {
        "weights": t.binary("div", powers, divisor),
        "stats": t.add(highest, t.unary("log", total)),
        "max": t.where(t.test("eq", total, 0.0), -math.inf, highest),
        "sum_exp": total,
    }


def _finite(t: Torch, x: ir.Value) -> ir.Value:
    """Keeps rows without keys finite: their exponentials are 0, not NaN."""
    return t.unary("clamp", x, -largest_finite(t.wide), None)


def _kept(t: Torch, op: hipdnn.SdpaOp | hipdnn.SdpaBackwardOp, weights: ir.Value) -> ir.Value:
    mask = None if op.dropout_mask is None else t.read(op.dropout_mask)
    kept = t.product(weights, [mask, _given(t, op.dropout_scale)])
    inverse = op.dropout_scale_inv if isinstance(op, hipdnn.SdpaBackwardOp) else None
    if op.dropout_scale is not None or inverse is None:
        return kept
    return t.mul(kept, t.unary("reciprocal", t.view(t.read(inverse), [])))


def _rounded(t: Torch, x: ir.Value, like: ir.Value) -> ir.Value:
    narrow = spelled(element_type_of(like))
    return t.as_type(t.as_type(x, narrow), t.wide)


def _rows(t: Torch, op: hipdnn.SdpaOp, pool: ir.Value, table: ir.Value | None) -> ir.Value:
    """Returns keys or values [B, H, S, D], gathered from pages if they are paged."""
    x = t.read(pool)
    if table is None:
        return x
    batch, (pages, heads, size, width) = shape_of(op.q)[0], t.shape(x)
    count = math.prod(shape_of(table)) // batch
    pages_used = t.view(t.as_type(t.read(table, wide=False), "si64"), [batch * count])
    # Unused entries may have any value, so they are clamped, and the mask hides their rows.
    chosen = t.taken(x, 0, t.unary("clamp", pages_used, 0, pages - 1))
    split = t.view(chosen, [batch, count, heads, size, width])
    rows = t.view(t.permute(split, [0, 2, 1, 3, 4]), [batch, heads, count * size, width])
    return _in_use(t, t.slice(rows, 2, 0, op.keys), op.seq_len_kv)


def _in_use(t: Torch, rows: ir.Value, lengths: ir.Value | None) -> ir.Value:
    """Replaces rows beyond a sequence's length by zeros, because 0 times NaN would be NaN."""
    length = _lengths(t, lengths)
    if length is None:
        return rows
    return t.where(t.test("lt", t.positions(t.shape(rows), 2), length), rows, 0.0)


def _per_head(t: Torch, op: hipdnn.SdpaOp, factor: ir.Value | None) -> Number | None:
    """Returns one common factor, or factors per batch and head, repeated for the query heads."""
    if factor is None or math.prod(shape_of(factor)) == 1:
        return _given(t, factor)
    batch, heads = shape_of(factor)[:2]
    return _repeated(t, t.view(t.read(factor), [batch, heads, 1, 1]), shape_of(op.q)[1])


def _repeated(t: Torch, x: ir.Value, heads: int) -> ir.Value:
    return t.repeated(x, 1, heads // t.shape(x)[1])


def _shared(t: Torch, gradient: ir.Value, result: ir.Value) -> ir.Value:
    """Sums a gradient over the query heads that share a head of `result`."""
    batch, heads, rows, columns = shape_of(result)
    groups = t.shape(gradient)[1] // heads
    if groups == 1:
        return gradient
    split = t.view(gradient, [batch, heads, groups, rows, columns])
    return t.view(t.sum(split, [2]), [batch, heads, rows, columns])


def _is_plain(op: hipdnn.SdpaOp) -> bool:
    """Whether each row has keys, and the op has no operands except q, k, v and a summand."""
    plain = {"q", "k", "v", "attn_mask", "o"}
    fields = [f.name for f in op.operand_fields if op.operand_values(f)]
    fields += [f.name for f in op.result_fields if op.result_values(f)]
    bounds = [bound for bound in (op.left_bound, op.right_bound) if bound is not None]
    is_open = not op.is_causal and all(bound < 0 for bound in bounds)
    mask = op.attn_mask
    is_sum = mask is None or element_of(mask) != "i1"
    return not set(fields) - plain and is_open and is_sum and not op.alibi_mask


def _refuse(op: hipdnn.AttentionOp) -> None:
    if op.dropout_mask is None and op.dropout_probability:
        raise Declined("dropout", "torch-mlir has no random numbers of a given generator")
    if isinstance(op, hipdnn.SdpaOp) and op.rng_dump is not None:
        raise Declined("dropout", "torch's attention does not tell what its dropout keeps")
    if isinstance(op, hipdnn.SdpaOp) and op.block_mask is not None:
        raise Declined("unsigned", "a fallback takes no unsigned integers, as its block mask holds")
