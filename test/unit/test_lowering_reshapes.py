"""Reshapes that lowerings write are valid for any two shapes."""

from __future__ import annotations

import random

import pytest

from hipgraft.codegen.lowering.emit.boundary import reshaped
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context


def factored(number: int, generator: random.Random) -> list[int]:
    """Returns extents, some of them 1, whose product is a given number."""
    shape: list[int] = []
    while number > 1:
        extent = generator.choice([one for one in range(2, number + 1) if number % one == 0])
        shape.append(extent)
        number //= extent
    for _ in range(generator.randrange(3)):
        shape.insert(generator.randrange(len(shape) + 1), 1)
    return shape or [1]


def check(source: list[int], result: list[int]) -> int:
    """Checks that the ops for a reshape are valid, and returns their number."""
    emitter = Emitter(Target.parse("gfx942"))
    value = reshaped(emitter, Tensor.logical("%x", source, "f32"), result)
    assert list(value.extents) == result
    kinds = ["tensor<" + "x".join(map(str, shape)) + "xf32>" for shape in (source, result)]
    text = f"func.func @f(%x: {kinds[0]}) -> {kinds[1]} {{\n{emitter.text()}\n"
    with make_context():
        ir.Module.parse(f"{text}return {value.name} : {kinds[1]}\n}}")
    return len(emitter.lines)


@pytest.mark.parametrize("seed", range(40))
def test_any_shape_to_any_other(seed: int) -> None:
    generator = random.Random(seed)
    number = generator.choice([1, 8, 12, 36, 60, 64])
    source, result = (factored(number, generator) for _ in range(2))
    # One op where dims of one shape are products of the other's, else two.
    assert check(source, result) <= 2


def test_a_unit_dim_for_which_no_dim_is_left() -> None:
    assert check([2, 3, 4], [6, 4, 1]) == 2
    assert check([6, 4, 1], [2, 3, 4]) == 2


def test_dims_that_are_products_take_one_op() -> None:
    for source, result in (((2, 3, 4), (6, 4)), ((6, 4), (2, 3, 4)), ((2, 6), (3, 4))):
        emitter = Emitter(Target.parse("gfx942"))
        reshaped(emitter, Tensor.logical("%x", source, "f32"), result)
        assert len(emitter.lines) == (2 if source == (2, 6) else 1)
