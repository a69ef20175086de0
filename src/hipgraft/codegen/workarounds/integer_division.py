"""Integer divisions that end the process on the CPU."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.float_builder import logic
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.io import walk

INTEGER_DIVISION = Workaround(
    name="integer-division",
    fault="An integer division by zero, a division of the least integer by -1, and their "
    "remainders raise SIGFPE: values of an input end the process. With AVX-512, LLVM "
    "divides vectors of 64-bit integers by other instructions, which return other numbers.",
    effect=Effect.ENDS,
    targets="CPU",
    remedy="Divisors 0 and -1 are replaced by 1. A division by -1 negates, and a division by 0 and "
    "its remainder are 0, as in NumPy.",
)

_SIGNED = ("arith.divsi", "arith.floordivsi", "arith.ceildivsi", "arith.remsi")
_UNSIGNED = ("arith.divui", "arith.ceildivui", "arith.remui")
_NAMES = frozenset({*_SIGNED, *_UNSIGNED})
_EQUAL = 0  # predicate of `arith.cmpi`


def guard_divisions(module: ir.Module) -> int:
    """Guards divisions of elements, in place; returns how many.

    Divisions outside of kernels compute extents, whose divisors `check_extents` asserts.

    Args:
        module: module after torch ops were lowered.
    """
    if not INTEGER_DIVISION.is_on:
        return 0
    found = [op for op in walk(module.operation) if op.name in _NAMES and _may_trap(op)]
    for op in found:
        with ir.InsertionPoint(op), op.location:
            _guard(op)
    return len(found)


def _may_trap(op: ir.Operation) -> bool:
    divisor, parent = op.operands[1].owner, op.parent
    is_element = parent is not None and not parent.operation.name.endswith(".func")
    if not is_element or not isinstance(op.result.type, ir.IntegerType):
        return False
    if isinstance(divisor, ir.Block) or divisor.name != "arith.constant":
        return True
    return ir.IntegerAttr(divisor.attributes["value"]).value in (0, -1)


def _guard(op: ir.Operation) -> None:
    number, divisor = op.operands
    kind = ir.IntegerType(op.result.type)
    zero, one = (arith_d.ConstantOp(kind, value).result for value in (0, 1))
    is_zero, is_minus = _equals(divisor, 0), _equals(divisor, -1)
    is_signed = op.name in _SIGNED
    replaced = logic("arith.ori", is_zero, is_minus) if is_signed else is_zero
    safe = _select(replaced, one, divisor)
    result = ir.Operation.create(op.name, results=[kind], operands=[number, safe]).result
    if not op.name.startswith("arith.rem"):  # a remainder of division by 1 is 0
        if is_signed:
            result = _select(is_minus, logic("arith.subi", zero, number), result)
        result = _select(is_zero, zero, result)
    op.result.replace_all_uses_with(result)
    op.erase()


def _equals(value: ir.Value, number: int) -> ir.Value:
    wide = ir.IntegerType.get_signless(64)
    return ir.Operation.create(
        "arith.cmpi",
        results=[ir.IntegerType.get_signless(1)],
        operands=[value, arith_d.ConstantOp(value.type, number).result],
        attributes={"predicate": ir.IntegerAttr.get(wide, _EQUAL)},
    ).result


def _select(condition: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
    return ir.Operation.create(
        "arith.select", results=[yes.type], operands=[condition, yes, no]
    ).result
