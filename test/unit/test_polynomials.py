"""Random arithmetic read as polynomials, compared with its own values."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.transforms.recognition.polynomials import Polynomial, polynomial

UNKNOWNS = (0.7, -1.3)
"""The values of the unknowns."""


class Tree:
    """A random expression: its op, its value and its degree as written."""

    def __init__(self, draw: random.Random, unknowns: Sequence[ir.Value], depth: int):
        mode = draw.choice(("add", "sub", "mul", "div", "neg", "pow", "x", "y", "number"))
        if depth == 0 or mode in ("x", "y", "number"):
            self._leaf(draw, unknowns)
            return
        left = Tree(draw, unknowns, depth - 1)
        if mode == "neg":
            self.op, self.value, self.degree = pointwise(mode, left.op), -left.value, left.degree
            return
        if mode in ("div", "pow"):
            number = draw.choice((1.0, 2.0, 3.0))
            self.op = pointwise(mode, left.op, constant(number))
            self.value = left.value / number if mode == "div" else left.value**number
            self.degree = left.degree * (1 if mode == "div" else int(number))
            return
        right = Tree(draw, unknowns, depth - 1)
        self.op = pointwise(mode, left.op, right.op)
        self.value = {
            "add": left.value + right.value,
            "sub": left.value - right.value,
            "mul": left.value * right.value,
        }[mode]
        together = left.degree + right.degree
        self.degree = together if mode == "mul" else max(left.degree, right.degree)

    def _leaf(self, draw: random.Random, unknowns: Sequence[ir.Value]) -> None:
        index = draw.randrange(3)
        if index < len(UNKNOWNS):
            self.op, self.value, self.degree = unknowns[index], UNKNOWNS[index], 1
        else:
            self.value, self.degree = draw.choice((-2.0, 0.25, 1.0, 5.0)), 0
            self.op = constant(self.value)


def constant(number: float) -> ir.Value:
    kind = ir.RankedTensorType.get([1], ir.F32Type.get())
    value = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get_f32(number))
    attributes = {"value": value}
    return ir.Operation.create("arith.constant", results=[kind], attributes=attributes).result


def pointwise(mode: str, *operands: ir.Value) -> ir.Value:
    return hipdnn.pointwise(*operands, mode=mode)


def value_of(terms: Polynomial) -> float:
    return sum(
        factor * math.prod(x**power for x, power in zip(UNKNOWNS, powers, strict=True))
        for powers, factor in terms.items()
    )


@pytest.mark.parametrize("seed", range(3))
def test_polynomials_have_the_value_of_what_they_are_read_from(seed: int) -> None:
    draw, read = random.Random(seed), 0
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) { return }")
        block = module.body.operations[0].operation.regions[0].blocks[0]
        unknowns = list(block.arguments)
        with ir.InsertionPoint.at_block_begin(block):
            for _ in range(200):
                tree = Tree(draw, unknowns, 3)
                terms = polynomial(tree.op, unknowns)
                if tree.degree <= 4:
                    assert terms is not None
                if terms is not None:
                    read += 1
                    assert value_of(terms) == pytest.approx(tree.value, rel=1e-6, abs=1e-9)
    assert read > 100


def test_other_arithmetic_is_no_polynomial() -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) { return }")
        block = module.body.operations[0].operation.regions[0].blocks[0]
        x, y = block.arguments
        with ir.InsertionPoint.at_block_begin(block):
            for value in (
                pointwise("div", x, y),
                pointwise("div", x, constant(0.0)),
                pointwise("pow", x, constant(0.5)),
                pointwise("pow", x, y),
                pointwise("tanh_fwd", x),
                pointwise("pow", pointwise("mul", x, y), constant(3.0)),  # of degree 6
            ):
                assert polynomial(value, [x, y]) is None
            deep = x
            for _ in range(11):
                deep = pointwise("neg", deep)
            assert polynomial(deep, [x]) is None
