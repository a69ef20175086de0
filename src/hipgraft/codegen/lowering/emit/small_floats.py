"""Rounding to the precision of small floating-point types."""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.scalar_builder import Scalar, ScalarBuilder

_F32_BIAS = 127
_F32_MANTISSA = 23

# Bits of the mantissa, and exponent of the smallest normal number.
_FORMATS = {
    "f4E2M1FN": (1, 0),
    "f8E4M3FN": (3, -6),
    "f8E4M3FNUZ": (3, -7),
    "f8E5M2": (2, -14),
    "f8E5M2FNUZ": (2, -15),
    "bf16": (7, -126),
    "f16": (10, -14),
}


def rounded(
    scalars: ScalarBuilder, value: Scalar, element: str, rounding: str = "roundeven"
) -> Scalar:
    """Rounds an f32 to a multiple of the spacing that `element` has at its magnitude.

    Args:
        scalars: where the ops go.
        value: an f32.
        element: the type with that spacing.
        rounding: the op of the math dialect that rounds: `roundeven` or `ceil`.
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
    # The spacing itself has to be a normal f32.
    least = max(smallest + _F32_BIAS, mantissa + 1)
    exponent = scalars.op("arith.maxsi", exponent, number(least))
    spacing = power_of_two(scalars.op("arith.subi", exponent, number(mantissa)))
    inverse = number(2 * _F32_BIAS + mantissa)
    inverse = power_of_two(scalars.op("arith.subi", inverse, exponent))
    count = scalars.op(f"math.{rounding}", scalars.op("arith.mulf", value, inverse))
    return scalars.op("arith.mulf", count, spacing)
