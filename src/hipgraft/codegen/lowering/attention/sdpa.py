"""Lowers attention, fused or decomposed.

IREE's fused attention is the fastest form if its tiles fit. Otherwise each thread of the fused form
computes one element and loads a thousand times as many bytes as the decomposed form; the cost of
the decomposed form does not depend on tile sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hipgraft.codegen.lowering.attention.dropout import dropout_factors
from hipgraft.codegen.lowering.attention.fused import (
    can_fuse,
    fused_attention,
    has_cheap_scores,
    is_fast_fused,
    wants_value_columns,
)
from hipgraft.codegen.lowering.attention.mask import KEYS, Mask
from hipgraft.codegen.lowering.attention.padded import can_pad, is_fast_padded, padded_attention
from hipgraft.codegen.lowering.attention.pages import keys_and_values
from hipgraft.codegen.lowering.attention.scores import (
    masked_scores,
    per_query_head,
    present,
    product_of_heads,
)
from hipgraft.codegen.lowering.context import Lowering, alternative, lowers
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.elementwise import elementwise
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.cuda_operands import depth_to_add
from hipgraft.dialects.hipdnn import ReductionMode, SdpaOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.dtypes import largest_finite
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.tensors import element_of, shape_of

# The operands and results of attention for which additional hidden keys make no difference.
_PLAIN = {"q", "k", "v", "o", "scale"}

# From this number of rows on, padded keys take less time.
_MANY_ROWS = 1024


@lowers(SdpaOp)
def lower_sdpa(op: SdpaOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns the attention and those statistics that the op has as results."""
    columns = wants_value_columns(op, lowering.target)
    if is_fast_fused(op, lowering.target) and not has_cheap_scores(op, lowering.target):
        return [fused_attention(op, lowering, columns)]
    if is_fast_padded(op, lowering.target):
        return [padded_attention(op, lowering, columns)]
    return lower_decomposed(op, lowering)


@alternative(SdpaOp, "fused", lambda op, _: can_fuse(op))
def lower_fused(op: SdpaOp, lowering: Lowering) -> Sequence[Tensor]:
    """Emits one dispatch that never stores its scores."""
    return [fused_attention(op, lowering, columns=False)]


@alternative(SdpaOp, "padded", can_pad)
def lower_padded(op: SdpaOp, lowering: Lowering) -> Sequence[Tensor]:
    """Emits the fused op with operands padded to tiles of matrix instructions."""
    return [padded_attention(op, lowering, columns=False)]


def _takes_columns(op: SdpaOp, target: Target) -> bool:
    return is_fast_fused(op, target) or can_pad(op, target)


@alternative(SdpaOp, "transposed-values", _takes_columns)
def lower_transposed_values(op: SdpaOp, lowering: Lowering) -> Sequence[Tensor]:
    """Emits the fused or padded form on a copy of the values with contiguous columns of keys."""
    make = fused_attention if is_fast_fused(op, lowering.target) else padded_attention
    return [make(op, lowering, columns=True)]


@alternative(SdpaOp, "decomposed", lambda _, __: True)
def lower_decomposed(op: SdpaOp, lowering: Lowering) -> list[Tensor]:
    """Emits two matrix products with a softmax between them."""
    emitter, q = lowering.emitter, lowering.tensor(op.q)
    k, v = keys_and_values(op, lowering)
    factors = (op.scale, op.descale_q, op.descale_k)
    more = _keys_to_add(op, lowering)
    k, v = (padded(emitter, value, [0, 0], [more, 0]) for value in (k, v)) if more else (k, v)
    scores = masked_scores(op, lowering, q, k, *factors)
    scores = _hidden(emitter, scores, op.keys) if more else scores
    softmax = _Softmax.of(emitter, scores, _sink(op, lowering))
    weights = softmax.weights()
    kept = dropout_factors(op, lowering)
    # CUDA's matrix instructions would need padded operands here, so the weights stay in the wide
    # type and the product uses no matrix instructions. The weights are not rounded to 16 bits
    # first, because the compiler would fold the rounding with the widening after it.
    is_wide = depth_to_add(lowering.target, v) > 0
    element = weights.element if is_wide and bit_width(v.element) == 16 else v.element
    read = _scaled(lowering, weights, element, *kept, op.scale_s)
    read = emitter.cast(read, weights.element) if is_wide else read
    product = product_of_heads(emitter, read, v, scores.element, lowering.orders.get(op.o))
    attention = _scaled(lowering, product, scores.element, op.descale_s, op.descale_v)
    results = [_scaled(lowering, attention, element_of(op.o), op.scale_o)]
    for value, statistic in (
        (op.stats, softmax.log_sum),
        (op.max, softmax.highest_score),
        (op.sum_exp, lambda: softmax.total),
        (op.rng_dump, lambda: _dump(op, lowering, kept)),
        (op.amax_s, lambda: _largest(emitter, weights)),
        (op.amax_o, lambda: _largest(emitter, attention)),
    ):
        if value is not None:
            result = emitter.cast(statistic(), element_of(value))
            results.append(emitter.reshape(result, shape_of(value)))
    return results


