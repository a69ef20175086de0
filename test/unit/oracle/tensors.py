"""Convolution, matrix product, reduction, norms and attention in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Array = NDArray[np.float64]


def conv(
    x: Array,
    w: Array,
    *,
    pre: Sequence[int],
    post: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Array:
    """`y[n, k, p] = Σ x[n, c, p·stride + r·dilation - pre] · w[k, c, r]`, in groups."""
    groups = x.shape[1] // w.shape[1]
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pre, post, strict=True)])
    outputs = []
    for group in range(groups):
        channels = padded[:, group * w.shape[1] : (group + 1) * w.shape[1]]
        size = w.shape[0] // groups
        outputs.append(_conv(channels, w[group * size : (group + 1) * size], stride, dilation))
    return np.concatenate(outputs, axis=1)


def _conv(x: Array, w: Array, stride: Sequence[int], dilation: Sequence[int]) -> Array:
    spatial = range(2, x.ndim)
    extents = [(w.shape[dim] - 1) * dilation[dim - 2] + 1 for dim in spatial]
    windows = sliding_window_view(x, extents, axis=tuple(spatial))
    steps = tuple(slice(None, None, step) for step in stride)
    taps = tuple(slice(None, None, step) for step in dilation)
    windows = windows[(slice(None), slice(None), *steps, *taps)]
    out, window = "pqr"[: x.ndim - 2], "stu"[: x.ndim - 2]
    return np.einsum(f"nc{out}{window},kc{window}->nk{out}", windows, w)


def reduce(mode: str, x: Array, axes: tuple[int, ...]) -> Array:
    """hipDNN's reduction modes, keeping reduced dimensions."""
    functions: dict[str, Callable[..., Array]] = {
        "ADD": np.sum,
        "MUL": np.prod,
        "MIN": np.min,
        "MAX": np.max,
        "AMAX": lambda v, **kw: np.max(np.abs(v), **kw),
        "AVG": np.mean,
        "NORM1": lambda v, **kw: np.sum(np.abs(v), **kw),
        "NORM2": lambda v, **kw: np.sqrt(np.sum(v * v, **kw)),
        "MUL_NO_ZEROS": lambda v, **kw: np.prod(np.where(v == 0, 1, v), **kw),
    }
    return functions[mode](x, axis=axes, keepdims=True)


def layernorm(
    x: Array, scale: Array, bias: Array, epsilon: float, axes: tuple[int, ...]
) -> tuple[Array, Array, Array]:
    """Returns y, mean and inverse standard deviation."""
    mean = x.mean(axis=axes, keepdims=True)
    inverse = 1 / np.sqrt(x.var(axis=axes, keepdims=True) + epsilon)
    return (x - mean) * inverse * scale + bias, mean, inverse


def rmsnorm(x: Array, scale: Array, epsilon: float, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Returns y and the inverse root mean square."""
    inverse = 1 / np.sqrt((x * x).mean(axis=axes, keepdims=True) + epsilon)
    return x * inverse * scale, inverse


def visible(
    queries: int, keys: int, *, left: int | None, right: int | None, bottom_right: bool
) -> NDArray[np.bool_]:
    """Returns which keys each query sees: `i - left < j <= i + right`, from the diagonal."""
    i = np.arange(queries)[:, None] + (keys - queries if bottom_right else 0)
    j = np.arange(keys)[None, :]
    seen = np.ones((queries, keys), np.bool_)
    if right is not None:
        seen &= j <= i + right
    if left is not None:
        seen &= j > i - left
    return seen


def sdpa(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float = 1,
    seen: NDArray[np.bool_] | None = None,
    bias: Array | None = None,
) -> tuple[Array, Array]:
    """Returns attention and the log-sum-exp; a row that sees no key is 0."""
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], axis=1) for t in (k, v))
    scores = scale * np.einsum("bhmd,bhnd->bhmn", q, k)
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores = np.where(seen, scores, -math.inf)
    highest = np.max(scores, axis=-1, keepdims=True)
    highest = np.where(np.isfinite(highest), highest, 0)
    powers = np.exp(scores - highest)
    total = powers.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        stats = highest + np.log(total)
    weights = powers / np.where(total == 0, 1, total)
    return np.einsum("bhmn,bhnd->bhmd", weights, v), stats


def conv_gradients(
    x: Array,
    w: Array,
    dy: Array,
    *,
    pre: Sequence[int],
    post: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> tuple[Array, Array]:
    """Returns dx and dw: for each tap of the window, the products that it takes part in."""
    groups = x.shape[1] // w.shape[1]
    padded = np.pad(x, [(0, 0), (0, 0), *zip(pre, post, strict=True)])
    dx, dw = np.zeros(padded.shape), np.zeros(w.shape)
    for group in range(groups):
        inputs = slice(group * w.shape[1], (group + 1) * w.shape[1])
        size = w.shape[0] // groups
        outputs = slice(group * size, (group + 1) * size)
        gradient = dy[:, outputs]
        for r in np.ndindex(w.shape[2:]):
            # The elements that this tap multiplies, one per position.
            taken = (
                slice(tap * spread, tap * spread + (count - 1) * step + 1, step)
                for tap, count, step, spread in zip(r, dy.shape[2:], stride, dilation, strict=True)
            )
            read, tap = (slice(None), inputs, *taken), (outputs, slice(None), *r)
            dx[read] += np.swapaxes(np.tensordot(w[tap], gradient, ([0], [1])), 0, 1)
            summed = [0, *range(2, dy.ndim)]
            dw[tap] += np.tensordot(gradient, padded[read], (summed, summed))
    inner = [slice(before, before + n) for before, n in zip(pre, x.shape[2:], strict=True)]
    return dx[(slice(None), slice(None), *inner)], dw


def pool(
    mode: str,
    x: Array,
    *,
    window: Sequence[int],
    pre: Sequence[int],
    post: Sequence[int],
    stride: Sequence[int],
    outside: float,
) -> Array:
    """Maximum or mean of each window; padding holds `outside` for a maximum and 0 for a mean."""
    around = [(0, 0), (0, 0), *zip(pre, post, strict=True)]
    value = outside if mode == "MAXPOOL" else 0
    axes = tuple(range(2, x.ndim))
    steps = (slice(None), slice(None), *(slice(None, None, step) for step in stride))

    def windows(values: Array) -> Array:
        return sliding_window_view(values, window, axis=axes)[steps]

    padded = windows(np.pad(x, around, constant_values=value))
    inner = tuple(range(-len(window), 0))
    if mode == "MAXPOOL":
        return padded.max(axis=inner)
    if mode == "AVGPOOL_INCLUDE_PADDING":
        return padded.mean(axis=inner)
    return padded.sum(axis=inner) / windows(np.pad(np.ones(x.shape), around)).sum(axis=inner)
