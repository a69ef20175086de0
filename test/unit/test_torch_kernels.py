"""Elementwise ops in the kernels of torch ops, and constant indices as windows, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator import missing_reason

import hipgraft

_T = "!torch.vtensor<[3,8],f32>"
_HALF = "!torch.vtensor<[3,4],f32>"
PROGRAM = f"""
func.func @main(%a: {_T}, %w: !torch.vtensor<[8,8],f32>, %c: {_T}, %s: {_T}) -> ({_T}, {_HALF}) {{
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %four = torch.constant.int 4
  %eight = torch.constant.int 8
  %q = torch.aten.mm %a, %w : {_T}, !torch.vtensor<[8,8],f32> -> {_T}
  %l = torch.aten.slice.Tensor %q, %one, %zero, %four, %one
    : {_T}, !torch.int, !torch.int, !torch.int, !torch.int -> {_HALF}
  %h = torch.aten.slice.Tensor %q, %one, %four, %eight, %one
    : {_T}, !torch.int, !torch.int, !torch.int, !torch.int -> {_HALF}
  %n = torch.aten.neg %h : {_HALF} -> {_HALF}
  %list = torch.prim.ListConstruct %n, %l : ({_HALF}, {_HALF}) -> !torch.list<vtensor>
  %r = torch.aten.cat %list, %one : !torch.list<vtensor>, !torch.int -> {_T}
  %x = torch.aten.mul.Tensor %q, %c : {_T}, {_T} -> {_T}
  %y = torch.aten.mul.Tensor %r, %s : {_T}, {_T} -> {_T}
  %z = torch.aten.add.Tensor %x, %y, %one : {_T}, {_T}, !torch.int -> {_T}
  %odd = torch.vtensor.literal(dense<[1, 3, 5, 7]> : tensor<4xsi64>) : !torch.vtensor<[4],si64>
  %o = torch.aten.index_select %z, %one, %odd
    : {_T}, !torch.int, !torch.vtensor<[4],si64> -> {_HALF}
  %e = torch.aten.exp %o : {_HALF} -> {_HALF}
  return %z, %e : {_T}, {_HALF}
}}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "gfx942"])
def test_a_rotation_is_one_kernel_beside_its_product(target: str, tmp_path: Path):
    if target != "cpu" and missing_reason():
        pytest.skip(str(missing_reason()))
    path = tmp_path / "model.mlir"
    path.write_text(PROGRAM)
    random = np.random.default_rng(3)
    shapes = ((3, 8), (8, 8), (3, 8), (3, 8))
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    a, w, cosines, sines = (value.astype(np.float64) for value in inputs)
    q = a @ w
    z = q * cosines + np.concatenate([-q[:, 4:], q[:, :4]], 1) * sines
    device = "cpu" if target == "cpu" else f"emulator:{target}"
    with hipgraft.compile(path, target=target) as program:
        assert program.outlined is not None
        text = str(program.outlined)
        found = program.run(inputs, device=device)
    # The product; the rotation; the rotation's exponential, whose shape differs.
    assert (text.count('"hipdnn.graph"'), text.count('"hipdnn.fallback"')) == (2, 1)
    for result, exact in zip(found, (z, np.exp(z[:, 1::2])), strict=True):
        np.testing.assert_allclose(result, exact, rtol=2e-5, atol=2e-5)