def _keys_to_add(op: SdpaOp, lowering: Lowering) -> int:
    """Returns how many hidden keys to add so that wavefronts share the rows of the softmax.

    IREE assigns each row of any other length to one lane: 8192 rows of 77 scores occupy only 32
    compute units.
    """
    target = lowering.target
    if target.kind is not TargetKind.AMDGPU or present(op) - _PLAIN:
        return 0
    if not Mask.of(op, lowering).is_empty or prod(op.scores_shape[:-1]) < _MANY_ROWS:
        return 0
    return -op.keys % target.wavefront_size if op.keys > target.wavefront_size else 0


def _hidden(emitter: Emitter, scores: Tensor, keys: int) -> Tensor:
    """Hides the keys after the first `keys`."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, scores.element)
        inside = scalars.compare("lt", scalars.index(KEYS), scalars.constant(keys, "index"))
        return [scalars.select(inside, arguments[0], m.constant(-math.inf))]

    return emitter.pointwise("hidden", [scores], scores.shape, scores.element, body)


def _sink(op: SdpaOp, lowering: Lowering) -> Tensor | None:
    sink = lowering.optional(op.sink_token)
    return None if sink is None else lowering.emitter.reshape(sink, [1, prod(sink.shape), 1, 1])


def _dump(op: SdpaOp, lowering: Lowering, kept: Sequence[Tensor]) -> Tensor:
    """Returns 1 for each weight that dropout keeps; all of them if there is no dropout."""
    every = Tensor.logical("", op.scores_shape, "f32")
    return kept[0] if kept else lowering.emitter.filled(every, 1)


def _scaled(
    lowering: Lowering, value: Tensor, element: str, *factors: Tensor | ir.Value | None
) -> Tensor:
    """Emits the product of `value` and the factors that are present, rounded to `element`."""
    given = [
        factor if isinstance(factor, Tensor) else per_query_head(lowering, factor, value)
        for factor in factors
        if factor is not None
    ]
    operands = [value, *given]
    return elementwise(
        lowering.emitter,
        "scaled",
        operands,
        lambda m, values: m.mul(*values),
        value.element,
        element=element,
    )


def _largest(emitter: Emitter, value: Tensor) -> Tensor:
    # IREE would fuse a transposition of the product into the reduction, and fail.
    flat = emitter.reshape(emitter.barrier(value), [prod(value.shape)])
    return reduce_dims(emitter, ReductionMode.AMAX, flat, [0], value.element)


@dataclass(frozen=True)
class _Softmax:
    """The softmax of each row of scores.

    Attributes:
        emitter: emitter that receives the ops.
        highest: largest score of each row.
        powers: exponentials of the scores, relative to the largest.
        total: sum of the powers in each row, including the sink's.
    """

    emitter: Emitter
    highest: Tensor
    powers: Tensor
    total: Tensor

    @classmethod
    def of(cls, emitter: Emitter, scores: Tensor, sink: Tensor | None) -> _Softmax:
        """Emits the softmax; `sink` is the score of one more key per head, without a value."""
        compute = scores.element
        # The maximum starts from the lowest finite number, not from minus infinity, so that a row
        # without any visible key has exponentials of 0 instead of NaN.
        start = -largest_finite(compute)
        highest = reduce_dims(emitter, ReductionMode.MAX, scores, [KEYS], compute, start)
        if sink is not None:
            highest = elementwise(
                emitter, "highest", [highest, sink], lambda m, v: m.maximum(*v), compute
            )
        powers = elementwise(emitter, "powers", [scores, highest], _power, compute)
        total = reduce_dims(emitter, ReductionMode.ADD, powers, [KEYS], compute)
        if sink is not None:
            total = elementwise(emitter, "total", [total, sink, highest], _with_power, compute)
        return cls(emitter, highest, powers, total)

    def weights(self) -> Tensor:
        """Emits the weights: powers over the row's sum, and 0 in a row without any visible key."""

        def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
            power, total = values
            return m.quotient(power, m.select("eq", total, 0, m.constant(1), total))

        operands = [self.powers, self.total]
        return elementwise(self.emitter, "weights", operands, formula, self.powers.element)

    def highest_score(self) -> Tensor:
        """Emits the largest score of each row, minus infinity where no key is visible."""

        def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
            highest, total = values
            return m.select("eq", total, 0, m.constant(-math.inf), highest)

        operands = [self.highest, self.total]
        return elementwise(self.emitter, "max", operands, formula, self.total.element)

    def log_sum(self) -> Tensor:
        """Emits the log-sum-exp of each row of scores."""

        def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
            return m.add(values[0], m.math("log", values[1]))

        operands = [self.highest, self.total]
        return elementwise(self.emitter, "stats", operands, formula, self.total.element)


def _power(m: Arithmetic, values: list[Scalar]) -> Scalar:
    return m.exponential(m.sub(*values))


def _with_power(m: Arithmetic, values: list[Scalar]) -> Scalar:
    total, score, highest = values
    return m.add(total, _power(m, [score, highest]))
