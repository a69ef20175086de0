"""Converts and rounds to floating-point types of 8 bits or fewer by arithmetic on their bits.

The compiler converts such a type only on architectures that have instructions for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.lowering.emit.scalar_builder import Scalar, ScalarBuilder
from hipgraft.ir.dtypes import float_info

_F32_MANTISSA, _F32_BIAS = 23, 127
_F32_INFINITY, _F32_NAN, _F32_SIGN = 0x7F800000, 0x7FC00000, -(1 << 31)
_F16_EXPONENT, _F16_MANTISSA, _F16_BIAS, _F16_NAN = 5, 10, 15, 0x7E00


@dataclass(frozen=True)
class SmallFloat:
    """A floating-point format.

    Attributes:
        exponent: bits of the exponent.
        mantissa: bits of the mantissa.
        bias: bias of the exponent.
        has_infinity: whether the largest exponent encodes infinities and NaN, as in IEEE 754.
        negative_zero_is_nan: whether the bits of -0 encode the only NaN.
        has_nan: whether there is a NaN.
    """

    exponent: int
    mantissa: int
    bias: int
    has_infinity: bool = False
    negative_zero_is_nan: bool = False
    has_nan: bool = True

    @property
    def width(self) -> int:
        """The width of an element in bits."""
        return 1 + self.exponent + self.mantissa

    @property
    def sign_bit(self) -> int:
        """The bits of -0."""
        return 1 << (self.width - 1)

    @property
    def largest(self) -> int:
        """The bits of the largest finite number."""
        if self.has_infinity:
            return (((1 << self.exponent) - 1) << self.mantissa) - 1
        ones = self.sign_bit - 1
        return ones - 1 if self.has_nan and not self.negative_zero_is_nan else ones

    @property
    def overflow(self) -> int:
        """The bits for overflow: infinity or NaN, or the largest number without either."""
        if self.negative_zero_is_nan:
            return self.sign_bit
        return self.largest + 1 if self.has_nan else self.largest

    @property
    def nan(self) -> int:
        """The bits of a NaN; the largest number if there is none."""
        return self.sign_bit if self.negative_zero_is_nan else self.sign_bit - 1


FORMATS = {
    "f8E4M3FN": SmallFloat(4, 3, 7),
    "f8E5M2": SmallFloat(5, 2, 15, has_infinity=True),
    "f8E4M3FNUZ": SmallFloat(4, 3, 8, negative_zero_is_nan=True),
    "f8E5M2FNUZ": SmallFloat(5, 2, 16, negative_zero_is_nan=True),
    "f4E2M1FN": SmallFloat(2, 1, 1, has_nan=False),
}
"""Formats by MLIR's name. f8E8M0FNU has only an exponent and converts on all architectures."""

BYTES = {name: form for name, form in FORMATS.items() if form.width == 8}
"""The formats of 8 bits."""


def decode(scalars: ScalarBuilder, bits: Scalar, form: SmallFloat) -> Scalar:
    """Emits the number that `bits`, an i32, encodes in `form`, as f16, which holds all of them.

    The bits are shifted to their positions in f16. A multiplication by the ratio of the formats'
    units then corrects the exponent.
    """
    placed = _shifted(scalars, "arith.shli", bits, 16 - form.width)
    placed = scalars.convert("arith.trunci", placed, "i16")
    more = _F16_EXPONENT - form.exponent
    if more:  # copies of the sign come before the exponent
        copies = ((1 << more) - 1) << (15 - more)
        placed = _masked(scalars, _shifted(scalars, "arith.shrsi", placed, more), ~copies)
    unit = scalars.constant(2.0 ** (_F16_BIAS - form.bias), "f16")
    if not more and not form.has_infinity:  # the largest exponent of f16 means infinities and NaN
        half = 1 << (_F16_EXPONENT - 2)
        top = scalars.constant(1 << (form.width - 2), "i32")
        is_large = scalars.compare("eq", scalars.op("arith.andi", bits, top), top)
        less = scalars.constant(half << _F16_MANTISSA, "i16")
        less = scalars.op("arith.subi", placed, less)
        placed = scalars.select(is_large, less, placed)
        large = scalars.constant(2.0 ** (_F16_BIAS - form.bias + half), "f16")
        unit = scalars.select(is_large, large, unit)
    if form.has_nan and not form.has_infinity:
        code = bits if form.negative_zero_is_nan else _masked(scalars, bits, form.nan)
        is_nan = scalars.compare("eq", code, scalars.constant(form.nan, "i32"))
        placed = scalars.select(is_nan, scalars.constant(_F16_NAN, "i16"), placed)
    number = _bitcast(scalars, placed, "f16")
    return number if form.bias == _F16_BIAS else scalars.op("arith.mulf", number, unit)


