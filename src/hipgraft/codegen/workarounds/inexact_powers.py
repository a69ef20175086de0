"""Powers of floats where no device library has them: negative bases, infinities, and integers."""

from __future__ import annotations

from math import factorial, inf, isnan, log, nan

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.float_builder import (
    MOST_PRODUCTS,
    FloatBuilder,
    converted,
    functions,
    logic,
)
from hipgraft.ir.bindings import arith_d, ir

INEXACT_POWERS = Workaround(
    name="inexact-powers",
    fault="`math.powf` is `exp(y * log(x))`, except for exponents such as 2 and 3 that are "
    "constants: a power of a negative number is NaN, even if the exponent is an even "
    "integer. In `f32` the result is off by about |y * log(x)| ulp, so integer powers of "
    "integers are not integers.",
    effect=Effect.WRONG,
    targets="CPU, CUDA; constants on all",
    remedy="Small constant exponents are products; others are computed in `f64` from the bits of "
    "the base, with the sign and the special values of C's `pow`.",
)

_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
_FRACTION_BITS = 52
_BIAS = 1023
_FAR = 1100.0  # exponent of two beyond all numbers of f64
_EXACT = 2.0**51  # below it, numbers are rounded to integers
# Terms of the series of log2 and exp2, whose errors are below the last bit.
_LOG_TERMS = {32: 8, 64: 12}
_EXP_TERMS = {32: 11, 64: 15}


def expand_powers(module: ir.Module, *, only_constants: bool) -> int:
    """Replaces powers of floats; returns how many.

    Args:
        module: after torch ops were lowered.
        only_constants: whether to replace only powers of constants, which the compiler evaluates.
    """
    if not INEXACT_POWERS.is_on:
        return 0
    found = functions(module, {"math.powf"}, only_constants=only_constants)
    return sum(map(_expand, found))


def _expand(op: ir.Operation) -> bool:
    kind = op.result.type
    if not isinstance(kind, ir.FloatType):
        return False
    exponent = _constant(op.operands[1])
    with ir.InsertionPoint(op), op.location:
        if exponent is not None and exponent.is_integer() and abs(exponent) <= MOST_PRODUCTS:
            build = FloatBuilder(kind if kind.width >= 32 else ir.F32Type.get())
            result = build.power(converted(op.operands[0], build.type), int(exponent))
        else:
            build = FloatBuilder(ir.F64Type.get())
            x, y = (converted(one, build.type) for one in op.operands)
            result = _power(build, x, y, max(kind.width, 32))
        op.result.replace_all_uses_with(converted(result, kind))
    op.erase()
    return True


def _constant(value: ir.Value) -> float | None:
    owner = value.owner
    if not isinstance(owner, ir.Operation) or owner.name != "arith.constant":
        return None
    number = ir.FloatAttr(owner.attributes["value"]).value
    return None if isnan(number) else number


def _power(build: FloatBuilder, x: ir.Value, y: ir.Value, width: int) -> ir.Value:
    """C's `pow`, computed in f64; an f64 result is off by about |y * log(x)| ulp."""
    size = build.op("math.absf", x)
    result = _exp2(build, build.mul(y, _log2(build, size, _LOG_TERMS[width])), _EXP_TERMS[width])
    is_whole, is_even = (_is_whole(build, build.mul(y, build.number(one))) for one in (1.0, 0.5))
    result = build.select(build.equals(size, 1.0), build.number(1.0), result)
    result = build.select(_is_integer(build, x, y, result), build.rounded(result), result)
    signed = build.select(is_even, result, build.op("math.copysign", result, x))
    # A finite negative number has powers for integer exponents only.
    below = logic(
        "arith.andi",
        build.exceeds(build.op("arith.negf", x), 0.0),
        build.compare("greater", build.number(inf), size),
    )
    other = build.select(below, build.number(nan), result)
    result = build.select(is_whole, signed, other)
    result = build.select(build.compare("unordered", x, y), build.number(nan), result)
    is_one = logic("arith.ori", build.equals(y, 0.0), build.equals(x, 1.0))
    return build.select(is_one, build.number(1.0), result)


def _is_whole(build: FloatBuilder, x: ir.Value) -> ir.Value:
    return build.compare("equal", build.op("math.floor", x), x)


def _is_integer(build: FloatBuilder, x: ir.Value, y: ir.Value, power: ir.Value) -> ir.Value:
    """Whether an exponent is an integer that f64 distinguishes from the next one."""
    whole = logic("arith.andi", _is_whole(build, x), build.exceeds(y, 0.5))
    is_exact = build.compare("greater", build.number(_EXACT), power)
    return logic("arith.andi", logic("arith.andi", whole, _is_whole(build, y)), is_exact)


def _log2(build: FloatBuilder, size: ir.Value, terms: int) -> ir.Value:
    """The logarithm of a normal number, zero or infinity, by the series of artanh."""
    integer = ir.IntegerType.get_signless(64)
    bits = _convert("arith.bitcast", size, integer)
    above = logic("arith.subi", bits, _integer(integer, _SQRT_HALF_BITS))
    exponent = logic("arith.shrsi", above, _integer(integer, _FRACTION_BITS))
    part = logic("arith.shli", exponent, _integer(integer, _FRACTION_BITS))
    fraction = _convert("arith.bitcast", logic("arith.subi", bits, part), build.type)
    one = build.number(1.0)
    ratio = build.div(build.sub(fraction, one), build.add(fraction, one))
    series = [2 / log(2) / (2 * i + 1) for i in range(terms)]
    result = build.mul(ratio, build.polynomial(build.mul(ratio, ratio), series))
    narrow = _convert("arith.trunci", exponent, ir.IntegerType.get_signless(32))
    result = build.add(_convert("arith.sitofp", narrow, build.type), result)
    result = build.select(build.equals(size, inf), build.number(inf), result)
    return build.select(build.equals(size, 0.0), build.number(-inf), result)


def _exp2(build: FloatBuilder, x: ir.Value, terms: int) -> ir.Value:
    """Two to the power of a number; any result for NaN."""
    for name, limit in (("arith.maxnumf", -_FAR), ("arith.minnumf", _FAR)):
        x = build.op(name, x, build.number(limit))
    whole = build.rounded(x)
    series = [log(2) ** i / factorial(i) for i in range(terms)]
    result = build.polynomial(build.sub(x, whole), series)
    exponent = _convert("arith.fptosi", whole, ir.IntegerType.get_signless(32))
    half = logic("arith.shrsi", exponent, _integer(exponent.type, 1))
    for part in (half, logic("arith.subi", exponent, half)):
        result = build.mul(result, _power_of_two(build, part))
    return result


def _power_of_two(build: FloatBuilder, exponent: ir.Value) -> ir.Value:
    integer = ir.IntegerType.get_signless(64)
    biased = logic(
        "arith.addi", _convert("arith.extsi", exponent, integer), _integer(integer, _BIAS)
    )
    bits = logic("arith.shli", biased, _integer(integer, _FRACTION_BITS))
    return _convert("arith.bitcast", bits, build.type)


def _integer(kind: ir.Type, value: int) -> ir.Value:
    return arith_d.ConstantOp(kind, ir.IntegerAttr.get(kind, value)).result


def _convert(name: str, value: ir.Value, kind: ir.Type) -> ir.Value:
    return ir.Operation.create(name, results=[kind], operands=[value]).result
