"""Converts and rounds to floating-point types of 8 bits or fewer by arithmetic on their bits.

The compiler converts such a type only on architectures that have instructions for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.lowering.emit.scalar_builder import Scalar, ScalarBuilder
from hipgraft.ir.dtypes import float_info

_F32_MANTISSA, _F32_BIAS = 23, 127
_F32_INFINITY, _F32_NAN, _F32_SIGN = 0x7F800000, 0x7FC00000, -(1 << 31)


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
    """Emits the number encoded by `bits`, an i32, in `form`, as f32."""
    magnitude = _masked(scalars, bits, form.sign_bit - 1)
    shift = _F32_MANTISSA - form.mantissa
    aligned = _shifted(scalars, "arith.shli", magnitude, shift)
    rebias = scalars.constant((_F32_BIAS - form.bias) << _F32_MANTISSA, "i32")
    normal = _bitcast(scalars, scalars.op("arith.addi", aligned, rebias), "f32")
    unit = scalars.constant(2.0 ** (1 - form.bias - form.mantissa), "f32")
    tiny = scalars.op("arith.mulf", scalars.convert("arith.sitofp", magnitude, "f32"), unit)
    is_tiny = scalars.compare("lt", magnitude, scalars.constant(1 << form.mantissa, "i32"))
    number = scalars.select(is_tiny, tiny, normal)
    sign = _shifted(scalars, "arith.shli", _masked(scalars, bits, form.sign_bit), 32 - form.width)
    signed = scalars.op("arith.ori", _bitcast(scalars, number, "i32"), sign)
    return _bitcast(scalars, _specials(scalars, bits, magnitude, signed, form), "f32")


def _specials(
    scalars: ScalarBuilder, bits: Scalar, magnitude: Scalar, number: Scalar, form: SmallFloat
) -> Scalar:
    """Replaces the codes of infinities and NaN by their bits in f32."""
    if not form.has_nan:
        return number
    nan = scalars.constant(_F32_NAN, "i32")
    if form.negative_zero_is_nan:
        is_nan = scalars.compare("eq", bits, scalars.constant(form.sign_bit, "i32"))
        return scalars.select(is_nan, nan, number)
    if form.has_infinity:
        is_infinite = scalars.compare("eq", magnitude, scalars.constant(form.overflow, "i32"))
        sign = _masked(scalars, number, _F32_SIGN)
        infinity = scalars.op("arith.ori", sign, scalars.constant(_F32_INFINITY, "i32"))
        number = scalars.select(is_infinite, infinity, number)
    last = form.overflow if form.has_infinity else form.largest
    is_nan = scalars.compare("gt", magnitude, scalars.constant(last, "i32"))
    return scalars.select(is_nan, nan, number)


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
    return scalars.op("arith.andi", bits, scalars.constant(mask, "i32"))


def _shifted(scalars: ScalarBuilder, op: str, bits: Scalar, by: int) -> Scalar:
    return scalars.op(op, bits, scalars.constant(by, "i32"))


def _bitcast(scalars: ScalarBuilder, value: Scalar, element: str) -> Scalar:
    return scalars.line(f"arith.bitcast {value.name} : {value.type} to {element}", element)
