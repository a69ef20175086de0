"""Lowers masks of attention: the keys that a query may see, and the bias of its scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import AttentionOp, DiagonalAlignment, SdpaOp
from hipgraft.dialects.hipdnn.ops.sdpa import BLOCK
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of

# Positions in the scores [B, H, Sq, Skv].
HEADS = 1
QUERIES = 2
KEYS = 3


@dataclass(frozen=True)
class Bounds:
    """The keys that a query may see, by distance from the diagonal.

    Query `i` sees key `j` if `i + diagonal - left < j <= i + diagonal + right`.

    Attributes:
        queries: number of queries.
        keys: number of keys.
        bottom_right: whether the diagonal ends at the last query and key in use; otherwise it
            starts at the first query and key.
        left: distance of the first hidden key to the left, None for no bound.
        right: distance of the last visible key to the right, None for no bound.
    """

    queries: int
    keys: int
    bottom_right: bool
    left: int | None
    right: int | None

    @classmethod
    def of(cls, op: AttentionOp) -> Bounds:
        """Returns the bounds that the attributes of `op` declare."""
        bottom_right = (
            op.causal_mask_bottom_right or op.diagonal_alignment is DiagonalAlignment.BOTTOM_RIGHT
        )
        left, right = (
            None if bound is None or bound < 0 else bound
            for bound in (op.left_bound, 0 if op.is_causal else op.right_bound)
        )
        return cls(shape_of(op.q)[2], op.keys, bottom_right, left, right)

    @property
    def is_open(self) -> bool:
        """Whether every query sees every key."""
        return self.left is None and self.right is None

    def conditions(self, scalars: ScalarEmitter, lengths: Mapping[int, Scalar]) -> list[Scalar]:
        """Emits the conditions for a query to see a key, in loops over [B, H, Sq, Skv].

        Args:
            scalars: emitter that receives the ops.
            lengths: number of queries and keys in use, by loop, for loops where not all are in use.
        """
        if self.is_open:
            return []
        query = scalars.op("arith.addi", scalars.index(QUERIES), self._diagonal(scalars, lengths))
        key = scalars.index(KEYS)
        lowest = None if self.left is None else -self.left
        conditions: list[Scalar] = []
        for predicate, bound in (("le", self.right), ("gt", lowest)):
            if bound is not None:
                distance = scalars.constant(bound, "index")
                limit = scalars.op("arith.addi", query, distance)
                conditions.append(scalars.compare(predicate, key, limit))
        return conditions

    def _diagonal(self, scalars: ScalarEmitter, lengths: Mapping[int, Scalar]) -> Scalar:
        """Emits the key on the diagonal of query 0."""
        if not self.bottom_right:
            return scalars.constant(0, "index")
        if not lengths:
            return scalars.constant(self.keys - self.queries, "index")
        keys = lengths.get(KEYS, scalars.constant(self.keys, "index"))
        queries = lengths.get(QUERIES, scalars.constant(self.queries, "index"))
        return scalars.op("arith.subi", keys, queries)


@dataclass(frozen=True)
class Mask:
    """The operands and attributes that hide keys from queries or bias their scores.

    Attributes:
        bounds: distances from the diagonal.
        tensors: `attn_mask`, `seq_len_q` and `seq_len_kv`, if present; they broadcast to
            the scores [B, H, Sq, Skv]. Ragged tensors provide their numbers of rows as lengths.
        blocks: one bit for each block of scores, set if it counts, packed as in `block_mask`.
        alibi_heads: number of heads with a bias linear in the key's distance (ALiBi); 0 for none.
    """

    bounds: Bounds
    tensors: dict[str, Tensor]
    blocks: Tensor | None
    alibi_heads: int

    @classmethod
    def of(cls, op: AttentionOp, lowering: Lowering) -> Mask:
        """Returns the mask of `op`."""
        values = {
            "attn_mask": lowering.optional(op.attn_mask),
            "seq_len_q": _lengths(lowering, op.seq_len_q, op.q),
            "seq_len_kv": _lengths(lowering, op.seq_len_kv, op.k),
        }
        tensors = {
            name: _broadcastable(name, value) for name, value in values.items() if value is not None
        }
        blocks = lowering.optional(op.block_mask) if isinstance(op, SdpaOp) else None
        return cls(Bounds.of(op), tensors, blocks, shape_of(op.q)[1] if op.alibi_mask else 0)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is hidden or added."""
        added = self.tensors or self.alibi_heads or self.blocks is not None
        return self.bounds.is_open and not added

    def apply(self, m: Arithmetic, score: Scalar, arguments: Sequence[Scalar]) -> Scalar:
        """Emits the masked score, in loops over [B, H, Sq, Skv].

        Args:
            m: arithmetic of the score's type.
            score: the scaled score.
            arguments: elements of `tensors`, in their order.
        """
        values = dict(zip(self.tensors, arguments, strict=True))
        lengths = {
            loop: m.scalars.cast(values[name], "index")
            for loop, name in ((QUERIES, "seq_len_q"), (KEYS, "seq_len_kv"))
            if name in values
        }
        seen = self.bounds.conditions(m.scalars, lengths)
        for loop, length in lengths.items():
            seen.append(m.scalars.compare("lt", m.scalars.index(loop), length))
        if self.blocks is not None:
            seen.append(_block_counts(m.scalars, self.blocks))
        if self.alibi_heads:
            score = m.add(score, _alibi(m, self.alibi_heads))
        mask = values.get("attn_mask")
        if mask is not None and mask.type == "i1":
            seen.append(mask)
        elif mask is not None:
            score = m.add(score, m.scalars.cast(mask, m.type))
        for condition in seen:
            score = m.scalars.select(condition, score, m.constant(-math.inf))
        return score


