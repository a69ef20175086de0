"""Random graphs of reductions of one row and of ops on its elements, against double precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator
from lowering_cases import DTYPES, Array, Case, splat, tensor_type
from oracle.tensors import layernorm, rmsnorm
from test_results_in_any_order import strides
from test_rows import check, compiled, softmax_case

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir

LENGTHS = (2, 3, 8, 15, 64, 77, 120, 256, 500, 1003, 2048, 3001, 4096, 9000)
EPSILON = 1e-5

UNARY = {
    "identity": lambda x: x,
    "relu_fwd": lambda x: np.maximum(x, 0),
    "tanh_fwd": np.tanh,
    "abs": np.abs,
}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "max_op": np.maximum}
REDUCTIONS = {"MAX": np.max, "MIN": np.min, "AVG": np.mean, "NORM2": np.linalg.norm}
NORMS = {"layernorm": layernorm, "rmsnorm": rmsnorm}


@dataclass
class Step:
    """An op: its mode, or the kind of norm, and the numbers of the values that it reads."""

    mode: str
    operands: list[int]


class RowGraph:
    """A random graph; each value is one element or has as many as the row.

    Attributes:
        element: type of the operands and results.
        shape: the extents, whose product is the length of the row.
        inputs: the row, then tensors that broadcast to it.
        steps: the ops; the values are `inputs`, then the results of `steps`.
        yielded: numbers of the values that the graph yields.
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.element = str(self.random.choice(["f16", "bf16", "f32"]))
        self.shape = self._extents(int(self.random.choice(LENGTHS)))
        self.inputs: list[Array] = []
        parts = [self.shape] + [self._part() for _ in range(self.random.integers(1, 3))]
        for shape in [*parts, self.shape, self.shape]:
            self.inputs.append(self.random.uniform(-2, 2, shape).astype(DTYPES[self.element]))
        self.steps: list[Step] = []
        self._wide, self._parts, self.units = [0], range(1, len(parts)), list[int]()
        for number in range(self.random.integers(1, 5)):
            kinds = [self._statistic, self._statistic, self._elements, self._norm]
            kinds[0 if number == 0 else self.random.integers(len(kinds))]()
        self.yielded = [self._wide[-1]]
        if self.random.integers(4) == 0:
            self.yielded.append(self._one_of(self.units))

    def _statistic(self) -> None:
        """Reduces the row, and combines the result with it or with an earlier row."""
        unit = self._add(self._one_of(list(REDUCTIONS)), [self._wide[-1]])
        if self.random.integers(2):
            unit = self._add("tanh_fwd", [unit])
        self.units.append(unit)
        first = self._wide[-1] if len(self._wide) < 3 else self._one_of(self._wide[-2:])
        self._wide.append(self._add(self._one_of(["add", "sub", "mul"]), [first, unit]))

    def _elements(self) -> None:
        x = self._add(self._one_of(list(UNARY)), [self._wide[-1]])
        others = [*self.units, *self._parts, *self._wide]
        self._wide.append(self._add(self._one_of(list(BINARY)), [x, self._one_of(others)]))

    def _norm(self) -> None:
        last = len(self.inputs) - 1
        factors = self._one_of([[last - 1, last], [1, 1]])
        mode = self._one_of(list(NORMS)) if factors[0] > 1 else "layernorm"
        self._wide.append(self._add(mode, [self._wide[-1], *factors]))

    def _one_of(self, values: Sequence[Any]) -> Any:
        return values[self.random.integers(len(values))]

    def _add(self, mode: str, operands: list[int]) -> int:
        self.steps.append(Step(mode, operands))
        return len(self.inputs) + len(self.steps) - 1

    def _extents(self, length: int) -> list[int]:
        shape = [length]
        for factor in (2, 3, 5, 8):
            if len(shape) < 4 and shape[-1] % factor == 0 and self.random.integers(2):
                shape[-1:] = [factor, shape[-1] // factor]
        shape += [1] * self.random.integers(0, 5 - len(shape))
        self.random.shuffle(shape)
        return shape

    def _part(self) -> list[int]:
        return [self._one_of([1, extent]) for extent in self.shape]

    def expected(self) -> list[Array]:
        """Returns what the graph yields, in double precision."""
        values = [one.astype(np.float64) for one in self.inputs]
        for step in self.steps:
            read = [values[number] for number in step.operands]
            values.append(_computed(step.mode, read))
        return [values[number] for number in self.yielded]

    def build(self, *arguments: Any) -> list[Any]:
        """Builds the ops; returns the values to yield."""
        values = list(arguments)
        for number, step in enumerate(self.steps, len(arguments)):
            read = [values[operand] for operand in step.operands]
            wide = max((value.type.shape for value in read), key=math.prod)
            element = self.element if number in self.yielded else "f32"
            values.append(_built(step.mode, read, wide, element))
        return [values[number] for number in self.yielded]

    def case(self, name: str) -> Case:
        """Returns the graph with random layouts of its tensors."""
        expected = self.expected()
        order = [int(dim) for dim in self.random.permutation(len(self.shape))]
        stored = [int(dim) for dim in self.random.permutation(len(self.shape))]
        inputs, steps = list[Array](), list[list[int]]()
        for value in self.inputs:
            dims = stored if value.shape == self.inputs[0].shape else range(value.ndim)
            inputs.append(value.transpose(dims).copy())
            steps.append(strides(value.shape, dims))
        layouts = {
            "arg_strides": steps,
            "result_strides": [strides(value.shape, order) for value in expected],
        }
        return Case(
            name,
            inputs,
            self.build,
            [value.transpose(order) for value in expected],
            [self.element] * len(expected),
            {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-4}[self.element],
            {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-4}[self.element],
            shapes=[value.shape for value in self.inputs],
            layouts=layouts,
            logical_results=[value.shape for value in expected],
        )


def _computed(mode: str, read: list[Array]) -> Array:
    if mode in UNARY:
        return UNARY[mode](*read)
    if mode in BINARY:
        return BINARY[mode](*read)
    if mode in REDUCTIONS:
        return np.asarray(REDUCTIONS[mode](read[0].ravel())).reshape([1] * read[0].ndim)
    axes = tuple(range(read[0].ndim))
    if mode == "rmsnorm":
        return rmsnorm(*read[:2], EPSILON, axes)[0]
    return layernorm(*read, EPSILON, axes)[0]


def _built(mode: str, read: list[Any], wide: Sequence[int], element: str) -> Any:
    type_ = tensor_type(wide, element)
    if mode in REDUCTIONS:
        unit = tensor_type([1] * len(wide), element)
        return hipdnn.reduction(read[0], mode=mode, result_type=unit)
    count = len(wide)
    if mode == "layernorm":
        op = hipdnn.LayernormOp.build(
            *read,
            splat(EPSILON),
            results={"y": type_},
            forward_phase="INFERENCE",
            normalized_dim_count=count,
        )
        return op.y
    if mode == "rmsnorm":
        op = hipdnn.RmsnormOp.build(
            *read[:2],
            splat(EPSILON),
            results={"y": type_},
            forward_phase="INFERENCE",
        )
        return op.y
    return hipdnn.pointwise(*read, mode=mode, result_type=type_)


@requires_emulator
@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("seed", range(240))
def test_random_graphs_are_right(seed: int, architecture: str) -> None:
    case = RowGraph(seed).case(f"row_{seed}")
    check(case, compiled(case, architecture))


def centred_case(*shape: int, order: Sequence[int] | None = None) -> Case:
    """A norm of all elements, written as ops, with a factor for each index of the second dim.

    The elements and the result are stored in `order`.
    """
    order = range(len(shape)) if order is None else order
    x = np.random.default_rng(0).uniform(-2, 2, shape).astype(np.float16)
    scale = np.arange(shape[1], dtype=np.float16).reshape(1, -1, *[1] * (len(shape) - 2))
    deviation = x - x.mean(dtype=np.float64)
    expected = deviation / np.sqrt((deviation * deviation).mean()) * scale

    def build(gx: Any, gs: Any) -> ir.Value:
        unit, wide = tensor_type([1] * len(shape), "f32"), tensor_type(shape, "f32")
        mean = hipdnn.reduction(gx, mode="AVG", result_type=unit)
        deviation = hipdnn.pointwise(gx, mean, mode="sub", result_type=wide)
        square = hipdnn.pointwise(deviation, deviation, mode="mul")
        variance = hipdnn.reduction(square, mode="AVG", result_type=unit)
        y = hipdnn.pointwise(deviation, hipdnn.pointwise(variance, mode="sqrt"), mode="div")
        return hipdnn.pointwise(y, gs, mode="mul", result_type=tensor_type(shape, "f16"))

    steps = strides(shape, order)
    return Case(
        "centred",
        [x.transpose(order).copy(), scale],
        build,
        [expected.transpose(order)],
        ["f16"],
        2e-2,
        2e-3,
        shapes=[shape, scale.shape],
        layouts={"arg_strides": [steps, None], "result_strides": [steps]},
        logical_results=[shape],
    )


def normed_case(*shape: int, element: str) -> Case:
    """A layer norm with an activation."""
    x, scale, bias = np.random.default_rng(0).uniform(-2, 2, (3, *shape)).astype(DTYPES[element])
    wide = [value.astype(np.float64) for value in (x, scale, bias)]
    y = layernorm(*wide, EPSILON, tuple(range(1, len(shape))))[0]

    def build(*arguments: Any) -> ir.Value:
        y = _built("layernorm", list(arguments), shape, "f32")
        return hipdnn.pointwise(y, mode="relu_fwd", result_type=tensor_type(shape, element))

    return Case(
        f"normed_{element}", [x, scale, bias], build, [np.maximum(y, 0)], [element], 1e-2, 1e-2
    )


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "case",
    [
        normed_case(1, 8, 1, 1, element="f32"),
        normed_case(1, 8, 1, 1, element="f16"),
        softmax_case(1, 1, 1, 256),
        centred_case(1, 8, 15),
        centred_case(1, 8, 15, order=[0, 2, 1]),
        centred_case(1, 32, 6, 7, order=[2, 0, 3, 1]),
        centred_case(1, 5, 1),
    ],
    ids=lambda case: f"{case.name}-{'x'.join(map(str, case.inputs[0].shape))}",
)
def test_one_workgroup_computes_a_row(case: Case, architecture: str) -> None:
    kernel = compiled(case, architecture)
    (launch,) = kernel.dispatches
    assert launch.grid == (1, 1, 1)
    check(case, kernel)


# IREE would run one lane for the shortest row. It would keep the longest in shared memory, and
# distribute only the last dim of the third.
@requires_emulator
@pytest.mark.parametrize(
    ("shape", "target"),
    [((1, 3, 1), "gfx1100"), ((1, 8, 8192), "gfx942"), ((1, 50, 2, 5), "gfx942")],
)
def test_other_rows_take_several_launches(shape: tuple[int, ...], target: str) -> None:
    case = centred_case(*shape)
    kernel = compiled(case, target)
    assert len(kernel.dispatches) > 1
    check(case, kernel)
