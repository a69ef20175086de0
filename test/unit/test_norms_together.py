"""Norms that share a kernel, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from onnx import helper
from small_onnx import F32, save

import hipgraft

pytestmark = [pytest.mark.usefixtures("shared_worker")]

random = np.random.default_rng(5)


def normalized(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


@requires_emulator
@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(6, 128), (4, 100), (1, 300), (2, 3, 64)])
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_three_norms(tmp_path: Path, shape: tuple[int, ...], architecture: str):
    """The sum is a result, too, and two norms read it."""
    width = shape[-1]
    factors = {name: random.standard_normal(width).astype(np.float32) for name in "abcdef"}
    nodes = [
        helper.make_node("LayerNormalization", ["x", "a", "b"], ["inner"]),
        helper.make_node("Add", ["inner", "r"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "c", "d"], ["left"]),
        helper.make_node("LayerNormalization", ["sum", "e", "f"], ["right"]),
    ]
    inputs = {name: random.standard_normal(shape).astype(np.float32) for name in "xr"}
    outputs = [(name, F32) for name in ("sum", "left", "right")]
    path = save(tmp_path / "m.onnx", nodes, inputs, outputs, factors)
    total = normalized(inputs["x"], factors["a"], factors["b"]) + inputs["r"]
    expected = [total] + [normalized(total, factors[s], factors[b]) for s, b in ("cd", "ef")]
    device = open_emulator(architecture)
    with hipgraft.compile(path, architecture) as program:
        assert program.outlined is not None
        assert str(program.outlined).count('"hipdnn.graph"') == 2
        results = program.run(list(inputs.values()), device)
    device.close()
    for found, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
