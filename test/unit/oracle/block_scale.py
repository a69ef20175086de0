"""Block scaling from its definition, with `ml_dtypes` for the small types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def repeat_blocks(scale: Array, blocks: Sequence[int], shape: Sequence[int]) -> Array:
    """Returns the scale of each element of `shape`."""
    for axis, block in enumerate(blocks):
        scale = np.repeat(scale, block, axis=axis)
    return scale[tuple(slice(extent) for extent in shape)]


def round_up(value: float, dtype: np.dtype[Any]) -> float:
    """Returns the smallest finite number of `dtype` that is not below `value`, else the largest."""
    bits = np.dtype(f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):  # the codes of signalling NaN
        codes = np.arange(2 ** (8 * dtype.itemsize), dtype=bits).view(dtype).astype(np.float64)
    finite = codes[np.isfinite(codes) & (codes >= 0)]
    above = finite[finite >= value]
    return float(above.min() if above.size else finite.max())


def quantize(x: Array, block: int, axis: int, element: Any, kind: Any) -> tuple[Array, Array]:
    """Returns y and scale in double precision."""
    x = np.moveaxis(x.astype(np.float64), axis, -1)
    blocks = x.reshape(*x.shape[:-1], -1, block)
    integer = np.issubdtype(element, np.integer)
    limit = float(np.iinfo(element).max if integer else ml_dtypes.finfo(element).max)
    scale = np.vectorize(lambda v: round_up(v, np.dtype(kind)))(
        np.abs(blocks).max(axis=-1, keepdims=True) / limit
    )
    ratio = np.clip(np.where(scale == 0, 0, blocks / np.where(scale == 0, 1, scale)), -limit, limit)
    rounded = np.rint(ratio) if integer else ratio.astype(element).astype(np.float64)
    y = np.moveaxis(rounded.reshape(x.shape), -1, axis)
    return y, np.moveaxis(scale[..., 0], -1, axis)
