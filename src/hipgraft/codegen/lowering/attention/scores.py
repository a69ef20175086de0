"""Emits scores and products per head, which attention and its gradient share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.attention.mask import Mask
from hipgraft.codegen.lowering.context import Lowering, float_compute_type
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.matmul import multiply
from hipgraft.dialects.hipdnn import AttentionOp
from hipgraft.ir.bindings import ir

# The dims in [B, Hk, Hq / Hk, M, N] for each dim of [B, Hq, M, N].
_PARTS = ((0,), (1, 2), (3,), (4,))


def compute_type(op: AttentionOp, lowering: Lowering) -> str:
    """Returns the element type of scores and sums."""
    return float_compute_type(op, lowering.tensor(op.q).element)


def present(op: AttentionOp) -> set[str]:
    """Returns the names of the operands and results that `op` has."""
    names = {field.name for field in op.operand_fields if op.operand_values(field)}
    return names | {field.name for field in op.result_fields if op.result_values(field)}


def masked_scores(
    op: AttentionOp, lowering: Lowering, q: Tensor, k: Tensor, *factors: ir.Value | None
) -> Tensor:
    """Emits `q · kᵀ`, scaled, and minus infinity where a query must not see a key.

    Args:
        op: attention or its gradient.
        lowering: the lowering of its container.
        q: queries [B, Hq, Sq, D].
        k: keys [B, Hk, Skv, D].
        factors: scales of the product; absent ones are None.
    """
    emitter = lowering.emitter
    product = product_of_heads(emitter, q, k.permuted((0, 1, 3, 2)), compute_type(op, lowering))
    mask = Mask.of(op, lowering)
    scales = [per_query_head(lowering, value, q) for value in factors if value is not None]
    constant = op.attn_scale_value if op.scale is None else None
    if mask.is_empty and not scales and constant in (None, 1.0):
        return product
    operands = [product, *mask.tensors.values(), *scales]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, product.element)
        score, *given = arguments[: len(operands)]
        masks, factors = given[: len(mask.tensors)], given[len(mask.tensors) :]
        score = m.mul(score, *(scalars.cast(factor, m.type) for factor in factors))
        if constant is not None:
            score = m.mul(score, m.constant(constant))
        return [mask.apply(m, score, masks)]

    return emitter.pointwise("masked", operands, product.shape, product.element, body)


def per_query_head(lowering: Lowering, factor: ir.Value, like: Tensor) -> Tensor:
    """Returns a factor in a shape that broadcasts to `like` [B, Hq, ...].

    Scales of 8-bit floats may have one element per batch and key head, `[B, H]` or `[B, H, 1, 1]`.
    """
    emitter, value = lowering.emitter, lowering.tensor(factor)
    if math.prod(value.shape) == 1:
        return value
    batch, heads = value.shape[:2]
    table = emitter.reshape(value, (batch, heads))
    shared = like.shape[1] // heads

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        head = scalars.op("arith.divui", scalars.index(1), scalars.constant(shared, "index"))
        return [scalars.element(table, scalars.index(0), head)]

    return emitter.pointwise("factor", [], (batch, like.shape[1], 1, 1), value.element, body)


def product_of_heads(
    emitter: Emitter,
    a: Tensor,
    b: Tensor,
    accumulator: str,
    order: Sequence[int] | None = None,
) -> Tensor:
    """Multiplies per head; groups of heads of `a` share one of `b` without copying it.

    Args:
        emitter: emitter that receives the ops.
        a: left matrices [B, Hq, M, K].
        b: right matrices [B, Hk, K, N].
        accumulator: element type of the result.
        order: preferred storage order of the result's dims; None for any.
    """
    a, b = emitter.widened(a), emitter.widened(b)
    batch, heads, rows, _ = a.shape
    columns = b.shape[3]
    if heads == b.shape[1]:
        return multiply(emitter, a, b, (batch, heads, rows, columns), accumulator, order)
    split = emitter.split_dim(a, 1, b.shape[1])
    target = emitter.target
    if order is not None and target.is_rdna and a.element not in target.matrix_elements:
        return _product_of_tall_heads(emitter, split, b, accumulator)
    wide = [part for dim in order or range(4) for part in _PARTS[dim]]
    shape = (*split.shape[:4], columns)
    product = multiply(emitter, split, b.with_unit_dim(2), shape, accumulator, wide)
    return emitter.merge_dims(product, 1)


def _product_of_tall_heads(emitter: Emitter, a: Tensor, b: Tensor, accumulator: str) -> Tensor:
    """Multiplies heads that share one of `b` as one matrix of all their rows.

    Without matrix instructions IREE tiles the loop over heads instead of rows, which leaves most
    lanes idle unless heads and rows are one loop. The merged product is materialized in its own
    storage order; any other order takes a copy.

    Args:
        emitter: emitter that receives the ops.
        a: left matrices [B, Hk, Hq / Hk, M, K].
        b: right matrices [B, Hk, K, N].
        accumulator: element type of the result.
    """
    batch, shared, heads, rows, _ = a.shape
    tall = emitter.merge_dims(a, 2)
    shape = (batch, shared, heads * rows, b.shape[3])
    product = emitter.materialized(multiply(emitter, tall, b, shape, accumulator))
    return emitter.merge_dims(emitter.split_dim(product, 2, heads), 1)
