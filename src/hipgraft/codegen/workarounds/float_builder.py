"""Builds the scalar arithmetic by which functions of floats are replaced."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.io import walk

MOST_PRODUCTS = 16
"""The largest constant exponent for which products are used."""

_ROUND = 1.5 * 2.0**52  # added and subtracted, rounds to an integer
_PREDICATES = {"equal": 1, "greater": 2, "unordered": 14}  # values of `arith.CmpFPredicate`


@dataclass(frozen=True)
class FloatBuilder:
    """Builds scalar operations of one float type at the current insertion point."""

    type: ir.FloatType

    def op(self, name: str, *operands: ir.Value) -> ir.Value:
        """Builds an op of floats."""
        return ir.Operation.create(name, results=[self.type], operands=list(operands)).result

    def number(self, value: float) -> ir.Value:
        """Builds a constant."""
        return arith_d.ConstantOp(self.type, ir.FloatAttr.get(self.type, value)).result

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Builds a + b."""
        return self.op("arith.addf", a, b)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Builds a - b."""
        return self.op("arith.subf", a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Builds a * b."""
        return self.op("arith.mulf", a, b)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Builds a / b."""
        return self.op("arith.divf", a, b)

    def select(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        """Builds the choice of a where the condition holds, else of b."""
        return self.op("arith.select", condition, a, b)

    def compare(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Builds a comparison: `equal` or `greater`, both false for NaN, or `unordered`."""
        return ir.Operation.create(
            "arith.cmpf",
            results=[ir.IntegerType.get_signless(1)],
            operands=[a, b],
            attributes={
                "predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _PREDICATES[name])
            },
        ).result

    def exceeds(self, a: ir.Value, limit: float) -> ir.Value:
        """Builds the comparison a > limit."""
        return self.compare("greater", a, self.number(limit))

    def equals(self, a: ir.Value, value: float) -> ir.Value:
        """Builds the comparison a == value."""
        return self.compare("equal", a, self.number(value))

    def rounded(self, a: ir.Value) -> ir.Value:
        """Builds the nearest integer of an f64 number below 2**51."""
        return self.sub(self.add(a, self.number(_ROUND)), self.number(_ROUND))

    def power(self, x: ir.Value, exponent: int) -> ir.Value:
        """Builds a power by products."""
        result, square, rest = None, x, abs(exponent)
        while rest:
            if rest & 1:
                result = square if result is None else self.mul(result, square)
            rest >>= 1
            square = self.mul(square, square) if rest else square
        if result is None:
            return self.number(1.0)
        return result if exponent > 0 else self.div(self.number(1.0), result)

    def polynomial(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """Builds the sum of `coefficients[i] * x ** i`."""
        total = self.number(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.add(self.mul(total, x), self.number(coefficient))
        return total

    def chebyshev(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """Builds the sum of `coefficients[i]` times the i-th Chebyshev polynomial of x."""
        twice = self.add(x, x)
        last = total = self.number(0.0)
        for coefficient in reversed(coefficients[1:]):
            next_one = self.sub(self.mul(twice, total), last)
            last, total = total, self.add(next_one, self.number(coefficient))
        return self.add(self.sub(self.mul(x, total), last), self.number(coefficients[0]))


def logic(name: str, a: ir.Value, b: ir.Value) -> ir.Value:
    """Builds an op of truth values or integers."""
    return ir.Operation.create(name, results=[a.type], operands=[a, b]).result


def converted(value: ir.Value, kind: ir.FloatType) -> ir.Value:
    """Builds the conversion to a float type, unless the value already has that type."""
    have, want = ir.FloatType(value.type).width, kind.width
    if have == want:
        return value
    name = "arith.extf" if have < want else "arith.truncf"
    return ir.Operation.create(name, results=[kind], operands=[value]).result


def functions(
    module: ir.Module, names: Collection[str], *, only_constants: bool
) -> list[ir.Operation]:
    """Returns the ops that have one of the names.

    Args:
        module: module after torch ops were lowered.
        names: names of ops on scalars.
        only_constants: whether to return only ops on constants, which the compiler evaluates.
    """
    found = [op for op in walk(module.operation) if op.name in names]
    return [op for op in found if _is_constant(op)] if only_constants else found


def _is_constant(op: ir.Operation) -> bool:
    """Whether the op that has this one in its body computes from constants only."""
    parent = op.parent
    return parent is not None and all(_from_constants(one) for one in parent.operation.operands)


def _from_constants(value: ir.Value) -> bool:
    owner = value.owner
    return isinstance(owner, ir.Operation) and all(map(_from_constants, owner.operands))
