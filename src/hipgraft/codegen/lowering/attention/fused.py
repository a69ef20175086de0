"""Lowers attention to IREE's fused op, and decides where that is faster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.attention.mask import KEYS, Bounds, Mask
from hipgraft.codegen.lowering.attention.scores import present
from hipgraft.codegen.lowering.context import Lowering, float_compute_type, is_ragged
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import SdpaOp
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.tensors import element_of, shape_of

# Extents that IREE 3.13.0 tiles onto matrix instructions. With other extents each thread computes
# one element and loads a thousand times as many bytes as the decomposed form.
SEQUENCE_MULTIPLE = 16
HEAD_SIZES = (16, 32, 64, 128)

# The fewest queries, by wavefront size, for which a transposed copy of the values pays off. In the
# copy the keys of a column are contiguous, so each tile of queries loads the operands of 16-bit
# matrix instructions as vectors. The numbers come from instruction counts.
_MANY_QUERIES = {64: 256, 32: 128}

# The operands and results that the fused op supports.
_FUSED = {"q", "k", "v", "attn_mask", "o"}

_LOOPS = ("b", "h", "g", "m", "n", "k1", "k2")


def can_fuse(op: SdpaOp) -> bool:
    """Returns whether IREE's fused attention can express `op`."""
    q, k, v = (shape_of(value) for value in (op.q, op.k, op.v))
    if present(op) - _FUSED or op.alibi_mask or op.dropout_probability or k[1] != v[1]:
        return False
    if float_compute_type(op, element_of(op.q)) != "f32":
        return False
    if any(is_ragged(value) for value in (op.q, op.k, op.v)):
        return False
    # For a query that sees no key the fused op computes NaN and the decomposed form 0.
    return Bounds.of(op).is_open or q[2] <= k[2]


def is_fast_fused(op: SdpaOp, target: Target) -> bool:
    """Returns whether IREE's fused attention runs `op` on the target's matrix instructions."""
    q, k, v = (shape_of(value) for value in (op.q, op.k, op.v))
    tiled = q[2] % SEQUENCE_MULTIPLE == 0 and k[2] % SEQUENCE_MULTIPLE == 0
    heads = q[3] in HEAD_SIZES and v[3] in HEAD_SIZES
    return can_fuse(op) and tiled and heads and has_matrix_elements(op, target)


def has_cheap_scores(op: SdpaOp, target: Target) -> bool:
    """Returns whether storing the scores costs less than the fused op's extra arithmetic.

    RDNA takes several instructions to round to bf16, and the fused op rounds for each tile of keys.
    With few keys and long heads, rounding is most of its work (instructions counted on gfx1100).
    """
    q, k = shape_of(op.q), shape_of(op.k)
    is_rounded_slowly = target.wavefront_size == 32 and element_of(op.q) == "bf16"
    return is_rounded_slowly and q[3] >= HEAD_SIZES[-1] >= k[2]


def has_matrix_elements(op: SdpaOp, target: Target) -> bool:
    """Returns whether the target has matrix instructions for the operands' element types."""
    return {element_of(value) for value in (op.q, op.k, op.v)} <= target.matrix_elements


def wants_value_columns(op: SdpaOp, target: Target) -> bool:
    """Returns whether the fused op runs faster on values that are stored by column."""
    fewest = _MANY_QUERIES.get(target.wavefront_size, math.inf)
    return bit_width(element_of(op.v)) == 16 and shape_of(op.q)[2] >= fewest


def by_column(emitter: Emitter, v: Tensor) -> Tensor:
    """Copies values [B, Hk, Skv, Dv] to an order in which the keys of a column are contiguous."""
    return emitter.materialized(emitter.in_order(v, (0, 1, 3, 2)))


def fused_attention(op: SdpaOp, lowering: Lowering, columns: bool) -> Tensor:
    """Emits the op on its operands, with the values stored by column if `columns` is set."""
    q, k, v = (lowering.tensor(value) for value in (op.q, op.k, op.v))
    v = by_column(lowering.emitter, v) if columns else v
    attention = attend(op, lowering, q, k, v, _mask_tensor(op, lowering))
    return lowering.emitter.reshape(attention, shape_of(op.o))


