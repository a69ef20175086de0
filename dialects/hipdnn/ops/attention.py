"""Common base of scaled dot-product attention and its gradient."""

from __future__ import annotations

from hipgraft.dialects.framework.fields import Operand, OptionalOperand, defaulted, optional
from hipgraft.dialects.framework.kinds import BOOL, FLOAT, INT, enum_kind
from hipgraft.dialects.hipdnn.enums import DiagonalAlignment
from hipgraft.dialects.hipdnn.op import ComputeOp
from hipgraft.dialects.hipdnn.shapes import broadcast, shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, shape_of


class AttentionOp(ComputeOp):
    """Scores and masks: the attributes, and the rules about the operands."""

    q: Operand
    k: Operand
    v: Operand
    scale: OptionalOperand
    attn_mask: OptionalOperand
    seq_len_q: OptionalOperand
    seq_len_kv: OptionalOperand
    seed: OptionalOperand
    offset: OptionalOperand
    dropout_mask: OptionalOperand
    dropout_scale: OptionalOperand

    attn_scale_value = optional(FLOAT, "factor of the scores")
    alibi_mask = defaulted(
        BOOL,
        False,
        "whether ALiBi's `(key - query) · slope` of the head is added to the scores",
    )
    padding_mask = defaulted(BOOL, False, "whether there must be `seq_len_q` and `seq_len_kv`")
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
    dropout_probability = optional(FLOAT, "probability that a weight is dropped")

    @property
    def is_causal(self) -> bool:
        """Whether no query sees a key after the diagonal, in either spelling."""
        return self.causal_mask or self.causal_mask_bottom_right or self.right_bound == 0

    @property
    def is_paged(self) -> bool:
        """Whether keys and values are stored in pages."""
        return False

    @property
    def scores_shape(self) -> Shape:
        """Shape `[B, Hq, Sq, Skv]` of the scores."""
        return (*shape_of(self.q)[:3], self.keys)

    @property
    def keys(self) -> int:
        """Number of keys per batch."""
        return shape_of(self.k)[2]

    def verify(self) -> None:  # noqa: D102
        self._check_summand("attn_mask", self.attn_mask)
        self._check_summand("dropout_mask", self.dropout_mask)
        self._check_sequence_lengths()
        self._check_causal()
        self._check_dropout()

    def check_operands(self) -> tuple[Shape, Shape, Shape]:
        """Returns the shapes of `q`, `k` and `v`.

        Raises:
            VerifyError: they do not fit together.
        """
        q, k, v = (shape_of(value) for value in (self.q, self.k, self.v))
        for name, shape in (("q", q), ("k", k), ("v", v)):
            if len(shape) != 4:
                raise self.error(f"expected '{name}' of rank 4, but found rank {len(shape)}")
        for name, shape in (("k", k), ("v", v)):
            if shape[0] != q[0] and not self.is_paged:
                raise self.error(f"batch of '{name}' ({shape[0]}) differs from 'q' ({q[0]})")
            if q[1] % shape[1]:
                raise self.error(
                    f"heads of 'q' ({q[1]}) are not a multiple of heads of '{name}' ({shape[1]})"
                )
        if q[3] != k[3]:
            raise self.error(f"head size of 'k' ({k[3]}) differs from 'q' ({q[3]})")
        if k[2] != v[2] and not self.is_paged:
            raise self.error(f"sequence of 'v' ({v[2]}) differs from 'k' ({k[2]})")
        return q, k, v

    def _check_summand(self, name: str, value: ir.Value | None) -> None:
        if value is None:
            return
        mask, scores = shape_of(value), self.scores_shape
        if broadcast(mask, scores) != scores:
            raise self.error(
                f"'{name}' ({shape_text(mask)}) does not broadcast to the scores "
                f"({shape_text(scores)})"
            )

    def _check_sequence_lengths(self) -> None:
        batch = shape_of(self.q)[0]
        lengths = {"seq_len_q": self.seq_len_q, "seq_len_kv": self.seq_len_kv}
        for name, value in lengths.items():
            if self.padding_mask and value is None:
                raise self.error(f"requires operand '{name}' with 'padding_mask = true'")
            if value is not None and shape_of(value) not in ((batch,), (batch, 1, 1, 1)):
                raise self.error(
                    f"expected shape {batch} or {batch}x1x1x1 of '{name}', "
                    f"but found {shape_text(shape_of(value))}"
                )

    def _check_causal(self) -> None:
        if self.causal_mask and self.causal_mask_bottom_right:
            raise self.error("expected at most one of the two causal masks")
        is_masked = self.causal_mask or self.causal_mask_bottom_right
        if is_masked and self.right_bound not in (None, 0):
            raise self.error(
                f"expected 'right_bound' 0 with a causal mask, but found {self.right_bound}"
            )

    def _check_dropout(self) -> None:
        probability = self.dropout_probability
        if probability is not None and not 0 <= probability < 1:
            raise self.error(f"expected 'dropout_probability' in [0, 1), but found {probability}")
        if (self.seed is None) != (self.offset is None):
            raise self.error("expected both or none of 'seed' and 'offset'")
