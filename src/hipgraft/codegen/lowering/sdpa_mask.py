"""Which keys a query may see, and what is added to its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import Lowering, shape_of
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.dialects.hipdnn import AttentionOp, DiagonalAlignment

# Positions in the scores [B, H, Sq, Skv].
HEADS = 1
QUERIES = 2
KEYS = 3


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
    def of(cls, op: AttentionOp) -> Bounds:
        """Returns the bounds that `op` declares, in any of the spellings."""
        bottom_right = (
            op.causal_mask_bottom_right or op.diagonal_alignment is DiagonalAlignment.BOTTOM_RIGHT
        )
        diagonal = op.keys - shape_of(op.q)[2] if bottom_right else 0
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
        """Emits what must hold for a query to see a key, in loops over [B, H, Sq, Skv]."""
        if self.is_open:
            return []
        query, key = scalars.index(QUERIES), scalars.index(KEYS)
        lowest = None if self.left is None else -self.left
        conditions: list[Scalar] = []
        for predicate, bound in (("le", self.right), ("gt", lowest)):
            if bound is not None:
                distance = scalars.constant(self.diagonal + bound, "index")
                limit = scalars.op("arith.addi", query, distance)
                conditions.append(scalars.compare(predicate, key, limit))
        return conditions


@dataclass(frozen=True)
class Mask:
    """All that hides keys from queries, or weighs them.

    Attributes:
        bounds: distances from the diagonal.
        tensors: `attn_mask`, `seq_len_q` and `seq_len_kv` as far as present; they broadcast to
            the scores [B, H, Sq, Skv].
        alibi_heads: heads that weigh keys by distance, each by a slope of its own; 0 for none.
    """

    bounds: Bounds
    tensors: dict[str, Tensor]
    alibi_heads: int

    @classmethod
    def of(cls, op: AttentionOp, lowering: Lowering) -> Mask:
        """Returns the mask of `op`."""
        values = {"attn_mask": op.attn_mask, "seq_len_q": op.seq_len_q, "seq_len_kv": op.seq_len_kv}
        tensors = {
            name: _broadcastable(name, lowering.tensor(value))
            for name, value in values.items()
            if value is not None
        }
        return cls(Bounds.of(op), tensors, shape_of(op.q)[1] if op.alibi_mask else 0)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is hidden or added."""
        return self.bounds.is_open and not self.tensors and not self.alibi_heads

    def apply(self, m: Arithmetic, score: Scalar, arguments: Sequence[Scalar]) -> Scalar:
        """Emits the masked score, in loops over [B, H, Sq, Skv].

        Args:
            m: arithmetic of the score's type.
            score: the scaled score.
            arguments: elements of `tensors`, in their order.
        """
        values = dict(zip(self.tensors, arguments, strict=True))
        seen = self.bounds.conditions(m.scalars)
        for loop, name in ((QUERIES, "seq_len_q"), (KEYS, "seq_len_kv")):
            if name in values:
                length = m.scalars.cast(values[name], "index")
                seen.append(m.scalars.compare("lt", m.scalars.index(loop), length))
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


def _alibi(m: Arithmetic, heads: int) -> Scalar:
    """Emits `(key - query) · slope`, in loops over [B, H, Sq, Skv].

    The slopes of 2ⁿ heads are 2^(-8 (head + 1) / 2ⁿ). Heads beyond the largest power of two take
    every other slope of twice as many heads.
    """
    scalars, power = m.scalars, 1 << (heads.bit_length() - 1)
    head = _as_number(m, scalars.index(HEADS))
    exponent = m.affine(-8 / power, head, -8 / power)
    beyond = m.affine(-8 / power, head, 8 - 4 / power)
    exponent = m.select("lt", head, power, exponent, beyond)
    key, query = (_as_number(m, scalars.index(loop)) for loop in (KEYS, QUERIES))
    return m.mul(m.sub(key, query), m.math("exp2", exponent))


def _as_number(m: Arithmetic, index: Scalar) -> Scalar:
    # There is no conversion from index to float.
    return m.scalars.cast(m.scalars.cast(index, "i64"), m.type)


def _broadcastable(name: str, value: Tensor) -> Tensor:
    if name == "attn_mask" or value.rank == 4:
        return value
    return value.with_unit_dim(1).with_unit_dim(1).with_unit_dim(1)  # [B] -> [B, 1, 1, 1]
