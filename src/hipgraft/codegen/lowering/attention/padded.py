"""Lowers attention to IREE's fused op on operands padded to the tiles of matrix instructions.

A mask hides the padded keys, and the padded rows and columns of the result are cropped. Zeros in
the head dimension do not change the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hipgraft.codegen.lowering.attention.fused import (
    HEAD_SIZES,
    SEQUENCE_MULTIPLE,
    attend,
    by_column,
    can_fuse,
    combined_mask,
    has_matrix_elements,
    is_fast_fused,
)
from hipgraft.codegen.lowering.attention.mask import HEADS, KEYS, QUERIES, Mask
from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.emit.windows import cropped
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import SdpaOp
from hipgraft.ir.tensors import element_of, shape_of

# From this length on, sequences are padded to a multiple of larger tiles.
_LONG = 512
_LONG_MULTIPLE = 64

# The sequence length from which copies of the operands cost less than scores in memory, counted on
# gfx942. 32-bit operands take twice as long to copy and four times as long to multiply.
_WORTH = {"f16": 128, "bf16": 128, "f32": 512}


def can_pad(op: SdpaOp, target: Target) -> bool:
    """Returns whether the padded `op` runs fused on matrix instructions."""
    fits = max(_heads(op)) <= HEAD_SIZES[-1] and has_matrix_elements(op, target)
    return can_fuse(op) and fits and not is_fast_fused(op, target)


def is_fast_padded(op: SdpaOp, target: Target) -> bool:
    """Returns whether the padded form does less work than the decomposed one."""
    if not can_pad(op, target):
        return False
    sizes = _Sizes.of(op)
    if (sizes.keys, sizes.head, sizes.value_head) == (op.keys, *_heads(op)):
        return True  # only the queries are copied, and a decoder has a single query
    return min(shape_of(op.q)[2], op.keys) >= _WORTH[element_of(op.q)]


def _heads(op: SdpaOp) -> tuple[int, int]:
    return shape_of(op.q)[3], shape_of(op.v)[3]


def padded_attention(op: SdpaOp, lowering: Lowering, columns: bool) -> Tensor:
    """Pads the operands, emits the fused op and crops the result.

    Args:
        op: the attention.
        lowering: the lowering of its container.
        columns: whether to store the values by column.
    """
    emitter = lowering.emitter
    sizes = _Sizes.of(op)
    q, k, v = (lowering.tensor(value) for value in (op.q, op.k, op.v))
    mask = _mask(op, lowering, sizes)
    q = _grown(lowering, q, sizes.queries, sizes.head)
    k = _grown(lowering, k, sizes.keys, sizes.head)
    v = _grown(lowering, v, sizes.keys, sizes.value_head)
    v = by_column(emitter, v) if columns else v
    attention = emitter.merge_dims(attend(op, lowering, q, k, v, mask), HEADS)
    after = [have - size for have, size in zip(shape_of(op.o), attention.shape, strict=True)]
    return cropped(emitter, attention, [0, 0], after[2:])


@dataclass(frozen=True)
class _Sizes:
    """Extents of the padded operands."""

    queries: int
    keys: int
    head: int
    value_head: int

    @classmethod
    def of(cls, op: SdpaOp) -> _Sizes:
        queries, head = shape_of(op.q)[2:]
        return cls(
            queries=_sequence(queries),
            keys=_sequence(shape_of(op.k)[2]),
            head=_head(head),
            value_head=_head(shape_of(op.v)[3]),
        )


def _sequence(length: int) -> int:
    multiple = SEQUENCE_MULTIPLE if length < _LONG else _LONG_MULTIPLE
    return -(-length // multiple) * multiple


def _head(size: int) -> int:
    return next(fitting for fitting in HEAD_SIZES if fitting >= size)


def _grown(lowering: Lowering, value: Tensor, rows: int, columns: int) -> Tensor:
    after = [rows - value.shape[2], columns - value.shape[3]]
    return padded(lowering.emitter, value, [0, 0], after)


def _mask(op: SdpaOp, lowering: Lowering, sizes: _Sizes) -> Tensor | None:
    """Returns bounds, mask and hidden padded keys as one tensor, or None."""
    mask = Mask.of(op, lowering)
    keys = shape_of(op.k)[2]
    hidden = None if sizes.keys == keys else keys
    given = mask.tensors.get("attn_mask")
    if given is not None:
        grown = _grown_mask(lowering, given, sizes)
        mask = replace(mask, tensors={"attn_mask": grown})
    if hidden is None and mask.bounds.is_open:
        return mask.tensors.get("attn_mask")
    alike = mask.bounds.is_open and (given is None or given.shape[QUERIES - 4] == 1)
    return combined_mask(mask, lowering, 1 if alike else sizes.queries, sizes.keys, hidden)


def _grown_mask(lowering: Lowering, mask: Tensor, sizes: _Sizes) -> Tensor:
    """Pads those dims of a mask that do not broadcast."""
    for _ in range(4 - mask.rank):
        mask = mask.with_unit_dim(0)
    rows = sizes.queries if mask.shape[QUERIES] > 1 else 1
    columns = sizes.keys if mask.shape[KEYS] > 1 else 1
    after = [rows - mask.shape[QUERIES], columns - mask.shape[KEYS]]
    # The scores of padded keys may take any bias, because these keys are hidden.
    return padded(lowering.emitter, mask, [0, 0], after)
