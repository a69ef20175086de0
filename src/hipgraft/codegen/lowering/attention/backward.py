"""Lowers the gradient of attention.

With the weights `p = exp(scores - stats)`, `dp = do · vᵀ` and `ds = p · (dp - Σ do · o)`:
`dv = pᵀ · do`, `dq = scale · ds · k`, `dk = scale · dsᵀ · q`, and the gradient of the mask is
`ds`. A dropout mask multiplies `dp`, and also `p` in the formula for `dv`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.attention.dropout import dropout_factors
from hipgraft.codegen.lowering.attention.mask import rows_in_use
from hipgraft.codegen.lowering.attention.scores import compute_type, masked_scores, product_of_heads
from hipgraft.codegen.lowering.context import Lowering, lowers
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.elementwise import elementwise
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.matmul import multiply
from hipgraft.codegen.lowering.reduction.reduction import accumulate, reduce_dims
from hipgraft.dialects.hipdnn import ReductionMode, SdpaBackwardOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import element_of, shape_of


@lowers(SdpaBackwardOp)
def lower_sdpa_backward(op: SdpaBackwardOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns dq, dk, dv, and the gradient of the mask if the op has it as a result."""
    emitter, compute = lowering.emitter, compute_type(op, lowering)
    q, o, do = (rows_in_use(lowering, value, op.seq_len_q) for value in (op.q, op.o, op.do))
    k, v = (rows_in_use(lowering, value, op.seq_len_kv) for value in (op.k, op.v))
    weights = _weights(op, lowering, masked_scores(op, lowering, q, k, op.scale))
    factors = dropout_factors(op, lowering)
    kept = _dropped(emitter, weights, factors)
    dp = product_of_heads(emitter, do, v.permuted((0, 1, 3, 2)), compute)
    ds = _scores_gradient(emitter, weights, _dropped(emitter, dp, factors), [do, o])
    read = emitter.cast(ds, q.element)
    dq = product_of_heads(emitter, read, k, compute)
    dk = _over_rows(emitter, read, q, k.shape[1], compute)
    dv = _over_rows(emitter, emitter.cast(kept, do.element), do, v.shape[1], compute)
    results = [
        _scaled(op, lowering, dq, op.dq),
        _scaled(op, lowering, dk, op.dk),
        emitter.cast(dv, element_of(op.dv)),
    ]
    return results if op.dbias is None else [*results, _mask_gradient(emitter, ds, op.dbias)]


def _weights(op: SdpaBackwardOp, lowering: Lowering, scores: Tensor) -> Tensor:
    def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
        score, stats = values
        power = m.exponential(m.sub(score, stats))
        # In a row without any visible key, score and stats are both minus infinity, so their
        # difference is NaN.
        return m.select("eq", score, -math.inf, m.constant(0), power)

    stats = lowering.emitter.reshape(lowering.tensor(op.stats), [*scores.shape[:3], 1])
    return elementwise(lowering.emitter, "weights", [scores, stats], formula, scores.element)


def _dropped(emitter: Emitter, value: Tensor, factors: Sequence[Tensor]) -> Tensor:
    if not factors:
        return value
    operands = [value, *factors]
    return elementwise(emitter, "dropped", operands, lambda m, v: m.mul(*v), value.element)


def _scores_gradient(
    emitter: Emitter, weights: Tensor, dp: Tensor, rows: Sequence[Tensor]
) -> Tensor:
    def step(m: Arithmetic, values: list[Scalar], total: Scalar) -> Scalar:
        return m.add(total, m.mul(*values))

    def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
        weight, gradient, mean = values
        return m.mul(weight, m.sub(gradient, mean))

    compute = weights.element
    mean = accumulate(emitter, "mean", rows, [3], compute, 0, step)
    return elementwise(emitter, "ds", [weights, dp, mean], formula, compute)


def _over_rows(emitter: Emitter, a: Tensor, b: Tensor, heads: int, compute: str) -> Tensor:
    """Emits `aᵀ · b` per head, summed over the heads that share each of `heads`."""
    a, b = (_rows_of_group(emitter, value, heads) for value in (a, b))
    shape = (a.shape[0], heads, a.shape[3], b.shape[3])
    return multiply(emitter, a.permuted((0, 1, 3, 2)), b, shape, compute)


def _rows_of_group(emitter: Emitter, value: Tensor, heads: int) -> Tensor:
    """Reshapes [B, H, S, X] to [B, heads, H / heads · S, X]."""
    batch, all_heads, rows, columns = value.shape
    if all_heads == heads:
        return value
    split = emitter.split_dim(value, 1, heads)
    return emitter.reshape(split, (batch, heads, all_heads // heads * rows, columns))


def _scaled(op: SdpaBackwardOp, lowering: Lowering, value: Tensor, result: ir.Value) -> Tensor:
    scale = lowering.optional(op.scale)

    def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
        constant = 1.0 if op.attn_scale_value is None else op.attn_scale_value
        return m.mul(*values) if scale is not None else m.mul(values[0], m.constant(constant))

    operands = [value] if scale is None else [value, scale]
    return elementwise(
        lowering.emitter, "scaled", operands, formula, value.element, element=element_of(result)
    )


def _mask_gradient(emitter: Emitter, ds: Tensor, result: ir.Value) -> Tensor:
    """Sums over the dims that the mask broadcasts over."""
    shape = shape_of(result)
    aligned = (1,) * (ds.rank - len(shape)) + shape
    dims = [dim for dim in range(ds.rank) if aligned[dim] == 1 and ds.shape[dim] > 1]
    if dims:
        ds = reduce_dims(emitter, ReductionMode.ADD, ds, dims, ds.element)
    return emitter.reshape(emitter.cast(ds, element_of(result)), shape)
