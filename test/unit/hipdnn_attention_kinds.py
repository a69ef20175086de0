"""Attention graphs in the forms that hipDNN's users store, with inputs and expected results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hipdnn_graphs import (
    MASKS,
    SDPA,
    Json,
    attention_inputs,
    attention_outputs,
    graph,
    node,
    pointwise,
    scalar,
    tensor,
    uids,
)
from oracle import tensors as oracle
from oracle.attention import attend
from oracle.gradients import gradient

Array = np.ndarray[Any, np.dtype[Any]]

random = np.random.default_rng(83)


@dataclass(frozen=True)
class Kind:
    """A graph with its inputs and expected results, both in the order of its tensors."""

    source: Json
    inputs: Sequence[Array]
    expected: Sequence[Array]
    tolerance: float = 1e-5


def uniform(*shape: int, dtype: Any = np.float32) -> Array:
    return random.uniform(-1, 1, shape).astype(dtype)


def wide(*values: Array) -> list[Array]:
    return [value.astype(np.float64) for value in values]


def attention(
    tensors: Sequence[Json], operands: dict[str, int], results: dict[str, int], **fields: Any
) -> Json:
    attributes = SDPA | {"attn_scale_value": 0.25, "right_bound": -1} | fields
    one = node(
        "SdpaAttributes",
        inputs=attention_inputs(**operands),
        outputs=attention_outputs(**results),
        attributes=attributes,
    )
    return graph([one], list(tensors))


Q, K, O = [2, 4, 5, 16], [2, 2, 7, 16], [2, 4, 5, 16]  # noqa: E741 - hipDNN's names
BSHD = [320, 16, 64, 1]


def masked_attention(mask: Sequence[int]) -> Kind:
    """An additive mask of the scores: minus infinity where a query must not attend to a key."""
    q, k, v = uniform(*Q, dtype=np.float16), uniform(*K, dtype=np.float16), uniform(*K)
    v = v.astype(np.float16)
    bias = np.where(uniform(*mask) > 0.5, -np.inf, uniform(*mask)).astype(np.float16)
    bias[..., 0] = 0
    seen = attend(*wide(q, k, v), scale=0.25, bias=bias.astype(np.float64))
    source = attention(
        [
            tensor(1, Q, "half", strides=BSHD),
            tensor(2, K, "half"),
            tensor(3, K, "half"),
            tensor(4, list(mask), "half"),
            tensor(5, O, "half", strides=BSHD),
            tensor(6, [2, 4, 5, 1]),
        ],
        {"q": 1, "k": 2, "v": 3, "attn_mask": 4},
        {"o": 5, "stats": 6},
        generate_stats=True,
    )
    return Kind(source, [q, k, v, bias], [seen["o"], seen["stats"]], 4e-3)


def boolean_mask() -> Kind:
    """A mask of booleans picks the scores or minus infinity, before the sums of a softmax."""
    a, b, mask = uniform(2, 5, 16), uniform(2, 16, 7), uniform(1, 5, 7) > -0.3
    mask[..., 0] = True
    scores = np.where(mask, a.astype(np.float64) @ b, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores_dims, row = [2, 5, 7], [2, 5, 1]
    reductions = (("MAX", 6, 7), ("ADD", 9, 10))
    sums = [
        node("ReductionAttributes", mode, mode=mode, is_deterministic=False, **uids(in_=x, out=y))
        for mode, x, y in reductions
    ]
    source = graph(
        [
            node("MatmulAttributes", "scores", inputs=uids(a=1, b=2), outputs=uids(c=5)),
            pointwise("binary_select", 5, 4, 3, out=6, name="mask"),
            sums[0],
            pointwise("sub", 6, 7, out=8, name="shift"),
            pointwise("exp", 8, out=9, name="exponential"),
            sums[1],
            pointwise("div", 9, 10, out=11, name="weights"),
        ],
        [
            tensor(1, [2, 5, 16]),
            tensor(2, [2, 16, 7], strides=[112, 1, 16]),
            tensor(3, [1, 5, 7], "boolean"),
            scalar(4, -1e30),
            *(
                tensor(uid, dims, virtual=True)
                for uid, dims in (
                    (5, scores_dims), (6, scores_dims), (7, row),
                    (8, scores_dims), (9, scores_dims), (10, row),
                )
            ),
            tensor(11, scores_dims),
        ],
    )  # fmt: skip
    return Kind(source, [a, b, mask], [weights / weights.sum(axis=-1, keepdims=True)])


def attention_of_a_boolean_mask() -> Kind:
    """A boolean mask, which is true where a query attends to a key."""
    q, k, v = uniform(*Q), uniform(*K), uniform(*K)
    mask = uniform(2, 1, 5, 7) > -0.3
    mask[..., 0] = True
    expected = attend(*wide(q, k, v), scale=0.25, seen=mask)["o"]
    source = attention(
        [
            *(tensor(uid, dims) for uid, dims in ((1, Q), (2, K), (3, K))),
            tensor(4, [2, 1, 5, 7], "boolean"),
            tensor(5, O),
        ],
        {"q": 1, "k": 2, "v": 3, "attn_mask": 4},
        {"o": 5},
    )
    return Kind(source, [q, k, v, mask], [expected])


def in_use(lengths: Sequence[int], size: int) -> Array:
    return np.arange(size) < np.array(lengths)[:, None]


def padded_attention() -> Kind:
    """Sequences shorter than the tensors; rows beyond their ends are 0."""
    q, k, v = uniform(*Q), uniform(*K), uniform(*K)
    queries, keys = [5, 3], [7, 4]
    seen = in_use(queries, 5)[:, None, :, None] & in_use(keys, 7)[:, None, None, :]
    expected = attend(*wide(q, k, v), scale=0.25, seen=seen)["o"]
    source = attention(
        [
            *(tensor(uid, dims) for uid, dims in ((1, Q), (2, K), (3, K))),
            tensor(4, [2, 1, 1, 1], "int32"),
            tensor(5, [2, 1, 1, 1], "int32"),
            tensor(6, O),
        ],
        {"q": 1, "k": 2, "v": 3, "seq_len_q": 4, "seq_len_kv": 5},
        {"o": 6},
        padding_mask=True,
    )
    lengths = [np.array(one, np.int32).reshape(2, 1, 1, 1) for one in (queries, keys)]
    return Kind(source, [q, k, v, *lengths], [expected])


def paged_attention() -> Kind:
    """One token per sequence, as in decoding; pages of 4 keys, in any order."""
    q, pages = uniform(2, 4, 1, 16, dtype=np.float16), uniform(6, 2, 4, 16, dtype=np.float16)
    values = uniform(6, 2, 4, 16, dtype=np.float16)
    table, lengths = np.array([[4, 1, 0], [2, 5, 3]], np.int32), [10, 5]
    k, v = (
        np.moveaxis(one.astype(np.float64)[table], 2, 1).reshape(2, 2, 12, 16)
        for one in (pages, values)
    )
    seen = in_use(lengths, 12)[:, None, None, :]
    expected = attend(q.astype(np.float64), k, v, scale=0.25, seen=seen)["o"]
    source = attention(
        [
            tensor(1, [2, 4, 1, 16], "half"),
            tensor(2, [6, 2, 4, 16], "half"),
            tensor(3, [6, 2, 4, 16], "half"),
            tensor(4, [2, 1, 1, 1], "int32"),
            tensor(5, [2, 1, 1, 1], "int32"),
            tensor(6, [2, 1, 3, 1], "int32"),
            tensor(7, [2, 1, 3, 1], "int32"),
            tensor(8, [2, 4, 1, 16], "half"),
        ],
        {
            "q": 1, "k": 2, "v": 3, "seq_len_q": 4, "seq_len_kv": 5,
            "page_table_k": 6, "page_table_v": 7,
        },
        {"o": 8},
        padding_mask=True,
        max_seq_len_kv=12,
    )  # fmt: skip
    ones = np.ones((2, 1, 1, 1), np.int32)
    keys = np.array(lengths, np.int32).reshape(2, 1, 1, 1)
    tables = [table.reshape(2, 1, 3, 1)] * 2
    return Kind(source, [q, pages, values, ones, keys, *tables], [expected], 4e-3)


def attention_gradients() -> Kind:
    """Causal from the upper left, with shared key heads and tokens outermost in memory."""
    q, k, v = uniform(*Q), uniform(*K), uniform(*K)
    do, exact = uniform(*O), wide(q, k, v)
    seen = oracle.visible(5, 7, left=None, right=0, bottom_right=False)
    forward = attend(*exact, scale=0.25, seen=seen)
    expected = [
        gradient(
            lambda x, at=at: attend(*exact[:at], x, *exact[at + 1 :], scale=0.25, seen=seen)["o"],
            exact[at],
            do.astype(np.float64),
        )
        for at in range(3)
    ]
    operands = uids(q=1, k=2, v=3, o=4, do=5, stats=6)
    one = node(
        "SdpaBackwardAttributes",
        inputs=operands,
        outputs=uids(dq=7, dk=8, dv=9, dbias=None),
        parameters=MASKS | {"attn_scale_value": 0.25, "diagonal_alignment": "TOP_LEFT"},
    )
    by_tokens = {"strides": BSHD}
    dims = [(1, Q), (4, O), (5, O), (7, Q)]
    rows = {uid: tensor(uid, size, **by_tokens) for uid, size in dims}
    keys = {uid: tensor(uid, K) for uid in (2, 3, 8, 9)}
    tensors = rows | keys | {6: tensor(6, [2, 4, 5, 1])}
    source = graph([one], [tensors[uid] for uid in sorted(tensors)])
    saved = [forward[name].astype(np.float32) for name in ("o", "stats")]
    return Kind(source, [q, k, v, saved[0], do, saved[1]], expected, 1e-4)


ATTENTION: dict[str, Callable[[], Kind]] = {
    "mask": lambda: masked_attention([2, 4, 5, 7]),
    "mask_of_all_heads": lambda: masked_attention([1, 1, 5, 7]),
    "mask_by_select": boolean_mask,
    "mask_of_booleans": attention_of_a_boolean_mask,
    "padding": padded_attention,
    "pages": paged_attention,
    "attention_gradients": attention_gradients,
}
