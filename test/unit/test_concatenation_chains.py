"""Concatenations of computed tensors, against onnxruntime."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from emulator import requires_emulator
from random_models import RandomModel

import hipgraft

UNARY, BINARY = ("Neg", "Relu", "Abs", "Sigmoid"), ("Add", "Mul", "Sub")


class _Chain(RandomModel):
    """A random model whose result is a concatenation."""

    def __init__(self, seed: int):
        super().__init__(seed)
        shape = [self.draw.choice([2, 3, 4, 6, 20]) for _ in range(self.draw.choice([2, 3, 3, 4]))]
        shape[self.draw.randrange(len(shape))] = self.draw.choice([1, 2, 3])
        self.result = self._concatenated(shape if max(shape) > 1 else [2, *shape], 2)

    def _value(self, shape: list[int], depth: int) -> str:
        choice = self.draw.random()
        if depth == 0 or choice < 0.25:
            return self._read(shape)
        if choice < 0.45:
            return self.op(self.draw.choice(UNARY), [self._value(shape, depth - 1)])
        if choice < 0.6:
            other = [1 if self.draw.random() < 0.3 else extent for extent in shape]
            operands = [self._value(one, depth - 1) for one in (shape, other)]
            return self.op(self.draw.choice(BINARY), operands)
        if choice < 0.8:
            return self._sliced(shape, depth - 1)
        return self._concatenated(shape, depth - 1)

    def _read(self, shape: list[int]) -> str:
        """Returns an input, which may be transposed, or broadcast by a sum."""
        order = list(range(len(shape)))
        if self.draw.random() < 0.3:
            self.draw.shuffle(order)
        value = self.input([shape[order.index(dim)] for dim in range(len(shape))])
        if order != sorted(order):
            value = self.op("Transpose", [value], perm=order)
        if self.draw.random() < 0.3:
            row = [1 if self.draw.random() < 0.5 else extent for extent in shape]
            value = self.op("Add", [value, self.input(row)])
        return value

    def _sliced(self, shape: list[int], depth: int) -> str:
        dim, step = self.draw.randrange(len(shape)), self.draw.choice([1, 1, 2])
        first = self.draw.randint(0, 2)
        end = first + shape[dim] * step
        whole = [*shape[:dim], end + self.draw.randint(0, 2), *shape[dim + 1 :]]
        bounds = [self.number(number) for number in (first, end, dim, step)]
        return self.op("Slice", [self._value(whole, depth), *bounds])

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
        return self.op("Concat", parts, axis=dim)


def _check(seed: int, folder: Path, target: str, device: str = "cpu") -> None:
    chain = _Chain(seed)
    path = chain.save(folder / "chain.onnx", chain.result)
    session: Any = onnxruntime.InferenceSession(path)
    (want,) = session.run(None, chain.inputs)
    with hipgraft.compile(path, target=target) as program:
        (got,) = program.run(chain.inputs, device=device)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(30))
def test_on_the_cpu(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path, "cpu")


@pytest.mark.parametrize("target", ["cpu", "gfx942"])
def test_a_slice_of_one_element(target: str, tmp_path: Path) -> None:
    """IREE 3.13.0 emits invalid IR if a slice itself becomes a part of the concatenation."""
    model = RandomModel(0)
    bounds = [model.number(number) for number in (1, 2, 0)]
    part = model.op("Slice", [model.input([2, 1]), *bounds])
    whole = model.op("Concat", [model.input([1, 1]), part], axis=0)
    hipgraft.compile(model.save(tmp_path / "slice.onnx", whole), target=target)


@requires_emulator
@pytest.mark.sampled(30)
@pytest.mark.parametrize("seed", range(30, 60))
def test_on_the_emulator(seed: int, tmp_path: Path) -> None:
    architecture = ("gfx942", "gfx1100")[seed % 2]
    _check(seed, tmp_path, architecture, f"emulator:{architecture}")
