"""Scaled dot-product attention."""

from __future__ import annotations

from hipgraft.bindings import ir
from hipgraft.dialects.hipdnn.enums import AttentionImplementation, DiagonalAlignment
from hipgraft.dialects.hipdnn.fields import (
    Form,
    Operand,
    OptionalOperand,
    OptionalResult,
    Result,
    defaulted,
    optional,
)
from hipgraft.dialects.hipdnn.kinds import BOOL, FLOAT, INT, TYPE, enum_kind
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import broadcast, shape_of, shape_text


class SdpaOp(ComputeOp, mnemonic="sdpa"):
    """Scaled dot-product attention: `o = softmax(scale · q · kᵀ + attn_mask) · v`.

    Heads of `q` are a multiple of heads of `k` and of `v` (grouped queries). The scale is the
    operand `scale`, else `attn_scale_value`, else 1. Query `i` sees key `j` where
    `left_bound` and `right_bound` allow it: `i - left_bound < j <= i + right_bound`, counted
    from the diagonal; a bound that is absent or negative is none. So `right_bound = 0` is causal
    attention.
    """

    q = Operand("queries `[B, Hq, Sq, D]`")
    k = Operand("keys `[B, Hk, Skv, D]`")
    v = Operand("values `[B, Hv, Skv, Dv]`")
    attn_mask = OptionalOperand("summand of the scores, broadcasts to `[B, Hq, Sq, Skv]`")
    scale = OptionalOperand("factor of the scores", Form.SCALAR)
    seq_len_q = OptionalOperand("queries in use per batch, `i32`, `[B]` or `[B, 1, 1, 1]`")
    seq_len_kv = OptionalOperand("keys in use per batch, `i32`, `[B]` or `[B, 1, 1, 1]`")
    o = Result("attention `[B, Hq, Sq, Dv]`")
    stats = OptionalResult("logarithm of the sum of exponentials, `[B, Hq, Sq, 1]`")
    attn_scale_value = optional(FLOAT, "factor of the scores")
    generate_stats = optional(BOOL, "whether `stats` is a result")
    alibi_mask = defaulted(BOOL, False, "whether linear biases by distance are added")
    padding_mask = defaulted(BOOL, False, "whether `seq_len_q` and `seq_len_kv` hold")
    causal_mask = defaulted(BOOL, False, "old spelling of `right_bound = 0`")
    causal_mask_bottom_right = defaulted(
        BOOL, False, "old spelling of `right_bound = 0` aligned bottom right"
    )
    left_bound = optional(INT, "keys up to and including the diagonal that a query sees")
    right_bound = optional(INT, "keys after the diagonal that a query sees")
    diagonal_alignment = defaulted(
        enum_kind(DiagonalAlignment),
        DiagonalAlignment.TOP_LEFT,
        "whether the diagonal starts at the first query and key or ends at the last",
    )
    mma_core_mode = optional(TYPE, "type of the matrix units' operands")
    implementation = defaulted(
        enum_kind(AttentionImplementation), AttentionImplementation.AUTO, "how engines run it"
    )

    @property
    def is_causal(self) -> bool:
        """Whether no query sees a key after the diagonal, in either spelling."""
        return self.causal_mask or self.causal_mask_bottom_right or self.right_bound == 0

    def infer(self) -> dict[str, list[int]]:  # noqa: D102
        q, v = self._check_operands()
        return {"o": [*q[:3], v[3]], "stats": [*q[:3], 1]}

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        return ir.F32Type.get() if result == "stats" else super().infer_element_type(result)

    def verify(self) -> None:  # noqa: D102
        self._check_operands()
        self._check_mask()
        self._check_sequence_lengths()
        self._check_causal()
        if bool(self.generate_stats) != (self.stats is not None):
            raise self.error("expected result 'stats' exactly with 'generate_stats = true'")

    def _check_operands(self) -> tuple[list[int], list[int]]:
        q, k, v = (shape_of(value) for value in (self.q, self.k, self.v))
        for name, shape in (("q", q), ("k", k), ("v", v)):
            if len(shape) != 4:
                raise self.error(f"expected '{name}' of rank 4, but found rank {len(shape)}")
        for name, shape in (("k", k), ("v", v)):
            if shape[0] != q[0]:
                raise self.error(f"batch of '{name}' ({shape[0]}) differs from 'q' ({q[0]})")
            if q[1] % shape[1]:
                raise self.error(
                    f"heads of 'q' ({q[1]}) are not a multiple of heads of '{name}' ({shape[1]})"
                )
        if q[3] != k[3]:
            raise self.error(f"head size of 'k' ({k[3]}) differs from 'q' ({q[3]})")
        if k[2] != v[2]:
            raise self.error(f"sequence of 'v' ({v[2]}) differs from 'k' ({k[2]})")
        return q, v

    def _check_mask(self) -> None:
        if self.attn_mask is None:
            return
        q, mask = shape_of(self.q), shape_of(self.attn_mask)
        scores = [*q[:3], shape_of(self.k)[2]]
        if broadcast(mask, scores) != scores:
            raise self.error(
                f"'attn_mask' ({shape_text(mask)}) does not broadcast to the scores "
                f"({shape_text(scores)})"
            )

    def _check_sequence_lengths(self) -> None:
        batch = shape_of(self.q)[0]
        lengths = {"seq_len_q": self.seq_len_q, "seq_len_kv": self.seq_len_kv}
        for name, value in lengths.items():
            if self.padding_mask != (value is not None):
                raise self.error(f"expected '{name}' exactly with 'padding_mask = true'")
            if value is not None and shape_of(value) not in ([batch], [batch, 1, 1, 1]):
                raise self.error(
                    f"expected shape {batch} or {batch}x1x1x1 of '{name}', "
                    f"but found {shape_text(shape_of(value))}"
                )

    def _check_causal(self) -> None:
        if self.causal_mask and self.causal_mask_bottom_right:
            raise self.error("expected at most one of the two causal masks")
        has_bounds = self.left_bound is not None or self.right_bound is not None
        if has_bounds and (self.causal_mask or self.causal_mask_bottom_right):
            raise self.error("expected bounds or a causal mask, but found both")
