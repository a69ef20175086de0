"""Attention, fused or decomposed.

IREE's fused attention does the least work where its tiles fit; elsewhere it falls to one element
a thread and loads a thousand times as much as the decomposed form, which stays even.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import (
    Lowering,
    element_of,
    lowers,
    shape_of,
)
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.matmul import multiply
from hipgraft.codegen.lowering.reduction import reduce_dims
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.diagnostics import CodegenError, location_text
from hipgraft.dialects.hipdnn import DiagonalAlignment, ReductionMode, SdpaOp

_KEYS = 3  # position of Skv in the scores [B, H, Sq, Skv]
_LOWEST = {"f32": -3.4028234663852886e38, "f64": -sys.float_info.max}


@lowers(SdpaOp)
def lower_sdpa(op: SdpaOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns the attention, and the log-sum-exp of the scores if the op has it as a result."""
    if op.alibi_mask:
        where = location_text(op.operation.location)
        raise CodegenError("'hipdnn.sdpa' op with an alibi mask has no lowering", location=where)
    emitter = lowering.emitter
    q, k, v = (lowering.tensor(value) for value in (op.q, op.k, op.v))
    compute = "f64" if q.element == "f64" else "f32"
    scores = _product_of_heads(emitter, q, k.permuted((0, 1, 3, 2)), compute)
    scores = _masked(emitter, op, lowering, scores)
    highest = _highest(emitter, scores)
    powers = _exponentials(emitter, scores, highest)
    total = reduce_dims(emitter, ReductionMode.ADD, powers, [_KEYS], compute)
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
    """Scales the scores, adds the mask, and hides keys that a query must not see."""
    operands = {"score": scores, **_mask_operands(op, lowering)}
    bounds = Bounds.of(op)
    if len(operands) == 1 and bounds.is_open and op.attn_scale_value in (None, 1.0):
        return scores

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, scores.element)
        values = dict(zip(operands, arguments, strict=False))
        score = _scaled(m, op, values)
        seen = bounds.conditions(scalars)
        for loop, name in ((2, "seq_len_q"), (_KEYS, "seq_len_kv")):
            if name in values:
                length = scalars.cast(values[name], "index")
                seen.append(scalars.compare("lt", scalars.index(loop), length))
        mask = values.get("attn_mask")
        if mask is not None and mask.type == "i1":
            seen.append(mask)
        elif mask is not None:
            score = m.add(score, scalars.cast(mask, scores.element))
        for condition in seen:
            score = scalars.select(condition, score, m.constant(-math.inf))
        return [score]

    return emitter.pointwise("masked", [*operands.values()], scores.shape, scores.element, body)


def _mask_operands(op: SdpaOp, lowering: Lowering) -> dict[str, Tensor]:
    """Returns the optional operands that are present, each broadcasting to the scores."""
    operands: dict[str, Tensor] = {}
    for name in ("scale", "attn_mask", "seq_len_q", "seq_len_kv"):
        tensor = lowering.optional(getattr(op, name))
        if tensor is None:
            continue
        if name.startswith("seq_len") and tensor.rank == 1:  # [B] stands for [B, 1, 1, 1]
            tensor = tensor.with_unit_dim(1).with_unit_dim(1).with_unit_dim(1)
        operands[name] = tensor
    return operands


def _scaled(m: Arithmetic, op: SdpaOp, values: dict[str, Scalar]) -> Scalar:
    if "scale" in values:
        return m.mul(values["score"], m.scalars.cast(values["scale"], m.type))
    if op.attn_scale_value is None:
        return values["score"]
    return m.mul(values["score"], m.constant(op.attn_scale_value))


@dataclass(frozen=True)
class Bounds:
    """The keys that a query may see, by distance from the diagonal.

    Query `i` sees key `j` if `i + diagonal - left < j <= i + diagonal + right`.

    Attributes:
        diagonal: key on the diagonal of query 0.
        left: None for no bound.
        right: None for no bound.
    """

    diagonal: int
    left: int | None
    right: int | None

    @classmethod
    def of(cls, op: SdpaOp) -> Bounds:
        """Returns the bounds that `op` declares, in any of the spellings."""
        bottom_right = (
            op.causal_mask_bottom_right or op.diagonal_alignment is DiagonalAlignment.BOTTOM_RIGHT
        )
        diagonal = shape_of(op.k)[2] - shape_of(op.q)[2] if bottom_right else 0
        left, right = (
            None if bound is None or bound < 0 else bound
            for bound in (op.left_bound, 0 if op.is_causal else op.right_bound)
        )
        return cls(diagonal, left, right)

    @property
    def is_open(self) -> bool:
        """Whether every query sees every key."""
        return self.left is None and self.right is None

    def conditions(self, scalars: ScalarEmitter) -> list[Scalar]:
        """Emits what must hold for the element of [B, H, Sq, Skv] at hand to be seen."""
        if self.is_open:
            return []
        query, key = scalars.index(2), scalars.index(_KEYS)
        conditions: list[Scalar] = []
        for predicate, bound in (
            ("le", self.right),
            ("gt", None if self.left is None else -self.left),
        ):
            if bound is not None:
                distance = scalars.constant(self.diagonal + bound, "index")
                limit = scalars.op("arith.addi", query, distance)
                conditions.append(scalars.compare(predicate, key, limit))
        return conditions


def _highest(emitter: Emitter, scores: Tensor) -> Tensor:
    # Starting from the lowest finite number keeps rows without any visible key finite: their
    # exponentials are 0, not NaN.
    return reduce_dims(
        emitter, ReductionMode.MAX, scores, [_KEYS], scores.element, start=_LOWEST[scores.element]
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