def attend(
    op: SdpaOp, lowering: Lowering, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> Tensor:
    """Emits the op; its loop `g` covers the heads of `q` that share a head of `k`.

    Args:
        op: the attention, for its scale and result type.
        lowering: the lowering of its container.
        q: queries [B, Hq, Sq, D].
        k: keys [B, Hk, Skv, D].
        v: values [B, Hk, Skv, Dv].
        mask: bias of the scores, or i1 for the visible keys; broadcasts to [B, Hq, Sq, Skv].

    Returns:
        The attention [B, Hk, Hq / Hk, Sq, Dv].
    """
    emitter = lowering.emitter
    shared = k.shape[1]
    q = emitter.split_dim(q, 1, shared)
    factor = 1.0 if op.attn_scale_value is None else op.attn_scale_value
    operands: list[tuple[Tensor | Scalar, str]] = [
        (q, "b h g m k1"),
        (k, "b h k2 k1"),
        (v, "b h k2 n"),
        (emitter.constant(factor, q.element), ""),
    ]
    if mask is not None:
        operands.append((_grouped(emitter, mask, shared), "b h g m k2"))
    form = Tensor.logical("", (*q.shape[:4], v.shape[3]), element_of(op.o))
    return _attention(emitter, operands, emitter.empty(form))


def _attention(
    emitter: Emitter, operands: Sequence[tuple[Tensor | Scalar, str]], out: Tensor
) -> Tensor:
    maps = [_map(value, loops) for value, loops in (*operands, (out, "b h g m n"))]
    names = ", ".join(value.name for value, _ in operands)
    types = ", ".join(value.type for value, _ in operands)
    listed = ",\n".join(f"      {text}" for text in maps)
    text = (
        f"iree_linalg_ext.attention <{{\n    indexing_maps = [\n{listed}]}}>\n"
        f"    ins({names} : {types})\n"
        f"    outs({out.name} : {out.type}) {{\n"
        "^bb0(%score: f32):\n"
        "  iree_linalg_ext.yield %score : f32\n"
        f"}} -> {out.type}"
    )
    return replace(out, name=emitter.op("attention", text))


def _map(value: Tensor | Scalar, loops: str) -> str:
    names = loops.split()
    read = [names[dim] for dim in value.dims] if isinstance(value, Tensor) else []
    return f"affine_map<({', '.join(_LOOPS)}) -> ({', '.join(read)})>"


def _mask_tensor(op: SdpaOp, lowering: Lowering) -> Tensor | None:
    """Returns bounds and mask as one tensor that broadcasts to [B, H, Sq, Skv], or None."""
    mask = Mask.of(op, lowering)
    if mask.bounds.is_open:
        return mask.tensors.get("attn_mask")
    return combined_mask(mask, lowering, shape_of(op.q)[2], shape_of(op.k)[2])


def combined_mask(
    mask: Mask, lowering: Lowering, queries: int, keys: int, seen: int | None = None
) -> Tensor:
    """Emits the tensor that is added to scores [B, H, queries, keys].

    Args:
        mask: bounds and tensors that broadcast to that shape.
        lowering: the lowering of the container.
        queries: number of rows; 1 if all rows are equal.
        keys: number of columns.
        seen: number of leading keys that are visible; None for all.
    """
    given = mask.tensors.get("attn_mask")
    heads = (1, 1) if given is None else (1, 1, 1, 1, *given.shape)[-4:-2]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, "f32")
        score = mask.apply(m, m.constant(0), arguments[: len(mask.tensors)])
        if seen is None:
            return [score]
        inside = scalars.compare("lt", scalars.index(KEYS), scalars.constant(seen, "index"))
        return [scalars.select(inside, score, m.constant(-math.inf))]

    shape = (*heads, queries, keys)
    return lowering.emitter.pointwise("mask", [*mask.tensors.values()], shape, "f32", body)


def _grouped(emitter: Emitter, mask: Tensor, shared: int) -> Tensor:
    """Splits the heads of a mask as those of `q` are split, and drops its broadcast dims."""
    for _ in range(4 - mask.rank):
        mask = mask.with_unit_dim(0)
    heads = mask.shape[1]
    mask = mask.with_unit_dim(1) if heads == 1 else emitter.split_dim(mask, 1, shared)
    return emitter.without_unit_dims(mask)
