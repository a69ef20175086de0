"""Evaluates integer and index arithmetic in IR with known inputs.

IREE leaves workgroup counts, buffer sizes and offsets as SSA arithmetic. hipgraft's graphs are
static, so each of these is a number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import cast

from hipgraft.codegen.iree.foreign_ir import plain_name
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError


def _floordiv(a: int, b: int) -> int:
    return a // b


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def _divide_towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _align(value: int, alignment: int) -> int:
    return _ceildiv(value, alignment) * alignment


_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": _floordiv,
    "arith.divsi": _divide_towards_zero,
    "arith.ceildivui": _ceildiv,
    "arith.ceildivsi": _ceildiv,
    "arith.floordivsi": _floordiv,
    "arith.remui": operator.mod,
    "arith.maxui": max,
    "arith.maxsi": max,
    "arith.minui": min,
    "arith.minsi": min,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrui": operator.rshift,
    "util.align": _align,
}

_AFFINE: tuple[tuple[type[ir.AffineBinaryExpr], Callable[[int, int], int]], ...] = (
    (ir.AffineAddExpr, operator.add),
    (ir.AffineMulExpr, operator.mul),
    (ir.AffineModExpr, operator.mod),
    (ir.AffineFloorDivExpr, _floordiv),
    (ir.AffineCeilDivExpr, _ceildiv),
)

_WIDTH_CASTS = {"arith.index_cast", "arith.extui", "arith.extsi"}

# The order is that of arith's predicate enumeration.
_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)


class StaticValues:
    """Evaluates SSA values to integers on demand and caches the results.

    Valid only while the module is not mutated.
    """

    def __init__(self, known: dict[ir.Value, int] | None = None):
        self._known = dict(known or {})

    def __call__(self, value: ir.Value) -> int:
        """Returns the number that `value` holds.

        Raises:
            CodegenError: the value depends on something that is not constant.
        """
        if value not in self._known:
            self._known[value] = self._evaluate(value)
        return self._known[value]

    def _evaluate(self, value: ir.Value) -> int:
        if isinstance(value.owner, ir.Block):
            raise CodegenError("the schedule depends on a value that is not static")
        op = value.owner.operation
        if plain_name(op) == "util.assume.int":
            return self(op.operands[cast(ir.OpResult, value).result_number])
        return evaluate(op, [self(operand) for operand in op.operands])


def evaluate(op: ir.Operation, operands: list[int]) -> int:
    """Returns the result of an integer op of `arith` or `affine` on numbers.

    Raises:
        CodegenError: the op is not supported.
    """
    if op.name == "arith.constant":
        return _constant(op)
    if op.name.startswith("affine."):
        return _affine(op, operands)
    return _arithmetic(op, operands)


def _constant(op: ir.Operation) -> int:
    attr = op.attributes["value"]
    if isinstance(attr, ir.BoolAttr):
        return int(attr.value)
    if isinstance(attr, ir.IntegerAttr):
        return attr.value
    raise CodegenError(f"the schedule uses the constant {attr}, expected an integer")


def _arithmetic(op: ir.Operation, operands: list[int]) -> int:
    name = plain_name(op)
    if name in _BINARY:
        return _BINARY[name](operands[0], operands[1])
    if op.name == "arith.index_castui":
        return _truncated(op, operands[0])
    if op.name in _WIDTH_CASTS:
        return operands[0]
    if op.name == "arith.trunci":
        return _truncated(op, operands[0])
    if op.name == "arith.select":
        return operands[1] if operands[0] else operands[2]
    if op.name == "arith.cmpi":
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        return int(_COMPARISONS[predicate](operands[0], operands[1]))
    raise CodegenError(f"the schedule depends on '{op.name}', which is not static")


def _truncated(op: ir.Operation, value: int) -> int:
    kind = op.results[0].type
    return value & ((1 << kind.width) - 1) if isinstance(kind, ir.IntegerType) else value


def _affine(op: ir.Operation, operands: list[int]) -> int:
    affine_map = ir.AffineMapAttr(op.attributes["map"]).value
    dims, symbols = operands[: affine_map.n_dims], operands[affine_map.n_dims :]
    results = [_expression(result, dims, symbols) for result in affine_map.results]
    return max(results) if op.name == "affine.max" else min(results)


def _expression(expression: ir.AffineExpr, dims: list[int], symbols: list[int]) -> int:
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineDimExpr):
        return dims[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return symbols[expression.position]
    if not isinstance(expression, ir.AffineBinaryExpr):
        raise CodegenError(f"the schedule depends on {expression}, which is not static")
    lhs = _expression(expression.lhs, dims, symbols)
    rhs = _expression(expression.rhs, dims, symbols)
    return _affine_operator(expression)(lhs, rhs)


def _affine_operator(expression: ir.AffineBinaryExpr) -> Callable[[int, int], int]:
    for kind, function in _AFFINE:
        if isinstance(expression, kind):
            return function
    raise CodegenError(f"the schedule depends on {expression}, which is not static")
