"""The declaration of the pointwise modes, evaluated on Python's floats."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracle.pointwise import MODES

from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.dialects.hipdnn.arithmetic import ModeParameters

STRUCTURAL = {PointwiseMode.BINARY_SELECT, PointwiseMode.GEN_INDEX, PointwiseMode.IDENTITY}
"""Modes that move elements and compute nothing."""

NUMBERS = (-2.5, -0.3, 0.7, 3.0)

_COMPARE = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


class Floats:
    """The arithmetic of expressions on Python's floats."""

    def constant(self, value):
        return value

    def add(self, a, b):
        return a + b

    def sub(self, a, b):
        return a - b

    def mul(self, *factors):
        return math.prod(factors)

    def div(self, a, b):
        return a / b

    def mod(self, a, b):
        return math.fmod(a, b)

    def power(self, a, b):
        return a**b

    def pick(self, predicate, a, b):
        return a if _COMPARE[predicate](a, b) else b

    def maximum(self, a, b):
        return max(a, b)

    def absolute(self, x):
        return abs(x)

    def negate(self, x):
        return -x

    def reciprocal(self, x):
        return 1 / x

    def math(self, name, x):
        return 1 / math.sqrt(x) if name == "rsqrt" else getattr(math, name)(x)

    def exponential(self, x):
        return math.exp(x)

    def sigmoid(self, x):
        return 1 / (1 + math.exp(-x))

    def affine(self, scale, x, shift):
        return scale * x + shift

    def compare(self, predicate, a, b):
        return _COMPARE[predicate](a, b)

    def select(self, predicate, x, bound, yes, no):
        return yes if _COMPARE[predicate](x, bound) else no

    def both(self, a, b):
        return a and b

    def either(self, a, b):
        return a or b


@pytest.mark.parametrize("mode", [mode for mode in PointwiseMode if mode not in STRUCTURAL])
def test_expression_agrees_with_the_oracle(mode: PointwiseMode):
    needs_positive = mode.value in ("log", "pow", "rsqrt", "sqrt")
    numbers = [abs(x) for x in NUMBERS] if needs_positive else NUMBERS
    info = mode.info
    expression = info.unary if len(info.operands) == 1 else info.binary
    for a in numbers:
        for b in numbers:
            operands = [bool(x > 0) if info.on_truth else x for x in (a, b)][: len(info.operands)]
            found = expression(Floats(), ModeParameters(), *operands)
            expected = MODES[mode](*(np.float64(x) for x in operands))
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-9), operands


@pytest.mark.parametrize("mode", PointwiseMode)
def test_declaration_is_complete(mode: PointwiseMode):
    info = mode.info
    expressions = {1: info.unary, 2: info.binary}
    arity = len(info.operands)
    given = [count for count, expression in expressions.items() if expression is not None]
    assert given == ([] if mode in STRUCTURAL else [arity])
    assert set(info.attributes) <= {field.name for field in PointwiseOp.attribute_fields}
    assert sorted(info.file_order or info.operands) == sorted(info.operands)
    assert info.formula
    assert mode in MODES, "the oracle lacks the mode"
