"""Kernels for the CPU that need more of the stack than IREE's workers have by default."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import hipgraft

pytestmark = pytest.mark.slow


def test_rows_that_are_gathered_and_normalized(tmp_path: Path):
    text = """
        <ir_version: 9, opset_import: ["" : 17]>
        main (float[1, 8, 32, 32, 16] x, int64[32] i, float[1, 8, 32, 32, 32] b)
            => (float[1, 8, 32, 32, 32] s, float[1, 8, 32, 32, 32] y)
        <float[8] scale = {1, 1, 1, 1, 1, 1, 1, 1}, float[8] shift = {0, 0, 0, 0, 0, 0, 0, 0}> {
            g = Gather <axis = 4> (x, i)
            s = Add (g, b)
            n = InstanceNormalization (s, scale, shift)
            y = Relu (n)
        }
    """
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    random = np.random.default_rng(0)
    x = random.normal(size=(1, 8, 32, 32, 16)).astype(np.float32)
    b = random.normal(size=(1, 8, 32, 32, 32)).astype(np.float32)
    places = np.arange(32) // 2
    total, y = hipgraft.compile(path, "cpu").run([x, places, b])
    expected = x[..., places] + b
    np.testing.assert_allclose(total, expected, rtol=1e-6)
    rows = expected - expected.mean((2, 3, 4), keepdims=True)
    rows /= np.sqrt((rows**2).mean((2, 3, 4), keepdims=True) + 1e-5)
    np.testing.assert_allclose(y, np.maximum(rows, 0), rtol=1e-3, atol=1e-4)
