"""Attention of any rank, with permuted operands and masks that repeat, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from small_onnx import RandomNodes


class Attention(RandomNodes):
    """A random spelling of attention."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.constants = {"low": np.array(-1e38, np.float32), "zero": np.array(0, np.float32)}
        self.lead = [self.draw.choice([1, 2, 3]) for _ in range(self.draw.choice([2, 3, 3, 4]))]

    def operand(self, name: str, shape: list[int]) -> str:
        """Adds an input that is stored in another order, and returns its view."""
        order = list(range(len(shape)))
        self.draw.shuffle(order)
        stored = [shape[order.index(dim)] for dim in range(len(shape))]
        self.inputs[name] = self.values.standard_normal(stored).astype(np.float32)
        return self.op("Transpose", name, perm=order)

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
    attention.check(tmp_path / "m.onnx", [attention.build()])


def test_batches_of_an_operand_that_do_not_join(tmp_path: Path) -> None:
    """The mask joins the last two batches, but the operands store these in another order."""
    attention = Attention(0)
    values, op = attention.values, attention.op
    attention.inputs["q"] = values.standard_normal((4, 6, 5, 8)).astype(np.float32)
    attention.inputs["k"] = values.standard_normal((4, 6, 8, 7)).astype(np.float32)
    attention.inputs["v"] = values.standard_normal((4, 6, 7, 8)).astype(np.float32)
    attention.inputs["m"] = values.standard_normal((2, 1, 1, 5, 7)).astype(np.float32)
    attention.constants["wide"] = np.array([2, 3, 4, 5, 7])
    attention.constants["narrow"] = np.array([6, 4, 5, 7])
    q, k, v = (op("Transpose", name, perm=[1, 0, 2, 3]) for name in "qkv")
    scores = op("MatMul", q, k)
    masked = op("Add", op("Reshape", scores, "wide"), "m")
    weights = op("Reshape", op("Softmax", masked, axis=-1), "narrow")
    attention.check(tmp_path / "m.onnx", [op("MatMul", weights, v)])