def rows_in_use(lowering: Lowering, value: ir.Value, lengths: ir.Value | None) -> Tensor:
    """Returns [B, H, S, D] with zeros in the rows of each batch from its length on.

    Rows that are not in use may hold any element, and a NaN times a weight of 0 would be NaN.
    """
    rows = lowering.tensor(value)
    if lengths is None:
        return rows
    counts = _broadcastable("lengths", lowering.tensor(lengths))

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        element, length = arguments[:2]
        used = scalars.compare("lt", scalars.index(2), scalars.cast(length, "index"))
        return [scalars.select(used, element, scalars.constant(0, element.type))]

    return lowering.emitter.pointwise("in_use", [rows, counts], rows.shape, rows.element, body)


def _alibi(m: Arithmetic, heads: int) -> Scalar:
    """Emits `(key - query) · slope`, in loops over [B, H, Sq, Skv].

    With 2ⁿ heads the slopes are 2^(-8 (head + 1) / 2ⁿ). If the number of heads is not a power of
    two, the heads after the first 2ⁿ take every other slope of the sequence for 2ⁿ⁺¹ heads.
    """
    scalars, power = m.scalars, 1 << (heads.bit_length() - 1)
    head = _as_number(m, scalars.index(HEADS))
    exponent = m.affine(-8 / power, head, -8 / power)
    beyond = m.affine(-8 / power, head, 8 - 4 / power)
    exponent = m.select("lt", head, power, exponent, beyond)
    key, query = (_as_number(m, scalars.index(loop)) for loop in (KEYS, QUERIES))
    return m.mul(m.sub(key, query), m.math("exp2", exponent))


def _block_counts(scalars: ScalarEmitter, blocks: Tensor) -> Scalar:
    """Emits whether the block of a score counts, in loops over [B, H, Sq, Skv]."""
    side, bits = scalars.constant(BLOCK, "index"), scalars.constant(8, "index")
    row, column = (scalars.op("arith.divui", scalars.index(loop), side) for loop in (QUERIES, KEYS))
    byte = scalars.op("arith.divui", column, bits)
    position = scalars.cast(scalars.op("arith.remui", column, bits), "i32")
    word = scalars.element(blocks, scalars.index(0), scalars.index(HEADS), row, byte)
    bit = scalars.op("arith.shrui", scalars.cast(word, "i32"), position)
    return scalars.cast(scalars.op("arith.andi", bit, scalars.constant(1, "i32")), "i1")


def _lengths(lowering: Lowering, given: ir.Value | None, rows: ir.Value) -> Tensor | None:
    """Returns the rows in use per batch: `given`, or those of a ragged tensor."""
    if given is not None:
        return lowering.tensor(given)
    form = lowering.ragged.get(rows)
    return None if form is None else form.lengths(lowering.emitter, 2)


def _as_number(m: Arithmetic, index: Scalar) -> Scalar:
    # No op converts an index to a float directly.
    return m.scalars.cast(m.scalars.cast(index, "i64"), m.type)


def _broadcastable(name: str, value: Tensor) -> Tensor:
    if name == "attn_mask" or value.rank == 4:
        return value
    return value.with_unit_dim(1).with_unit_dim(1).with_unit_dim(1)  # [B] -> [B, 1, 1, 1]
