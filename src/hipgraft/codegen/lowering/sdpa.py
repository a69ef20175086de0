"""Attention, fused or decomposed.

IREE's fused attention does the least work where its tiles fit; elsewhere it falls to one element
a thread and loads a thousand times as much as the decomposed form, which stays even.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import (
    Lowering,
    element_of,
    lowers,
)
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.matmul import multiply
from hipgraft.codegen.lowering.reduction import reduce_dims
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.sdpa_fused import fused_attention, is_fast_fused
from hipgraft.codegen.lowering.sdpa_mask import KEYS, Mask
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.diagnostics import CodegenError, location_text
from hipgraft.dialects.hipdnn import ReductionMode, SdpaOp

_LOWERED = {"q", "k", "v", "attn_mask", "scale", "seq_len_q", "seq_len_kv", "o", "stats"}
_LOWEST = {"f32": -3.4028234663852886e38, "f64": -sys.float_info.max}


@lowers(SdpaOp)
def lower_sdpa(op: SdpaOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns the attention, and the log-sum-exp of the scores if the op has it as a result."""
    _check_lowered(op)
    if is_fast_fused(op, lowering):
        return [fused_attention(op, lowering)]
    return _decomposed(op, lowering)


def _check_lowered(op: SdpaOp) -> None:
    where = location_text(op.operation.location)
    if op.alibi_mask:
        raise CodegenError("'hipdnn.sdpa' op with an alibi mask has no lowering", location=where)
    present = [field.name for field in op.operand_fields if op.operand_values(field)]
    present += [field.name for field in op.result_fields if op.result_values(field)]
    for name in present:
        if name not in _LOWERED:
            raise CodegenError(f"'hipdnn.sdpa' op with '{name}' has no lowering", location=where)


def _decomposed(op: SdpaOp, lowering: Lowering) -> list[Tensor]:
    emitter = lowering.emitter
    q, k, v = (lowering.tensor(value) for value in (op.q, op.k, op.v))
    compute = "f64" if q.element == "f64" else "f32"
    scores = _product_of_heads(emitter, q, k.permuted((0, 1, 3, 2)), compute)
    scores = _masked(emitter, op, lowering, scores)
    highest = _highest(emitter, scores)
    powers = _exponentials(emitter, scores, highest)
    total = reduce_dims(emitter, ReductionMode.ADD, powers, [KEYS], compute)
    weights = _normalized(emitter, powers, total, v.element)
    attention = _product_of_heads(emitter, weights, v, compute)
    results = [emitter.cast(attention, element_of(op.o))]
    if op.stats is not None:
        results.append(_log_sum(emitter, highest, total, element_of(op.stats)))
    return results


def _product_of_heads(emitter: Emitter, a: Tensor, b: Tensor, accumulator: str) -> Tensor:
    """Multiplies per head; groups of heads of `a` share one of `b` without copying it."""
    batch, heads, rows, _ = a.shape
    columns = b.shape[3]
    if heads == b.shape[1]:
        return multiply(emitter, a, b, (batch, heads, rows, columns), accumulator)
    shared = b.shape[1]
    split = emitter.split_dim(a, 1, shared)
    shape = (batch, shared, heads // shared, rows, columns)
    product = multiply(emitter, split, b.with_unit_dim(2), shape, accumulator)
    return emitter.reshape(product, (batch, heads, rows, columns))


def _masked(emitter: Emitter, op: SdpaOp, lowering: Lowering, scores: Tensor) -> Tensor:
    """Scales the scores and hides the keys that a query must not see."""
    mask, scale = Mask.of(op, lowering), lowering.optional(op.scale)
    factor = op.attn_scale_value
    if mask.is_empty and scale is None and factor in (None, 1.0):
        return scores
    operands = [scores, *mask.tensors.values(), *([] if scale is None else [scale])]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, scores.element)
        score, *masks = arguments[: 1 + len(mask.tensors)]
        if scale is not None:
            score = m.mul(score, scalars.cast(arguments[len(operands) - 1], m.type))
        elif factor is not None:
            score = m.mul(score, m.constant(factor))
        return [mask.apply(m, score, masks)]

    return emitter.pointwise("masked", operands, scores.shape, scores.element, body)


def _highest(emitter: Emitter, scores: Tensor) -> Tensor:
    # Starting from the lowest finite number keeps rows without any visible key finite: their
    # exponentials are 0, not NaN.
    return reduce_dims(
        emitter, ReductionMode.MAX, scores, [KEYS], scores.element, start=_LOWEST[scores.element]
    )


def _exponentials(emitter: Emitter, scores: Tensor, highest: Tensor) -> Tensor:
    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, scores.element)
        return [m.math("exp", m.sub(arguments[0], arguments[1]))]

    return emitter.pointwise("powers", [scores, highest], scores.shape, scores.element, body)


def _normalized(emitter: Emitter, powers: Tensor, total: Tensor, element: str) -> Tensor:
    """Divides by the row's sum; a row without any visible key becomes 0."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, powers.element)
        divisor = m.select("eq", arguments[1], 0, m.constant(1), arguments[1])
        return [scalars.cast(m.div(arguments[0], divisor), element)]

    return emitter.pointwise("weights", [powers, total], powers.shape, element, body)


def _log_sum(emitter: Emitter, highest: Tensor, total: Tensor, element: str) -> Tensor:
    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, total.element)
        return [scalars.cast(m.add(arguments[0], m.math("log", arguments[1])), element)]

    return emitter.pointwise("stats", [highest, total], total.shape, element, body)
