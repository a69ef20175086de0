"""Compares results with expected values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]

_TOLERANCES = {
    "float64": 3e-5,
    "float32": 3e-5,
    "float16": 2.0**-8,
    "bfloat16": 2.0**-5,
}
"""Tolerances by element type, relative to the largest magnitude; other types must be equal.

They are four times the spacing of the half types at 1. Correct models of up to a dozen layers,
which accumulate in f32, stay within one spacing, as onnxruntime does; in f32 they stay within 1e-6,
or 1e-5 for deep models. Results computed from wrong elements are off by 1e-2 or more.
"""


@dataclass(frozen=True)
class Comparison:
    """The difference between a result and its expected values.

    Attributes:
        max_absolute: largest absolute difference.
        max_relative: largest absolute difference over the largest expected magnitude.
        ok: whether every element is within tolerance.
    """

    max_absolute: float
    max_relative: float
    ok: bool


def tolerance(dtype: np.dtype[Any]) -> float:
    """Returns the default tolerance of an element type, for a kernel or a whole program."""
    return _TOLERANCES.get(dtype.name, 0.0)


def compare(got: Array, expected: Array, rtol: float, atol: float) -> Comparison:
    """Compares a result with its expected values.

    An element may differ by `atol` plus `rtol` times the largest expected magnitude: in a long
    computation the small elements carry the rounding of the large ones.
    """
    if got.shape != expected.shape or got.size == 0:
        return Comparison(0.0, 0.0, got.shape == expected.shape)
    x, y = got.astype(np.float64), expected.astype(np.float64)
    special = ~np.isfinite(y)
    same_special = bool(np.array_equal(x[special], y[special], equal_nan=True))
    difference = np.abs(np.where(special, 0.0, x) - np.where(special, 0.0, y))
    scale = float(np.max(np.abs(np.where(special, 0.0, y))))
    largest = float(np.max(difference))
    relative = largest / scale if scale else largest
    return Comparison(largest, relative, same_special and largest <= atol + rtol * scale)
