"""Norms, and the ops that share their kernels, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from onnx import helper
from small_onnx import F32, save

import hipgraft

pytestmark = pytest.mark.slow

random = np.random.default_rng(5)


def normalized(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale + bias


@requires_emulator
@pytest.mark.sampled(4)
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


BROADCAST = """
func.func @main(%x: tensor<2x24x48xf32>, %c: tensor<1x1x48xf32>, %r: tensor<2x24x1xf32>)
    -> tensor<2x24x48xf32> {
  %e = arith.constant dense<1.0e-5> : tensor<1xf32>
  %z = arith.constant dense<0.0> : tensor<1x1x48xf32>
  %s = "hipdnn.pointwise"(%c) {mode = "exp"} : (tensor<1x1x48xf32>) -> tensor<1x1x48xf32>
  %q = "hipdnn.pointwise"(%r) {mode = "tanh_fwd"} : (tensor<2x24x1xf32>) -> tensor<2x24x1xf32>
  %w = "hipdnn.pointwise"(%x, %q) {mode = "mul"}
    : (tensor<2x24x48xf32>, tensor<2x24x1xf32>) -> tensor<2x24x48xf32>
  %y = "hipdnn.layernorm"(%w, %s, %z, %e)
    {forward_phase = "INFERENCE", normalized_dim_count = 1 : i64}
    : (tensor<2x24x48xf32>, tensor<1x1x48xf32>, tensor<1x1x48xf32>, tensor<1xf32>)
    -> tensor<2x24x48xf32>
  %o = "hipdnn.pointwise"(%y, %s) {mode = "mul"}
    : (tensor<2x24x48xf32>, tensor<1x1x48xf32>) -> tensor<2x24x48xf32>
  return %o : tensor<2x24x48xf32>
}
"""


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_what_is_broadcast_shares_the_kernel(tmp_path: Path, architecture: str):
    """A factor of each row before the norm; the norm's scale is a factor after it, too."""
    path = tmp_path / "m.mlir"
    path.write_text(BROADCAST)
    x, c, r = (
        random.standard_normal(shape).astype(np.float32)
        for shape in ((2, 24, 48), (1, 1, 48), (2, 24, 1))
    )
    device = open_emulator(architecture)
    with hipgraft.compile(path, architecture) as program:
        assert str(program.module).count("gpu.launch_func ") == 1
        (found,) = program.run([x, c, r], device)
    device.close()
    scale = np.exp(c)
    want = normalized(x * np.tanh(r), scale, np.zeros(1)) * scale
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
