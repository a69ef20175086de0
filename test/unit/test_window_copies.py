"""Windows on what elementwise ops, norms and reductions compute, against onnxruntime.

A window splits dims and reorders the parts, as the windows of Swin transformers do.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from small_onnx import RandomNodes

from hipgraft.transforms import split_dims, written_order


class Windows(RandomNodes):
    """A random model and its results."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.results: list[str] = []
        rank = self.draw.choice([2, 3, 4])
        self.parts = [
            [self.draw.choice([1, 2, 3]) for _ in range(self.draw.choice([1, 2, 2]))]
            for _ in range(rank)
        ]

    @property
    def shape(self) -> list[int]:
        return [math.prod(part) for part in self.parts]

    def const(self, values: object, dtype: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(values, dtype)
        return name

    def operand(self, shape: list[int]) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values.standard_normal(shape).astype(np.float32)
        return name

    def scale(self) -> str:
        return self.const(self.values.standard_normal(self.shape[-1:]), np.float32)

    def step(self, x: str) -> str:
        dim = self.draw.randrange(len(self.parts))
        kind = self.draw.choice(["Tanh", "Add", "LayerNormalization", "ReduceSum", "Softmax"])
        if kind == "Add":
            repeated = [extent if self.draw.random() < 0.6 else 1 for extent in self.shape]
            return self.op(kind, x, self.operand(repeated))
        if kind == "LayerNormalization":
            return self.op(kind, x, self.scale(), self.scale(), axis=-1)
        if kind == "ReduceSum":
            self.parts[dim] = [1]
            return self.op(kind, x, self.const([dim]), keepdims=1)
        return self.op(kind, x) if kind == "Tanh" else self.op(kind, x, axis=dim)

    def build(self) -> None:
        x = self.op("Tanh", self.operand(self.shape))
        for _ in range(self.draw.choice([1, 2, 3])):
            x = self.step(x)
            if self.draw.random() < 0.2:
                self.results.append(x)
        extents = [extent for part in self.parts for extent in part]
        order = list(range(len(extents)))
        self.draw.shuffle(order)
        window = self.op("Transpose", self.op("Reshape", x, self.const(extents)), perm=order)
        rows = math.prod(extents[dim] for dim in order[: self.draw.randrange(len(order)) + 1])
        table = self.op("Reshape", window, self.const([rows, -1]))
        columns = math.prod(extents) // rows
        weights = self.const(self.values.standard_normal((columns, 3)), np.float32)
        self.results.append(self.op("MatMul", table, weights))


def _run(seed: int, folder: Path) -> None:
    model = Windows(seed)
    model.build()
    model.check(folder / "m.onnx", model.results)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_windows(seed: int, tmp_path: Path) -> None:
    _run(seed, tmp_path)


def test_some_windows_split_dims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models reach what they test."""
    split: list[object] = []

    def counted(*args) -> None:
        before = str(args[1].type)
        split_dims.split_dims(*args)
        if str(args[1].type) != before:
            split.append(before)

    monkeypatch.setattr(written_order, "split_dims", counted)
    for seed in range(0, 60, 5):
        _run(seed, tmp_path)
    assert len(split) > 1
