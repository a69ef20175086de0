"""Chains of transpositions and reshapes, with equal extents, against ONNX's reference."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import hipgraft

# In these, a copy reorders what another copy has reordered.
TWICE = (34, 41, 56, 67)


class _Chain:
    """A random model: an elementwise op or a concatenation, then views in other orders.

    Extents of 2 alone let a wrong order pass all checks of shapes.
    """

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.seed = seed
        self.nodes: list[onnx.NodeProto] = []
        self.shapes: list[onnx.TensorProto] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.shape = [self.draw.choice([2, 2, 3]) for _ in range(self.draw.choice([3, 4]))]
        self.value = self._start()
        for _ in range(self.draw.randint(1, 3)):
            self._transpose()
            self._reshape()
            if self.draw.random() < 0.2:
                self.value = self._op("Neg", [self.value])
        if self.draw.random() < 0.7:
            self._transpose()

    def model(self) -> onnx.ModelProto:
        kind = TensorProto.FLOAT
        inputs = [
            helper.make_tensor_value_info(name, kind, value.shape)
            for name, value in self.inputs.items()
        ]
        output = helper.make_tensor_value_info(self.value, kind, self.shape)
        graph = helper.make_graph(self.nodes, "chain", inputs, [output], self.shapes)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def _start(self) -> str:
        if self.draw.random() < 0.5:
            return self._op("Sigmoid", [self._input(self.shape)])
        axis = self.draw.randrange(len(self.shape))
        part = [1 if dim == axis else extent for dim, extent in enumerate(self.shape)]
        parts = [self._op("Sigmoid", [self._input(part)]) for _ in range(self.shape[axis])]
        return self._op("Concat", parts, axis=axis)

    def _transpose(self) -> None:
        order = list(range(len(self.shape)))
        self.draw.shuffle(order)
        self.value = self._op("Transpose", [self.value], perm=order)
        self.shape = [self.shape[dim] for dim in order]

    def _reshape(self) -> None:
        """Joins two dimensions, or splits one in halves."""
        choice, shape = self.draw.random(), self.shape
        even = [dim for dim, extent in enumerate(shape) if extent % 2 == 0 and extent > 2]
        if choice < 0.7 and len(shape) > 2:
            dim = self.draw.randrange(len(shape) - 1)
            self.shape = [*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]]
        elif choice < 0.9 and even:
            dim = even[0]
            self.shape = [*shape[:dim], 2, shape[dim] // 2, *shape[dim + 1 :]]
        name = f"shape{len(self.shapes)}"
        self.shapes.append(numpy_helper.from_array(np.array(self.shape, np.int64), name))
        self.value = self._op("Reshape", [self.value, name])

    def _input(self, shape: list[int]) -> str:
        name = f"x{len(self.inputs)}"
        generator = np.random.default_rng(self.seed + len(self.inputs))
        self.inputs[name] = generator.standard_normal(shape).astype(np.float32)
        return name

    def _op(self, kind: str, operands: list[str], **attributes: object) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name


def _check(seed: int, folder: Path) -> None:
    chain = _Chain(seed)
    model = chain.model()
    (want,) = ReferenceEvaluator(model).run(None, chain.inputs)
    onnx.save(model, folder / "chain.onnx")
    with hipgraft.compile(folder / "chain.onnx", target="cpu") as program:
        (got,) = program.run(list(chain.inputs.values()))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", TWICE)
def test_order_of_an_order(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(120))
def test_chains(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path)
