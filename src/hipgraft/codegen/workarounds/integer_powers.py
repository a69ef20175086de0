"""Powers of floats with integer exponents."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.float_builder import MOST_PRODUCTS, FloatBuilder, converted
from hipgraft.ir.bindings import ir
from hipgraft.ir.io import walk

INTEGER_POWERS = Workaround(
    name="integer-powers",
    fault="`math.fpowi` of 0 with a negative odd exponent is negative infinity, whatever the sign "
    "of 0.",
    effect=Effect.WRONG,
    targets="all",
    remedy="Small constant exponents are products; others become the floats of `math.powf`.",
)


def expand_integer_powers(module: ir.Module) -> int:
    """Replaces powers whose exponents are integers, in place; returns how many.

    Args:
        module: module after torch ops were lowered.
    """
    found = [op for op in walk(module.operation) if _has_fault(op)]
    for op in found:
        with ir.InsertionPoint(op), op.location:
            op.results[0].replace_all_uses_with(_power(*op.operands))
        op.erase()
    return len(found)


@INTEGER_POWERS.avoids
def _has_fault(op: ir.Operation) -> bool:
    return op.name == "math.fpowi"


def _power(base: ir.Value, exponent: ir.Value) -> ir.Value:
    kind, constant = ir.FloatType(base.type), _constant(exponent)
    if constant is not None and abs(constant) <= MOST_PRODUCTS:
        build = FloatBuilder(kind if kind.width >= 32 else ir.F32Type.get())
        return converted(build.power(converted(base, build.type), constant), kind)
    if constant is None:
        number = ir.Operation.create("arith.sitofp", [kind], [exponent]).result
    else:
        number = FloatBuilder(kind).number(constant)
    return FloatBuilder(kind).op("math.powf", base, number)


def _constant(value: ir.Value) -> int | None:
    owner = value.owner
    if not isinstance(owner, ir.Operation) or owner.name != "arith.constant":
        return None
    return ir.IntegerAttr(owner.attributes["value"]).value
