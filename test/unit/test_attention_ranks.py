"""Attention of any rank, with permuted operands and masks that repeat, against onnxruntime."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import helper
from small_onnx import F32, save

import hipgraft

node = helper.make_node


class Attention:
    """A random spelling of attention: its nodes, inputs and constants."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.nodes: list = []
        self.inputs: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {"low": np.float32(-1e38), "zero": np.float32(0)}
        self.lead = [self.draw.choice([1, 2, 3]) for _ in range(self.draw.choice([2, 3, 3, 4]))]

    def operand(self, name: str, shape: list[int]) -> str:
        """Adds an input that is stored in another order, and returns its view."""
        order = list(range(len(shape)))
        self.draw.shuffle(order)
        stored = [shape[order.index(dim)] for dim in range(len(shape))]
        self.inputs[name] = self.values.standard_normal(stored).astype(np.float32)
        return self.op("Transpose", name, perm=order)

    def op(self, op_type: str, *operands: str, **attributes: object) -> str:
        result = f"r{len(self.nodes)}"
        self.nodes.append(node(op_type, operands, [result], **attributes))
        return result

    def masked(self, scores: str, number: int, extents: tuple[int, int]) -> str:
        """Masks scores, in some of their dims."""
        whole = [*self.lead, *extents]
        shape = [extent if self.draw.random() < 0.6 else 1 for extent in whole]
        mask = self.operand(f"mask{number}", shape[self.draw.choice([0, 0, 1]) :])
        if self.draw.random() < 0.3:
            return self.op("Where", self.op("Greater", mask, "zero"), scores, "low")
        return self.op("Add", scores, mask)

    def build(self) -> str:
        rows, keys, depth, width = 5, 4, 8, 6
        q = self.operand("q", [*self.lead, rows, depth])
        k = self.operand("k", [*self.lead, depth, keys])
        v = self.operand("v", [*self.lead, keys, width])
        scores = self.op("MatMul", q, k)
        for number in range(self.draw.choice([0, 1, 1, 2])):
            scores = self.masked(scores, number, (rows, keys))
        weights = self.op("Softmax", scores, axis=-1)
        return self.op("MatMul", weights, v)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(32))
def test_attention(seed: int, tmp_path: Path) -> None:
    attention = Attention(seed)
    result = attention.build()
    path = save(
        tmp_path / "m.onnx",
        attention.nodes,
        attention.inputs,
        [(result, F32)],
        attention.constants,
    )
    (want,) = onnxruntime.InferenceSession(path).run(None, attention.inputs)
    (got,) = hipgraft.compile(path, "cpu").run(attention.inputs)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
