"""Functions of floats where no device library has them: range reduction, overflow, short floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, erfc, factorial, log, pi, sqrt, tan

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.float_builder import (
    FloatBuilder,
    converted,
    functions,
    logic,
)
from hipgraft.ir.bindings import ir

INEXACT_FUNCTIONS = Workaround(
    name="inexact-functions",
    fault="`math.sin`, `cos` and `tan` reduce an angle by one constant of 32 bits: errors grow "
    "with the angle, from 3e-4 at 10,000 to results far beyond 1. `math.asinh` is `log(x + "
    "sqrt(x * x + 1))`, which cancels for negative numbers (infinite from -4,000 on); "
    "`acosh`, `sinh` and `cosh` overflow where their results do not. In `f16` all of them "
    "overflow at a few hundred. Functions of constants that are folded while compiling for "
    "a GPU have the same errors. `atan` is off by up to 40 ulp; `atan2` is NaN of zeros and "
    "of infinities, and ignores the sign of 0. `log10`, and `sin`, `cos`, `tanh`, `asin`, "
    "`acos`, `atan` and `erf` of `f64`, do not link.",
    effect=Effect.WRONG,
    targets="CPU, CUDA; constants on all",
    remedy="Angles are reduced in `f64` by pi/2 in three parts; hyperbolic functions are computed "
    "by `log1p`, `expm1` and halved exponents, `atan` by its series after a quarter or an eighth "
    "turn, `atan2` by `atan` of the first octant, `erf` by its series about 0 and an approximation "
    "of `log(erfc(x)) + x * x`; floats of 16 bits in `f32`.",
)

_PI_BITS = 0x3243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C9
_PI_SCALE = 252  # the bits are divided by two to this power
_PART_BITS = 33  # so that products with less than a million are exact
_LARGE = 1e9  # x * x + 1 already equals x * x for smaller numbers
_LN_2 = log(2.0)
_NEAREST, _FARTHEST = 0.85, 6.0  # where the complement of `erf` is approximated


def _half_pi() -> list[float]:
    """Returns three numbers whose sum is pi/2; the first two have 33 bits."""
    parts, rest = [], _PI_BITS
    for _ in range(2):
        shift = rest.bit_length() - _PART_BITS
        part = rest >> shift << shift
        parts.append(part / (2 << _PI_SCALE))
        rest -= part
    return [*parts, rest / (2 << _PI_SCALE)]


def _sine(build: FloatBuilder, x: ir.Value, terms: int, quarters: int) -> ir.Value:
    """The sine of an angle plus `quarters` quarter turns, in f64, by `terms` of its series."""
    turns = build.rounded(build.mul(x, build.number(2 / pi)))
    angle = x
    for part in _half_pi():
        angle = build.sub(angle, build.mul(turns, build.number(part)))
    # Beyond 2**53 the reduced angle has no correct bits, but a sine must not exceed 1.
    for name, limit in (("arith.minimumf", 0.8), ("arith.maximumf", -0.8)):
        angle = build.op(name, angle, build.number(limit))
    square = build.mul(angle, angle)
    series = [(-1) ** i / factorial(2 * i + 1) for i in range(terms)]
    sine = build.mul(angle, build.polynomial(square, series))
    cosine = build.polynomial(square, [(-1) ** i / factorial(2 * i) for i in range(terms + 1)])
    counted = build.add(turns, build.number(quarters))
    whole = build.rounded(build.mul(counted, build.number(0.25)))
    quarter = build.sub(counted, build.mul(whole, build.number(4.0)))  # from -2 to 2
    size = build.op("math.absf", quarter)
    is_half = build.exceeds(size, 1.5)
    is_odd = logic("arith.xori", is_half, build.exceeds(size, 0.5))
    result = build.select(is_odd, cosine, sine)
    is_below = build.exceeds(build.op("arith.negf", quarter), 0.5)
    is_negative = logic("arith.ori", is_half, is_below)
    return build.select(is_negative, build.op("arith.negf", result), result)


def _trigonometric(build: FloatBuilder, x: ir.Value, terms: int, name: str) -> ir.Value:
    if name != "math.tan":
        return _sine(build, x, terms, int(name == "math.cos"))
    return build.div(_sine(build, x, terms, 0), _sine(build, x, terms, 1))


def _asinh(build: FloatBuilder, x: ir.Value) -> ir.Value:
    size = build.op("math.absf", x)
    square, one = build.mul(x, x), build.number(1.0)
    root = build.op("math.sqrt", build.add(square, one))
    near = _log1p(build, build.add(size, build.div(square, build.add(one, root))))
    result = build.select(build.exceeds(size, _LARGE), _log_of_twice(build, size), near)
    return build.op("math.copysign", result, x)


def _acosh(build: FloatBuilder, x: ir.Value) -> ir.Value:
    above = build.sub(x, build.number(1.0))
    # The root of each factor is NaN below 1; the root of the product is not below -1.
    roots = [build.op("math.sqrt", one) for one in (above, build.add(above, build.number(2.0)))]
    near = _log1p(build, build.add(above, build.mul(*roots)))
    return build.select(build.exceeds(x, _LARGE), _log_of_twice(build, x), near)


def _log_of_twice(build: FloatBuilder, x: ir.Value) -> ir.Value:
    return build.add(build.op("math.log", x), build.number(_LN_2))


def _atanh(build: FloatBuilder, x: ir.Value) -> ir.Value:
    size = build.op("math.absf", x)
    ratio = build.div(build.add(size, size), build.sub(build.number(1.0), size))
    result = build.mul(build.number(0.5), _log1p(build, ratio))
    return build.op("math.copysign", result, x)


def _sinh(build: FloatBuilder, x: ir.Value) -> ir.Value:
    size, half = build.op("math.absf", x), build.number(0.5)
    less = _expm1(build, size)
    ratio = build.div(less, build.add(less, build.number(1.0)))
    near = build.mul(half, build.add(less, ratio))
    root = build.op("math.exp", build.mul(size, half))
    far = build.mul(build.mul(half, root), root)
    return build.op("math.copysign", build.select(build.exceeds(size, 20.0), far, near), x)


def _cosh(build: FloatBuilder, x: ir.Value) -> ir.Value:
    half = build.number(0.5)
    root = build.op("math.exp", build.mul(build.op("math.absf", x), half))
    return build.add(build.mul(build.mul(half, root), root), build.div(build.div(half, root), root))


def _tanh(build: FloatBuilder, x: ir.Value) -> ir.Value:
    size = build.op("math.absf", x)
    less = _expm1(build, build.add(size, size))
    ratio = build.div(less, build.add(less, build.number(2.0)))
    return build.op("math.copysign", build.select(build.exceeds(size, 20.0), _one(build), ratio), x)


def _expm1(build: FloatBuilder, x: ir.Value) -> ir.Value:
    if build.type.width < 64:
        return build.op("math.expm1", x)
    series = [1 / factorial(i + 1) for i in range(14)]
    near = build.mul(x, build.polynomial(x, series))
    far = build.sub(build.op("math.exp", x), _one(build))
    return build.select(build.exceeds(build.op("math.absf", x), 0.35), far, near)


def _log1p(build: FloatBuilder, x: ir.Value) -> ir.Value:
    if build.type.width < 64:
        return build.op("math.log1p", x)
    above = build.add(x, _one(build))
    # The quotient compensates for the rounding of the sum.
    lost = build.div(x, build.sub(above, _one(build)))
    near = build.select(build.equals(above, 1.0), x, build.mul(build.op("math.log", above), lost))
    return build.select(build.exceeds(x, 2.0**53), build.op("math.log", x), near)


def _one(build: FloatBuilder) -> ir.Value:
    return build.number(1.0)


def _atan(build: FloatBuilder, x: ir.Value) -> ir.Value:
    """Computes atan by its series about 0, after subtracting an eighth or a quarter of a turn."""
    size, one = build.op("math.absf", x), _one(build)
    is_steep, is_middle = (build.exceeds(size, tan(limit * pi / 8)) for limit in (3, 1))
    steep = build.div(build.number(-1.0), size)
    middle = build.div(build.sub(size, one), build.add(size, one))
    rest = build.select(is_steep, steep, build.select(is_middle, middle, size))
    base = build.select(is_middle, build.number(pi / 4), build.number(0.0))
    base = build.select(is_steep, build.number(pi / 2), base)
    series = [(-1) ** i / (2 * i + 1) for i in range(_ATAN_TERMS[build.type.width])]
    angle = build.mul(rest, build.polynomial(build.mul(rest, rest), series))
    return build.op("math.copysign", build.add(base, angle), x)


def _atan2(build: FloatBuilder, y: ir.Value, x: ir.Value) -> ir.Value:
    """Computes the angle in the first octant, and reflects it by the sizes and signs."""
    sizes = [build.op("math.absf", one) for one in (y, x)]
    small, large = (build.op(f"arith.{name}imumf", *sizes) for name in ("min", "max"))
    # Points at 0 and at infinity have the directions that C defines.
    is_alike = build.compare("equal", small, large)
    ratio = build.select(is_alike, _one(build), build.div(small, large))
    ratio = build.select(build.equals(large, 0.0), build.number(0.0), ratio)
    angle = _atan(build, ratio)
    is_steep = build.compare("greater", *sizes)
    angle = build.select(is_steep, build.sub(build.number(pi / 2), angle), angle)
    is_left = build.exceeds(build.op("arith.negf", build.op("math.copysign", _one(build), x)), 0.0)
    angle = build.select(is_left, build.sub(build.number(pi), angle), angle)
    return build.op("math.copysign", angle, y)


def _log10(build: FloatBuilder, x: ir.Value) -> ir.Value:
    return build.mul(build.op("math.log", x), build.number(1 / log(10)))


def _asin(build: FloatBuilder, x: ir.Value) -> ir.Value:
    if build.type.width < 64:
        return build.op("math.asin", x)
    return _atan(build, build.div(x, build.op("math.sqrt", build.mul(*_from_ends(build, x)))))


def _acos(build: FloatBuilder, x: ir.Value) -> ir.Value:
    if build.type.width < 64:
        return build.op("math.acos", x)
    half = _atan(build, build.op("math.sqrt", build.div(*_from_ends(build, x))))
    return build.add(half, half)


def _from_ends(build: FloatBuilder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    return build.sub(_one(build), x), build.add(_one(build), x)


def _erf(build: FloatBuilder, x: ir.Value) -> ir.Value:
    """Computes erf by its series near 0, and by its complement elsewhere."""
    size, one = build.op("math.absf", x), _one(build)
    square = build.mul(x, x)
    series = [2 / sqrt(pi) * (-1) ** i / factorial(i) / (2 * i + 1) for i in range(20)]
    near = build.mul(size, build.polynomial(square, series))
    # Beyond 6 the complement is less than half of the last bit; `min` of NaN is NaN.
    bounded = build.op("arith.minimumf", size, build.number(_FARTHEST))
    ratio = build.div(build.number(2.0), build.add(bounded, build.number(2.0)))
    low, high = (_ratio(end) for end in (_FARTHEST, _NEAREST))
    scaled = build.mul(
        build.sub(ratio, build.number((high + low) / 2)), build.number(2 / (high - low))
    )
    exponent = build.sub(build.chebyshev(scaled, _complement()), build.mul(bounded, bounded))
    far = build.sub(one, build.op("math.exp", exponent))
    return build.op("math.copysign", build.select(build.exceeds(size, 1.0), far, near), x)


def _ratio(x: float) -> float:
    return 2 / (2 + x)


def _complement() -> list[float]:
    """Returns the approximation of `log(erfc(x)) + x * x` by Chebyshev polynomials of 2 / (2 + x).

    The approximation is for x from 0.85 to 6; 24 polynomials have an error of less than two last
    bits.
    """
    count = 24
    low, high = (_ratio(end) for end in (_FARTHEST, _NEAREST))
    angles = [pi * (k + 0.5) / count for k in range(count)]
    ratios = [(high + low) / 2 + (high - low) / 2 * cos(angle) for angle in angles]
    points = [2 / ratio - 2 for ratio in ratios]
    values = [log(erfc(x)) + x * x for x in points]
    sums = [
        sum(value * cos(n * angle) for value, angle in zip(values, angles, strict=True))
        for n in range(count)
    ]
    return [sums[0] / count, *(2 * one / count for one in sums[1:])]


@dataclass(frozen=True)
class _Function:
    """The replacement of a function, and the widths (16, 32 or 64) of the ops that it replaces."""

    build: Callable[..., ir.Value]
    widths: Sequence[int] = (16, 32, 64)


_FUNCTIONS = {
    "math.acos": _Function(_acos, (16, 64)),
    "math.acosh": _Function(_acosh),
    "math.asin": _Function(_asin, (16, 64)),
    "math.asinh": _Function(_asinh),
    "math.atan": _Function(_atan),
    "math.atan2": _Function(_atan2),
    "math.atanh": _Function(_atanh),
    "math.cosh": _Function(_cosh),
    "math.erf": _Function(_erf, (64,)),
    "math.expm1": _Function(_expm1, (64,)),
    "math.log10": _Function(_log10),
    "math.log1p": _Function(_log1p, (64,)),
    "math.sinh": _Function(_sinh),
    "math.tanh": _Function(_tanh, (64,)),
}
_TRIGONOMETRIC = ("math.sin", "math.cos", "math.tan")
_TERMS = {32: 5, 64: 9}
"""Terms of a series whose error is below the last bit of a float."""
_ATAN_TERMS = {32: 9, 64: 20}


def expand_functions(module: ir.Module, *, only_constants: bool) -> int:
    """Replaces functions that the CPU's code generator gets wrong, and returns how many.

    Args:
        module: module after torch ops were lowered.
        only_constants: whether to replace only functions of constants, which IREE evaluates.
    """
    if not INEXACT_FUNCTIONS.is_on:
        return 0
    found = functions(module, {*_FUNCTIONS, *_TRIGONOMETRIC}, only_constants=only_constants)
    return sum(map(_expand, found))


def _expand(op: ir.Operation) -> bool:
    kind = op.result.type
    if not isinstance(kind, ir.FloatType):
        return False
    name, width = op.name, kind.width
    if name in _FUNCTIONS and max(width, 16) not in _FUNCTIONS[name].widths:
        return False
    with ir.InsertionPoint(op), op.location:
        if name in _TRIGONOMETRIC:
            build = FloatBuilder(ir.F64Type.get())
            wide = converted(op.operands[0], build.type)
            result = _trigonometric(build, wide, _TERMS[max(width, 32)], name)
        else:
            build = FloatBuilder(kind if width >= 32 else ir.F32Type.get())
            operands = [converted(one, build.type) for one in op.operands]
            result = _FUNCTIONS[name].build(build, *operands)
        op.result.replace_all_uses_with(converted(result, kind))
    op.erase()
    return True
