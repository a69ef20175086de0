"""Scaled dot-product attention, and its gradient."""

from __future__ import annotations

from math import prod

from hipgraft.dialects.framework.fields import (
    Form,
    Operand,
    OptionalOperand,
    OptionalResult,
    Result,
    defaulted,
    optional,
)
from hipgraft.dialects.framework.kinds import BOOL, INT, TYPE, enum_kind
from hipgraft.dialects.hipdnn.enums import AttentionImplementation
from hipgraft.dialects.hipdnn.ops.attention import AttentionOp
from hipgraft.dialects.hipdnn.shapes import shape_text
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape, element_type_of, shape_of

# Side of the blocks that `block_mask` is about.
BLOCK = 128


class SdpaOp(AttentionOp, mnemonic="sdpa"):
    """Scaled dot-product attention: `o = softmax(scale · q · kᵀ + attn_mask) · v`.

    Heads of `q` are a multiple of heads of `k` and of `v` (grouped queries). The scale is the
    operand `scale`, else `attn_scale_value`, else 1. Query `i` sees key `j` where
    `left_bound` and `right_bound` allow it: `i - left_bound < j <= i + right_bound`, counted
    from the diagonal; an absent or negative bound does not limit. So `right_bound = 0` is causal
    attention. With page tables, `k` and `v` hold pages `[pages, H, page size, D]`, and page `p`
    of batch `b` is `k[page_table_k[b, p]]`. With `seq_len_q` and `seq_len_kv`, or with ragged
    tensors, the last query and key of a batch are those in use.

    Dropout multiplies the weights by `dropout_mask` and `dropout_scale`. Without a mask, weight
    `n`, counted in row-major order, is kept if Philox 4x32-10 of key `seed` and counter
    `offset + n` gives at least `dropout_probability` as a fraction (its first word over 2³²), and
    multiplied by `dropout_scale`, else `1 / (1 - dropout_probability)`.
    """

    q = Operand("queries `[B, Hq, Sq, D]`")
    k = Operand("keys `[B, Hk, Skv, D]`")
    v = Operand("values `[B, Hv, Skv, Dv]`")
    attn_mask = OptionalOperand("summand of the scores, broadcasts to `[B, Hq, Sq, Skv]`")
    scale = OptionalOperand("factor of the scores", Form.SCALAR)
    seq_len_q = OptionalOperand("queries in use per batch, `i32`, `[B]` or `[B, 1, 1, 1]`")
    seq_len_kv = OptionalOperand("keys in use per batch, `i32`, `[B]` or `[B, 1, 1, 1]`")
    seed = OptionalOperand("seed of the dropout", Form.SCALAR)
    offset = OptionalOperand("offset of the dropout's random numbers", Form.SCALAR)
    dropout_mask = OptionalOperand("factor of the weights, broadcasts to `[B, Hq, Sq, Skv]`")
    dropout_scale = OptionalOperand("factor of the elements that the dropout keeps", Form.SCALAR)
    page_table_k = OptionalOperand("pages of the keys, `i32`, `[B, P]` or `[B, 1, P, 1]`")
    page_table_v = OptionalOperand("pages of the values, `i32`, `[B, P]` or `[B, 1, P, 1]`")
    block_mask = OptionalOperand(
        "which blocks of 128 by 128 scores count: bits of `ui8`, the lowest first, "
        "`[B, Hq, ⌈Sq / 128⌉, ⌈⌈Skv / 128⌉ / 8⌉]`"
    )
    sink_token = OptionalOperand("score of a key without value, `[Hq]` or `[1, Hq, 1, 1]`")
    descale_q = OptionalOperand("factor of `q`, for 8-bit floats: one, or `[B, Hk]`")
    descale_k = OptionalOperand("factor of `k`: one, or `[B, Hk]`")
    descale_v = OptionalOperand("factor of `v`: one, or `[B, Hv]`")
    descale_s = OptionalOperand("factor of the weights when they are read", Form.SCALAR)
    scale_s = OptionalOperand("factor of the weights when they are written", Form.SCALAR)
    scale_o = OptionalOperand("factor of `o`", Form.SCALAR)
    o = Result("attention `[B, Hq, Sq, Dv]`")
    stats = OptionalResult("logarithm of the sum of exponentials, `[B, Hq, Sq, 1]`")
    max = OptionalResult("largest score, `[B, Hq, Sq, 1]`")
    sum_exp = OptionalResult("sum of exponentials relative to `max`, `[B, Hq, Sq, 1]`")
    rng_dump = OptionalResult(
        "1 where the dropout keeps a weight, 0 where it drops it, `[B, Hq, Sq, Skv]`"
    )
    amax_s = OptionalResult("largest magnitude of the weights", Form.SCALAR)
    amax_o = OptionalResult("largest magnitude of `o`", Form.SCALAR)
    generate_stats = optional(BOOL, "whether `stats` is a result")
    max_seq_len_kv = optional(INT, "most keys per batch, where they lie in pages")
    mma_core_mode = optional(TYPE, "type of the matrix units' operands")
    implementation = defaulted(
        enum_kind(AttentionImplementation), AttentionImplementation.AUTO, "how engines run it"
    )

    @property
    def is_paged(self) -> bool:  # noqa: D102
        return self.page_table_k is not None or self.page_table_v is not None

    @property
    def keys(self) -> int:  # noqa: D102
        if self.is_paged and self.max_seq_len_kv is not None:
            return self.max_seq_len_kv
        if self.page_table_k is not None:
            pages = prod(shape_of(self.page_table_k)) // shape_of(self.q)[0]
            return pages * shape_of(self.k)[2]
        return shape_of(self.k)[2]

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        q, _, v = self.check_operands()
        rows = (*q[:3], 1)
        return {
            "o": (*q[:3], v[3]),
            "stats": rows,
            "max": rows,
            "sum_exp": rows,
            "rng_dump": self.scores_shape,
        }

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        return super().infer_element_type(result) if result == "o" else ir.F32Type.get()

    def verify(self) -> None:  # noqa: D102
        self.check_operands()
        super().verify()
        self._check_pages()
        self._check_blocks()
        self._check_descales()
        heads = shape_of(self.q)[1]
        if self.sink_token is not None and shape_of(self.sink_token) != (heads,):
            self.check_shape("sink_token", self.sink_token, [1, heads, 1, 1])
        if self.generate_stats is not None and self.generate_stats != (self.stats is not None):
            raise self.error("expected result 'stats' exactly with 'generate_stats = true'")

    def _check_blocks(self) -> None:
        if self.block_mask is None:
            return
        batch, heads, queries, keys = self.scores_shape
        blocks = -(-keys // BLOCK)
        shape = [batch, heads, -(-queries // BLOCK), -(-blocks // 8)]
        self.check_shape("block_mask", self.block_mask, shape)
        kind = element_type_of(self.block_mask)
        if not isinstance(kind, ir.IntegerType) or kind.width != 8:
            raise self.error(f"expected 8-bit integers in 'block_mask', but found {kind}")

    def _check_descales(self) -> None:
        heads = {
            "descale_q": (self.descale_q, self.k),
            "descale_k": (self.descale_k, self.k),
            "descale_v": (self.descale_v, self.v),
        }
        for name, (value, of) in heads.items():
            shape = (1,) if value is None else shape_of(value)
            per_head = (shape_of(self.q)[0], shape_of(of)[1])
            if prod(shape) != 1 and shape not in (per_head, (*per_head, 1, 1)):
                raise self.error(
                    f"expected one element, or shape {shape_text(per_head)}, of '{name}', "
                    f"but found {shape_text(shape)}"
                )

    def _check_pages(self) -> None:
        batch = shape_of(self.q)[0]
        tables = {"page_table_k": self.page_table_k, "page_table_v": self.page_table_v}
        for name, value in tables.items():
            shape = () if value is None else shape_of(value)
            pages = prod(shape) // batch
            if shape and shape not in ((batch, pages), (batch, 1, pages, 1)):
                raise self.error(
                    f"expected shape {batch}xP or {batch}x1xPx1 of '{name}', "
                    f"but found {shape_text(shape)}"
                )
        if (self.page_table_k is None) != (self.page_table_v is None):
            raise self.error("expected both or none of 'page_table_k' and 'page_table_v'")


class SdpaBackwardOp(AttentionOp, mnemonic="sdpa_backward"):
    """Gradients of scaled dot-product attention.

    With the weights `p = exp(scale · q · kᵀ + attn_mask - stats)` and
    `ds = p · (do · vᵀ - Σ do · o)`: `dv = pᵀ · do`, `dq = scale · ds · k`,
    `dk = scale · dsᵀ · q` and `dbias = ds`. Gradients of a head of `k` and `v` that several
    heads of `q` share are summed, as is `dbias` where `attn_mask` broadcasts.
    """

    q = Operand("queries `[B, Hq, Sq, D]`")
    k = Operand("keys `[B, Hk, Skv, D]`")
    v = Operand("values `[B, Hv, Skv, Dv]`")
    o = Operand("attention `[B, Hq, Sq, Dv]`")
    do = Operand("gradient of `o`")
    stats = Operand("logarithm of the sum of exponentials, `[B, Hq, Sq, 1]` or `[B, Hq, Sq]`")
    scale = OptionalOperand("factor of the scores", Form.SCALAR)
    attn_mask = OptionalOperand("summand of the scores, broadcasts to `[B, Hq, Sq, Skv]`")
    seq_len_q = OptionalOperand("queries in use per batch, `i32`, `[B]` or `[B, 1, 1, 1]`")
    seq_len_kv = OptionalOperand("keys in use per batch, `i32`, `[B]` or `[B, 1, 1, 1]`")
    seed = OptionalOperand("seed of the dropout", Form.SCALAR)
    offset = OptionalOperand("offset of the dropout's random numbers", Form.SCALAR)
    dropout_mask = OptionalOperand("factor of the weights, broadcasts to `[B, Hq, Sq, Skv]`")
    dropout_scale = OptionalOperand("factor of the elements that the dropout keeps", Form.SCALAR)
    dropout_scale_inv = OptionalOperand("inverse of `dropout_scale`", Form.SCALAR)
    dq = Result("gradient of `q`")
    dk = Result("gradient of `k`")
    dv = Result("gradient of `v`")
    dbias = OptionalResult("gradient of `attn_mask`")

    def infer(self) -> dict[str, Shape]:  # noqa: D102
        q, k, v = self.check_operands()
        gradients = {"dq": q, "dk": k, "dv": v}
        if self.attn_mask is not None:
            gradients["dbias"] = shape_of(self.attn_mask)
        return gradients

    def infer_element_type(self, result: str) -> ir.Type:  # noqa: D102
        if result == "dbias" and self.attn_mask is not None:
            return element_type_of(self.attn_mask)
        return super().infer_element_type(result)

    def verify(self) -> None:  # noqa: D102
        q, _, v = self.check_operands()
        super().verify()
        self.check_shape("o", self.o, [*q[:3], v[3]])
        self.check_shape("do", self.do, [*q[:3], v[3]])
        if shape_of(self.stats) != q[:3]:
            self.check_shape("stats", self.stats, [*q[:3], 1])
        if self.dbias is not None and self.attn_mask is None:
            raise self.error("yields 'dbias', but takes no 'attn_mask'")
