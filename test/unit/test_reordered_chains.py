"""Chains of transpositions and reshapes, with equal extents, against ONNX's reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from random_models import RandomModel

import hipgraft

# In these chains, a copy reorders the result of another reordering copy.
TWICE = (34, 41, 56, 67)


class _Chain(RandomModel):
    """A random model: an elementwise op or a concatenation, then views in other orders.

    Extents of 2 alone let a wrong order pass all checks of shapes.
    """

    def __init__(self, seed: int):
        super().__init__(seed)
        self.shape = [self.draw.choice([2, 2, 3]) for _ in range(self.draw.choice([3, 4]))]
        self.value = self._start()
        for _ in range(self.draw.randint(1, 3)):
            self._transpose()
            self._reshape()
            if self.draw.random() < 0.2:
                self.value = self.op("Neg", [self.value])
        if self.draw.random() < 0.7:
            self._transpose()

    def _start(self) -> str:
        if self.draw.random() < 0.5:
            return self.op("Sigmoid", [self.input(self.shape)])
        axis = self.draw.randrange(len(self.shape))
        part = [1 if dim == axis else extent for dim, extent in enumerate(self.shape)]
        parts = [self.op("Sigmoid", [self.input(part)]) for _ in range(self.shape[axis])]
        return self.op("Concat", parts, axis=axis)

    def _transpose(self) -> None:
        order = list(range(len(self.shape)))
        self.draw.shuffle(order)
        self.value = self.op("Transpose", [self.value], perm=order)
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
        self.value = self.op("Reshape", [self.value, self.number(*self.shape)])


def _check(seed: int, folder: Path) -> None:
    chain = _Chain(seed)
    path = chain.save(folder / "chain.onnx", chain.value)
    (want,) = ReferenceEvaluator(str(path)).run(None, chain.inputs)
    with hipgraft.compile(path, target="cpu") as program:
        (got,) = program.run(list(chain.inputs.values()))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", TWICE)
def test_order_of_an_order(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(120))
def test_chains(seed: int, tmp_path: Path) -> None:
    _check(seed, tmp_path)