def encode(scalars: ScalarBuilder, value: Scalar, form: SmallFloat) -> Scalar:
    """Emits the encoding of an f32 number in `form`, an i32, rounded to nearest even."""
    bits = _bitcast(scalars, value, "i32")
    magnitude = _masked(scalars, bits, ~_F32_SIGN)
    is_tiny = scalars.compare(
        "lt", magnitude, scalars.constant((_F32_BIAS + 1 - form.bias) << _F32_MANTISSA, "i32")
    )
    code = scalars.select(
        is_tiny, _tiny_code(scalars, magnitude, form), _normal_code(scalars, magnitude, form)
    )
    too_large = scalars.compare("gt", code, scalars.constant(form.largest, "i32"))
    code = scalars.select(too_large, scalars.constant(form.overflow, "i32"), code)
    is_nan = scalars.compare("gt", magnitude, scalars.constant(_F32_INFINITY, "i32"))
    code = scalars.select(is_nan, scalars.constant(form.nan, "i32"), code)
    sign = _shifted(scalars, "arith.shrui", _masked(scalars, bits, _F32_SIGN), 32 - form.width)
    signed = scalars.op("arith.ori", code, sign)
    if not form.negative_zero_is_nan:
        return signed
    is_zero = scalars.compare("eq", code, scalars.constant(0, "i32"))
    return scalars.select(is_zero, code, signed)


def rounded(
    scalars: ScalarBuilder, value: Scalar, element: str, rounding: str = "roundeven"
) -> Scalar:
    """Rounds an f32 to a multiple of the spacing that `element` has at its magnitude.

    Args:
        scalars: emitter that receives the ops.
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


def _normal_code(scalars: ScalarBuilder, magnitude: Scalar, form: SmallFloat) -> Scalar:
    shift = _F32_MANTISSA - form.mantissa
    odd = _masked(scalars, _shifted(scalars, "arith.shrui", magnitude, shift), 1)
    half = scalars.constant((1 << (shift - 1)) - 1, "i32")
    rounded = scalars.op("arith.addi", scalars.op("arith.addi", magnitude, odd), half)
    code = _shifted(scalars, "arith.shrui", rounded, shift)
    rebias = scalars.constant((_F32_BIAS - form.bias) << form.mantissa, "i32")
    return scalars.op("arith.subi", code, rebias)


def _tiny_code(scalars: ScalarBuilder, magnitude: Scalar, form: SmallFloat) -> Scalar:
    """Encodes a subnormal number, which is a multiple of one unit."""
    units = scalars.constant(2.0 ** (form.bias - 1 + form.mantissa), "f32")
    count = scalars.op("arith.mulf", _bitcast(scalars, magnitude, "f32"), units)
    return scalars.convert("arith.fptosi", scalars.op("math.roundeven", count), "i32")


def _masked(scalars: ScalarBuilder, bits: Scalar, mask: int) -> Scalar:
    return scalars.op("arith.andi", bits, scalars.constant(mask, bits.type))


def _shifted(scalars: ScalarBuilder, op: str, bits: Scalar, by: int) -> Scalar:
    return scalars.op(op, bits, scalars.constant(by, bits.type))


def _bitcast(scalars: ScalarBuilder, value: Scalar, element: str) -> Scalar:
    return scalars.line(f"arith.bitcast {value.name} : {value.type} to {element}", element)
