"""Concatenations of what other ops compute, against onnxruntime."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from emulator import requires_emulator
from onnx import TensorProto, helper, numpy_helper

import hipgraft

UNARY, BINARY = ("Neg", "Relu", "Abs", "Sigmoid"), ("Add", "Mul", "Sub")


class _Chain:
    """A random model whose result is a concatenation."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.seed = seed
        self.nodes: list[onnx.NodeProto] = []
        self.numbers: list[onnx.TensorProto] = []
        self.inputs: dict[str, np.ndarray[Any, Any]] = {}
        shape = [self.draw.choice([2, 3, 4, 6, 20]) for _ in range(self.draw.choice([2, 3, 3, 4]))]
        shape[self.draw.randrange(len(shape))] = self.draw.choice([1, 2, 3])
        result = self._concatenated(shape if max(shape) > 1 else [2, *shape], 2)
        self.model = self._built(result)

    def _built(self, result: str) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
            for name, value in self.inputs.items()
        ]
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "chain", inputs, [output], self.numbers)
        opsets = [helper.make_opsetid("", 17)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)

    def _value(self, shape: list[int], depth: int) -> str:
        choice = self.draw.random()
        if depth == 0 or choice < 0.25:
            return self._read(shape)
        if choice < 0.45:
            return self._op(self.draw.choice(UNARY), [self._value(shape, depth - 1)])
        if choice < 0.6:
            operands = [self._value(shape, depth - 1) for _ in range(2)]
            return self._op(self.draw.choice(BINARY), operands)
        if choice < 0.8:
            return self._sliced(shape, depth - 1)
        return self._concatenated(shape, depth - 1)

    def _read(self, shape: list[int]) -> str:
        """Returns an input, which may be transposed, or broadcast in a sum."""
        order = list(range(len(shape)))
        if self.draw.random() < 0.3:
            self.draw.shuffle(order)
        value = self._input([shape[order.index(dim)] for dim in range(len(shape))])
        if order != sorted(order):
            value = self._op("Transpose", [value], perm=order)
        if self.draw.random() < 0.3:
            row = [1 if self.draw.random() < 0.5 else extent for extent in shape]
            value = self._op("Add", [value, self._input(row)])
        return value

    def _sliced(self, shape: list[int], depth: int) -> str:
        dim, step = self.draw.randrange(len(shape)), self.draw.choice([1, 1, 2])
        first = self.draw.randint(0, 2)
        end = first + shape[dim] * step
        whole = [*shape[:dim], end + self.draw.randint(0, 2), *shape[dim + 1 :]]
        bounds = [self._number(number) for number in (first, end, dim, step)]
        return self._op("Slice", [self._value(whole, depth), *bounds])

    def _concatenated(self, shape: list[int], depth: int) -> str:
        dims = [dim for dim, extent in enumerate(shape) if extent > 1]
        if not dims:
            return self._read(shape)
        dim = self.draw.choice(dims)
        extent = shape[dim]
        cuts = sorted(self.draw.sample(range(1, extent), self.draw.randint(1, min(3, extent - 1))))
        if extent % 2 == 0 and self.draw.random() < 0.4:
            cuts = [extent // 2]
        parts = [
            self._value([*shape[:dim], end - start, *shape[dim + 1 :]], depth)
            for start, end in pairwise([0, *cuts, extent])
        ]
        return self._op("Concat", parts, axis=dim)

    def _number(self, number: int) -> str:
        name = f"n{len(self.numbers)}"
        self.numbers.append(numpy_helper.from_array(np.array([number], np.int64), name))
        return name

    def _input(self, shape: list[int]) -> str:
        name = f"x{len(self.inputs)}"
        generator = np.random.default_rng(self.seed + len(self.inputs))
        self.inputs[name] = generator.standard_normal(shape).astype(np.float32)
        return name

    def _op(self, kind: str, operands: list[str], **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name


def _check(seed: int, folder: Path, target: str, device: str = "cpu") -> None:
    chain = _Chain(seed)
    session: Any = onnxruntime.InferenceSession(chain.model.SerializeToString())
    (want,) = session.run(None, chain.inputs)
    onnx.save(chain.model, folder / "chain.onnx")
    with hipgraft.compile(folder / "chain.onnx", target=target) as program:
        (got,) = program.run(chain.inputs, device=device)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(30))
def test_on_the_cpu(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path, "cpu")


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(30, 60))
def test_on_the_emulator(seed: int, tmp_path: Path) -> None:
    architecture = ("gfx942", "gfx1100")[seed % 2]
    _check(seed, tmp_path, architecture, f"emulator:{architecture}")
