"""Attention as IREE's fused op, and where that is worth while."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import (
    Lowering,
    element_of,
    float_compute_type,
    is_ragged,
    shape_of,
)
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter, bit_width
from hipgraft.codegen.lowering.sdpa_mask import KEYS, Bounds, Mask
from hipgraft.codegen.lowering.sdpa_scores import present
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import SdpaOp

# Extents that IREE 3.13.0 tiles onto matrix instructions. Others compile to one element a
# thread, which loads a thousand times as much as the decomposed form.
SEQUENCE_MULTIPLE = 16
HEAD_SIZES = (16, 32, 64, 128)

# From how many queries on it is worth while to copy the values such that the keys of a column lie
# together: each tile of queries then loads vectors of what matrix instructions of 16-bit elements
# read together (counted; by wavefront size).
_MANY_QUERIES = {64: 256, 32: 128}

# The operands and results that the fused op has.
_FUSED = {"q", "k", "v", "attn_mask", "o"}

_LOOPS = ("b", "h", "g", "m", "n", "k1", "k2")


def can_fuse(op: SdpaOp) -> bool:
    """Returns whether IREE's fused attention says what `op` means."""
    q, k, v = (shape_of(value) for value in (op.q, op.k, op.v))
    if present(op) - _FUSED or op.alibi_mask or op.dropout_probability or k[1] != v[1]:
        return False
    if float_compute_type(op, element_of(op.q)) != "f32":
        return False
    if any(is_ragged(value) for value in (op.q, op.k, op.v)):
        return False
    # A query that sees no key is NaN in the fused op and 0 in the decomposed form.
    return Bounds.of(op).is_open or q[2] <= k[2]


def is_fast_fused(op: SdpaOp, target: Target) -> bool:
    """Returns whether IREE's fused attention runs on matrix instructions here."""
    q, k, v = (shape_of(value) for value in (op.q, op.k, op.v))
    tiled = q[2] % SEQUENCE_MULTIPLE == 0 and k[2] % SEQUENCE_MULTIPLE == 0
    heads = q[3] in HEAD_SIZES and v[3] in HEAD_SIZES
    return can_fuse(op) and tiled and heads and has_matrix_elements(op, target)


def has_cheap_scores(op: SdpaOp, target: Target) -> bool:
    """Returns whether scores in memory cost less than the fused op's own arithmetic.

    RDNA takes several instructions to round to bf16, which the fused op does for each tile of
    keys; of few keys with long heads that is most of its work (counted on gfx1100).
    """
    q, k = shape_of(op.q), shape_of(op.k)
    is_rounded_slowly = target.wavefront_size == 32 and element_of(op.q) == "bf16"
    return is_rounded_slowly and q[3] >= HEAD_SIZES[-1] >= k[2]


def has_matrix_elements(op: SdpaOp, target: Target) -> bool:
    """Returns whether the target's matrix instructions multiply the operands' elements."""
    return {element_of(value) for value in (op.q, op.k, op.v)} <= target.matrix_elements


def wants_value_columns(op: SdpaOp, target: Target) -> bool:
    """Returns whether the fused op works less on values that are stored by column."""
    fewest = _MANY_QUERIES.get(target.wavefront_size, math.inf)
    return bit_width(element_of(op.v)) == 16 and shape_of(op.q)[2] >= fewest


def by_column(emitter: Emitter, v: Tensor) -> Tensor:
    """Copies values [B, Hk, Skv, Dv] such that the keys of a column lie together."""
    return emitter.apart(emitter.in_order(v, (0, 1, 3, 2)))


def fused_attention(op: SdpaOp, lowering: Lowering, columns: bool) -> Tensor:
    """Emits the op on its operands as they are, but for the values if those of columns are."""
    q, k, v = (lowering.tensor(value) for value in (op.q, op.k, op.v))
    v = by_column(lowering.emitter, v) if columns else v
    attention = attend(op, lowering, q, k, v, _mask_tensor(op, lowering))
    return lowering.emitter.reshape(attention, shape_of(op.o))


def attend(
    op: SdpaOp, lowering: Lowering, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None
) -> Tensor:
    """Emits the op; heads of `q` that share a head of `k` are loop `g`.

    Args:
        op: for the scale and the type of the result.
        lowering: the lowering of its container.
        q: queries [B, Hq, Sq, D].
        k: keys [B, Hk, Skv, D].
        v: values [B, Hk, Skv, Dv].
        mask: added to, or hides, scores; broadcasts to [B, Hq, Sq, Skv].

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
    """Returns bounds and mask as one tensor that broadcasts to [B, H, Sq, Skv], if any."""
    mask = Mask.of(op, lowering)
    if mask.bounds.is_open:
        return mask.tensors.get("attn_mask")
    return combined_mask(mask, lowering, shape_of(op.q)[2], shape_of(op.k)[2])


def combined_mask(
    mask: Mask, lowering: Lowering, queries: int, keys: int, seen: int | None = None
) -> Tensor:
    """Emits what is added to scores [B, H, queries, keys].

    Args:
        mask: bounds and tensors that broadcast to that shape.
        lowering: the lowering of the container.
        queries: rows; 1 if all are alike.
        keys: columns.
        seen: keys from this one on are hidden; None for none.
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
    """Gives the mask the loops of `q`, and drops those that it broadcasts over."""
    for _ in range(4 - mask.rank):
        mask = mask.with_unit_dim(0)
    heads = mask.shape[1]
    mask = mask.with_unit_dim(1) if heads == 1 else emitter.split_dim(mask, 1, shared)
    return emitter.without_unit_dims(mask)
