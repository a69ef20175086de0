"""Grouped matrix products, group by group."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def groups(offsets: Array, rows: int) -> list[range]:
    """Returns the routed rows of each group."""
    ends = [*offsets[1:], rows]
    return [range(start, end) for start, end in zip(offsets, ends, strict=True)]


def grouped_matmul(
    token: Array,
    weight: Array,
    offsets: Array,
    *,
    index: Array | None = None,
    choice: Array | None = None,
    top_k: int = 0,
    rows: int | None = None,
) -> Array:
    """Returns the products; with `choice` they are scattered, with `index` alone gathered."""
    routed = token.shape[0] if index is None else len(index)
    output = np.zeros((rows or routed, weight.shape[2]))
    for group, members in enumerate(groups(offsets, routed)):
        for row in members:
            source = row if index is None or choice is not None else index[row]
            target = row if index is None or choice is None else index[row] * top_k + choice[row]
            output[target] = token[source] @ weight[group % weight.shape[0]]
    return output


def weight_gradient(token: Array, doutput: Array, offsets: Array) -> Array:
    """Returns the gradient of each expert's weights."""
    members = groups(offsets, token.shape[0])
    return np.stack([token[rows].T @ doutput[rows] for rows in members])
