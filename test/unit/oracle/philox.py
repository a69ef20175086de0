"""Philox 4x32-10 on arrays of counters, from its definition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counters: Words, key: int) -> list[Words]:
    """Returns the four words of each counter.

    Args:
        counters: the four words of each, `[4, ...]`.
        key: 64 bits.
    """
    c0, c1, c2, c3 = (counters[word] for word in range(4))
    k0, k1 = np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & _LOW, (k1 + np.uint64(0xBB67AE85)) & _LOW
    return [c0, c1, c2, c3]


def kept(shape: tuple[int, ...], probability: float, seed: int, offset: int) -> NDArray[np.float64]:
    """Returns 1 for the weights that a dropout keeps; element `n` uses counter `offset + n`."""
    position = np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(offset)
    zero = np.zeros_like(position)
    word = philox(np.stack([position & _LOW, position >> _HALF, zero, zero]), seed)[0]
    return ((word >> np.uint64(8)) / 2.0**24 >= probability).astype(np.float64).reshape(shape)
