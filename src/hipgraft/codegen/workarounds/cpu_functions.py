"""Expands functions of floats on the CPU: range reduction, cancellation, overflow, short floats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import factorial, log, pi

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.io import walk

CPU_FUNCTIONS = Workaround(
    name="cpu-functions",
    fault="`math.sin`, `cos` and `tan` reduce an angle by one constant of 32 bits: errors grow "
    "with it, from 3e-4 at 10,000 to results far beyond 1. `math.asinh` is `log(x + sqrt(x * x + "
    "1))`, which cancels for negative numbers (infinite from -4,000 on); `acosh`, `sinh` and "
    "`cosh` overflow where their results do not. In `f16` all of them overflow at a few hundred. "
    "What is computed from constants while compiling for a GPU is computed so, too. `sin` and "
    "`cos` of `f64` do not link.",
    effect=Effect.WRONG,
    targets="CPU; constants on all",
    remedy="Angles are reduced in `f64` by pi/2 in three parts; hyperbolic functions are computed "
    "in `f32` by `log1p`, `expm1` and halved exponents.",
)

_PI_BITS = 0x3243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C9
_PI_SCALE = 252  # the bits are divided by two to this power
_PART_BITS = 33  # few enough bits that products with numbers below a million are exact
_ROUND = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer
_LARGE = 1e9  # x * x + 1 equals x * x already for far smaller x
_LN_2 = log(2.0)
_ORDERED_GREATER = 2  # number of this predicate of `arith.cmpf`


def _half_pi() -> list[float]:
    """Returns three numbers whose sum is pi/2; the first two have 33 bits."""
    parts, rest = [], _PI_BITS
    for _ in range(2):
        shift = rest.bit_length() - _PART_BITS
        part = rest >> shift << shift
        parts.append(part / (2 << _PI_SCALE))
        rest -= part
    return [*parts, rest / (2 << _PI_SCALE)]


@dataclass(frozen=True)
class _Builder:
    """Builds scalar operations of one float type at the current insertion point."""

    type: ir.FloatType

    def op(self, name: str, *operands: ir.Value) -> ir.Value:
        return ir.Operation.create(name, results=[self.type], operands=list(operands)).result

    def number(self, value: float) -> ir.Value:
        return arith_d.ConstantOp(self.type, ir.FloatAttr.get(self.type, value)).result

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.addf", a, b)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.subf", a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.mulf", a, b)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.divf", a, b)

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.op("arith.select", condition, a, b)

    def exceeds(self, a: ir.Value, limit: float) -> ir.Value:
        predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ORDERED_GREATER)
        return ir.Operation.create(
            "arith.cmpf",
            results=[ir.IntegerType.get_signless(1)],
            operands=[a, self.number(limit)],
            attributes={"predicate": predicate},
        ).result

    def rounded(self, a: ir.Value) -> ir.Value:
        return self.sub(self.add(a, self.number(_ROUND)), self.number(_ROUND))

    def polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """Computes the sum of `coefficients[i] * x ** i`."""
        total = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.add(self.mul(total, x), self.number(coefficient))
        return total


def _logic(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[a.type], operands=[a, b]).result


def _sine(build: _Builder, x: ir.Value, terms: int, quarters: int) -> ir.Value:
    """Computes the sine of an angle plus quarter turns, in f64, by `terms` terms of its series."""
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
    is_odd = _logic("arith.xori", is_half, build.exceeds(size, 0.5))
    result = build.select(is_odd, cosine, sine)
    is_below = build.exceeds(build.op("arith.negf", quarter), 0.5)
    is_negative = _logic("arith.ori", is_half, is_below)
    return build.select(is_negative, build.op("arith.negf", result), result)


def _trigonometric(build: _Builder, x: ir.Value, terms: int, name: str) -> ir.Value:
    if name != "math.tan":
        return _sine(build, x, terms, int(name == "math.cos"))
    return build.div(_sine(build, x, terms, 0), _sine(build, x, terms, 1))


def _asinh(build: _Builder, x: ir.Value) -> ir.Value:
    size = build.op("math.absf", x)
    square, one = build.mul(x, x), build.number(1.0)
    root = build.op("math.sqrt", build.add(square, one))
    near = build.op("math.log1p", build.add(size, build.div(square, build.add(one, root))))
    result = build.select(build.exceeds(size, _LARGE), _log_of_twice(build, size), near)
    return build.op("math.copysign", result, x)


def _acosh(build: _Builder, x: ir.Value) -> ir.Value:
    above = build.sub(x, build.number(1.0))
    # The root of each factor is NaN below 1; the root of the product is not below -1.
    roots = [build.op("math.sqrt", one) for one in (above, build.add(above, build.number(2.0)))]
    near = build.op("math.log1p", build.add(above, build.mul(*roots)))
    return build.select(build.exceeds(x, _LARGE), _log_of_twice(build, x), near)


def _log_of_twice(build: _Builder, x: ir.Value) -> ir.Value:
    return build.add(build.op("math.log", x), build.number(_LN_2))


def _atanh(build: _Builder, x: ir.Value) -> ir.Value:
    size = build.op("math.absf", x)
    ratio = build.div(build.add(size, size), build.sub(build.number(1.0), size))
    result = build.mul(build.number(0.5), build.op("math.log1p", ratio))
    return build.op("math.copysign", result, x)


def _sinh(build: _Builder, x: ir.Value) -> ir.Value:
    size, half = build.op("math.absf", x), build.number(0.5)
    less = build.op("math.expm1", size)
    ratio = build.div(less, build.add(less, build.number(1.0)))
    near = build.mul(half, build.add(less, ratio))
    root = build.op("math.exp", build.mul(size, half))
    far = build.mul(build.mul(half, root), root)
    return build.op("math.copysign", build.select(build.exceeds(size, 20.0), far, near), x)


def _cosh(build: _Builder, x: ir.Value) -> ir.Value:
    half = build.number(0.5)
    root = build.op("math.exp", build.mul(build.op("math.absf", x), half))
    return build.add(build.mul(build.mul(half, root), root), build.div(build.div(half, root), root))


def _in_f32(name: str, build: _Builder, x: ir.Value) -> ir.Value:
    return build.op(name, x)


_HYPERBOLIC: dict[str, Callable[[_Builder, ir.Value], ir.Value]] = {
    "math.asinh": _asinh,
    "math.acosh": _acosh,
    "math.atanh": _atanh,
    "math.sinh": _sinh,
    "math.cosh": _cosh,
}
_SHORT = {name: partial(_in_f32, name) for name in ("math.asin", "math.acos", "math.atan")}
_TRIGONOMETRIC = ("math.sin", "math.cos", "math.tan")
_TERMS = {32: 5, 64: 9}
"""The number of terms of a series whose error is below the last bit of a float."""


def expand_functions(module: ir.Module, *, only_constants: bool) -> int:
    """Replaces functions that the CPU's code generator gets wrong, and returns how many.

    Args:
        module: module after torch ops were lowered.
        only_constants: whether to replace only functions of constants, which IREE evaluates.
    """
    if not CPU_FUNCTIONS.is_on:
        return 0
    names = {*_HYPERBOLIC, *_SHORT, *_TRIGONOMETRIC}
    found = [op for op in walk(module.operation) if op.name in names]
    if only_constants:
        found = [op for op in found if _is_constant(op)]
    return sum(_expand(op) for op in found)


def _is_constant(op: ir.Operation) -> bool:
    """Whether the op whose body contains this op computes from constants only."""
    parent = op.parent
    return parent is not None and all(_from_constants(one) for one in parent.operation.operands)


def _from_constants(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Operation) and all(map(_from_constants, owner.operands))


def _expand(op: ir.Operation) -> bool:
    kind = op.result.type
    if not isinstance(kind, ir.FloatType):
        return False
    name, width = op.name, kind.width
    if width == 64 and name not in _TRIGONOMETRIC:
        return False
    if name in _SHORT and width >= 32:
        return False
    with ir.InsertionPoint(op), op.location:
        x = op.operands[0]
        if name in _TRIGONOMETRIC:
            build = _Builder(ir.F64Type.get())
            wide = _converted(x, build.type)
            result = _trigonometric(build, wide, _TERMS[max(width, 32)], name)
        else:
            build = _Builder(ir.F32Type.get())
            result = (_HYPERBOLIC | _SHORT)[name](build, _converted(x, build.type))
        op.result.replace_all_uses_with(_converted(result, kind))
    op.erase()
    return True


def _converted(value: ir.Value, kind: ir.FloatType) -> ir.Value:
    have, want = ir.FloatType(value.type).width, kind.width
    if have == want:
        return value
    name = "arith.extf" if have < want else "arith.truncf"
    return ir.Operation.create(name, results=[kind], operands=[value]).result
