"""The maximum error of a sum of rounded products (Higham's bound)."""

from __future__ import annotations

import math

# Spacing of the numbers after 1.
EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def dynamic_tolerance(
    count: int, largest: tuple[float, float], result: float, element: str, compute: str = "f32"
) -> float:
    """Returns the absolute tolerance of a sum of products.

    Args:
        count: number of products in the sum.
        largest: largest magnitudes of the two factors.
        result: largest magnitude of the results.
        element: type that the result is rounded to.
        compute: type of the accumulator.
    """
    unit = 2 * count * EPSILON[compute]
    statistical = 6 * math.sqrt(2 * count) * EPSILON[compute]
    gamma = unit / (1 - unit) if unit < 0.01 else statistical
    bound = gamma * count * largest[0] * largest[1]
    return bound if element == compute else bound + result * EPSILON[element]
