"""Rounding to the precision of small floating-point types."""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.scalar_builder import Scalar, ScalarBuilder
from hipgraft.ir.dtypes import float_info

_F32_BIAS = 127
_F32_MANTISSA = 23


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
    info = float_info(element)
    mantissa, smallest = int(info.nmant), int(info.minexp)

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
