"""Gradients by central differences, computed from the forward definition alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEP = 1e-5


def gradient(function: Callable[[Array], Array], x: Array, dy: Array) -> Array:
    """Returns the gradient of `Σ dy · function(x)` with respect to `x`."""
    result = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[place] += _STEP
        below[place] -= _STEP
        result[place] = np.sum(dy * (function(above) - function(below))) / (2 * _STEP)
    return result
