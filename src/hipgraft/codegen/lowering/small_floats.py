"""Rounding to small floating-point types.

IREE 3.13.0's own conversions turn what rounds up to the smallest normal number into 0 (0.8 as
f4E2M1FN should be 1). So values are rounded first; the conversion is then exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter

_F32_BIAS = 127
_F32_MANTISSA = 23

# Bits of the mantissa, exponent of the smallest normal number.
_FORMATS = {
    "f4E2M1FN": (1, 0),
    "f8E4M3FN": (3, -6),
    "f8E4M3FNUZ": (3, -7),
    "f8E5M2": (2, -14),
    "f8E5M2FNUZ": (2, -15),
    "bf16": (7, -126),
    "f16": (10, -14),
}


def is_small(element: str) -> bool:
    """Whether conversions to `element` have to be prepared by `rounded`."""
    return element in _FORMATS and element not in ("bf16", "f16")


def rounded(
    scalars: ScalarEmitter, value: Scalar, element: str, rounding: str = "roundeven"
) -> Scalar:
    """Emits the multiple of the spacing of `element` around an f32 that is nearest.

    Args:
        scalars: where the ops go.
        value: an f32.
        element: the type whose numbers are so far apart.
        rounding: the op of the math dialect that chooses: `roundeven` or `ceil`.
    """
    mantissa, smallest = _FORMATS[element]

    def number(integer: int) -> Scalar:
        return scalars.constant(integer, "i32")

    def power_of_two(exponent: Scalar) -> Scalar:
        bits = scalars.op("arith.shli", exponent, number(_F32_MANTISSA))
        return scalars.bitcast(bits, "f32")

    bits = scalars.bitcast(value, "i32")
    exponent = scalars.op("arith.shrui", bits, number(_F32_MANTISSA))
    exponent = scalars.op("arith.andi", exponent, number(255))
    # The spacing itself is to be a normal f32.
    least = max(smallest + _F32_BIAS, mantissa + 1)
    exponent = scalars.op("arith.maxsi", exponent, number(least))
    spacing = power_of_two(scalars.op("arith.subi", exponent, number(mantissa)))
    inverse = number(2 * _F32_BIAS + mantissa)
    inverse = power_of_two(scalars.op("arith.subi", inverse, exponent))
    count = scalars.op(f"math.{rounding}", scalars.op("arith.mulf", value, inverse))
    return scalars.op("arith.mulf", count, spacing)
