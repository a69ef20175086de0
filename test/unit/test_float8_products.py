"""Products of floats of 8 bits that matrix instructions multiply, against NumPy in f64."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from emulator import open_emulator, requires_emulator

import hipgraft
from hipgraft.codegen.target import Target

pytestmark = requires_emulator

FLOATS = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1201"])
@pytest.mark.parametrize("seed", range(36))
def test_random_products(tmp_path: Path, seed: int, architecture: str):
    """Any extents, weights by rows or columns, batches that may share weights, and NaN."""
    random = np.random.default_rng(seed)
    left, right = random.choice(sorted(Target.parse(architecture).matrix_bytes), 2)
    batch, rows = int(random.choice([1, 1, 2, 3])), int(random.choice([16, 17, 33, 64, 100]))
    depth = int(random.choice([1, 7, 16, 24, 32, 40, 96, 100, 160, 288, 512]))
    columns = int(random.choice([1, 3, 16, 17, 40, 64, 100, 256]))
    weights, by_columns = int(random.choice([1, batch])), bool(random.integers(2))
    x = (2 * random.standard_normal((batch, rows, depth))).astype(FLOATS[left])
    w = (2 * random.standard_normal((weights, depth, columns))).astype(FLOATS[right])
    x[0, random.integers(rows), 0] = np.nan
    factor, given, view = f"{weights}x{depth}x{columns}x{right}", w, ""
    stored = factor
    if by_columns:
        stored, given = f"{weights}x{columns}x{depth}x{right}", w.swapaxes(1, 2)
        view = (
            f'%v = "hipdnn.view"(%w) {{offset = 0 : i64, strides = array<i64: {columns * depth}, '
            f"1, {depth}>}} : (tensor<{stored}>) -> tensor<{factor}>"
        )
    kinds = f"tensor<{batch}x{rows}x{depth}x{left}>", f"tensor<{batch}x{rows}x{columns}xf32>"
    (tmp_path / "m.mlir").write_text(f"""
func.func @main(%x: {kinds[0]}, %w: tensor<{stored}>) -> {kinds[1]} {{
  {view}
  %y = "hipdnn.matmul"(%x, %{"v" if view else "w"}) : ({kinds[0]}, tensor<{factor}>) -> {kinds[1]}
  return %y : {kinds[1]}
}}""")
    device = open_emulator(architecture)
    with hipgraft.compile(tmp_path / "m.mlir", architecture) as program:
        (found,) = program.run([x, np.ascontiguousarray(given)], device)
    device.close()
    expected = x.astype(np.float64) @ w.astype(np.float64)
    scale = np.nanmax(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * scale)
