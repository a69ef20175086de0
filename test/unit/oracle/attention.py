"""Attention in double precision, row by row from its definition."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def alibi_slopes(heads: int) -> list[float]:
    """A geometric series for 2ⁿ heads; more heads use the series of twice as many heads."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 / power * (head + 1)) for head in range(power)]
    if power < heads:
        slopes += alibi_slopes(2 * power)[::2][: heads - power]
    return slopes


def alibi(heads: int, queries: int, keys: int) -> Array:
    """Returns what ALiBi adds to the scores: `(key - query) · slope`."""
    distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    return np.array(alibi_slopes(heads))[:, None, None] * distance


def shared_heads(value: Array, heads: int) -> Array:
    """Repeats the heads of keys or values to match the heads of the queries."""
    return np.repeat(value, heads // value.shape[1], axis=1)


def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float = 1,
    bias: Array | float = 0,
    seen: NDArray[np.bool_] | None = None,
    sink: Array | None = None,
    kept: Array | float = 1,
) -> dict[str, Array]:
    """Returns `o`, `stats`, `max`, `sum_exp` and the weights `p`.

    Args:
        q: queries [B, H, Sq, D].
        k: keys, whose heads may be shared.
        v: values, whose heads may be shared.
        scale: factor of the scores.
        bias: summand of the scores.
        seen: mask of the scores that count, None for all; a row without any gives 0.
        sink: score per head [1, H, 1, 1] of a key that has no value.
        kept: factor of the weights.
    """
    k, v = shared_heads(k, q.shape[1]), shared_heads(v, q.shape[1])
    scores = scale * np.einsum("bhid,bhjd->bhij", q, k) + bias
    if seen is not None:
        scores = np.where(seen, scores, -math.inf)
    columns = scores
    if sink is not None:
        extra = np.broadcast_to(sink, (*scores.shape[:3], 1))
        columns = np.concatenate([scores, extra], axis=-1)
    highest = columns.max(axis=-1, keepdims=True)
    finite = np.where(np.isfinite(highest), highest, 0)
    total = np.exp(columns - finite).sum(axis=-1, keepdims=True)
    weights = np.exp(scores - finite) / np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        stats = highest + np.log(total)
    return {
        "o": np.einsum("bhij,bhjd->bhid", weights * kept, v),
        "stats": stats,
        "max": highest,
        "sum_exp": total,
        "p": weights,
    }
