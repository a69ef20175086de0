"""Graphs in the form of hipDNNEP, converted one way and both ways, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import hipgraft
from hipgraft.ir.bindings import ir, make_context
from hipgraft.passmanager.runner import Runner

# A convolution with bias and its sigmoid; a window on the result; an addmm with two
# results; and a matmul in f16 that is rounded before its relu.
PROGRAM = """
func.func @main(%x: !torch.vtensor<[1,3,6,6],f32>, %w: !torch.vtensor<[4,3,3,3],f32>,
                %b: !torch.vtensor<[4],f32>, %m: !torch.vtensor<[16,5],f32>,
                %c: !torch.vtensor<[5],f32>, %h: !torch.vtensor<[5,8],f16>)
    -> (!torch.vtensor<[4,5],f32>, !torch.vtensor<[4,5],f32>, !torch.vtensor<[5,5],f16>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %int16 = torch.constant.int 16
  %one = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %zero = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "hipdnn.graph"(%x, %w, %b) : (!torch.vtensor<[1,3,6,6],f32>,
      !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>) -> !torch.vtensor<[1,4,4,4],f32> {
  ^bb0(%gx: !torch.vtensor<[1,3,6,6],f32>, %gw: !torch.vtensor<[4,3,3,3],f32>,
       %gb: !torch.vtensor<[4],f32>):
    %10 = torch.aten.conv2d %gx, %gw, %gb, %one, %zero, %one, %int1
        : !torch.vtensor<[1,3,6,6],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[4],f32>,
          !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int
        -> !torch.vtensor<[1,4,4,4],f32>
    %11 = torch.aten.sigmoid %10 : !torch.vtensor<[1,4,4,4],f32> -> !torch.vtensor<[1,4,4,4],f32>
    torch.operator_terminator %11 : !torch.vtensor<[1,4,4,4],f32>
  }
  %sizes = torch.prim.ListConstruct %int4, %int16 : (!torch.int, !torch.int) -> !torch.list<int>
  %strides = torch.prim.ListConstruct %int1, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %v = torch.aten.as_strided %0, %sizes, %strides, %int0 : !torch.vtensor<[1,4,4,4],f32>,
      !torch.list<int>, !torch.list<int>, !torch.int -> !torch.vtensor<[4,16],f32>
  %1:2 = torch.operator "hipdnn.graph"(%c, %v, %m) : (!torch.vtensor<[5],f32>,
      !torch.vtensor<[4,16],f32>, !torch.vtensor<[16,5],f32>)
      -> (!torch.vtensor<[4,5],f32>, !torch.vtensor<[4,5],f32>) {
  ^bb0(%gc: !torch.vtensor<[5],f32>, %gv: !torch.vtensor<[4,16],f32>,
       %gm: !torch.vtensor<[16,5],f32>):
    %two = torch.constant.int 2
    %12 = torch.aten.addmm %gc, %gv, %gm, %two, %int1 : !torch.vtensor<[5],f32>,
        !torch.vtensor<[4,16],f32>, !torch.vtensor<[16,5],f32>, !torch.int, !torch.int
        -> !torch.vtensor<[4,5],f32>
    %13 = torch.aten.tanh %12 : !torch.vtensor<[4,5],f32> -> !torch.vtensor<[4,5],f32>
    torch.operator_terminator %12, %13 : !torch.vtensor<[4,5],f32>, !torch.vtensor<[4,5],f32>
  }
  %ht = torch.aten.transpose.int %h, %int0, %int1 : !torch.vtensor<[5,8],f16>, !torch.int,
      !torch.int -> !torch.vtensor<[8,5],f16>
  %2 = torch.operator "hipdnn.graph"(%h, %ht) : (!torch.vtensor<[5,8],f16>,
      !torch.vtensor<[8,5],f16>) -> !torch.vtensor<[5,5],f16> {
  ^bb0(%ga: !torch.vtensor<[5,8],f16>, %gb: !torch.vtensor<[8,5],f16>):
    %14 = torch.aten.matmul %ga, %gb : !torch.vtensor<[5,8],f16>, !torch.vtensor<[8,5],f16>
        -> !torch.vtensor<[5,5],f16>
    %15 = torch.aten.relu %14 : !torch.vtensor<[5,5],f16> -> !torch.vtensor<[5,5],f16>
    torch.operator_terminator %15 : !torch.vtensor<[5,5],f16>
  }
  return %1#0, %1#1, %2 : !torch.vtensor<[4,5],f32>, !torch.vtensor<[4,5],f32>,
      !torch.vtensor<[5,5],f16>
}
"""

THERE_AND_BACK = (
    "convert-hipdnnep-to-hipdnn,hipdnn-outline,hipdnn-outline-fallback,convert-hipdnn-to-hipdnnep"
)


def inputs() -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    shapes = ((1, 3, 6, 6), (4, 3, 3, 3), (4,), (16, 5), (5,))
    single = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    return [*single, rng.standard_normal((5, 8)).astype(np.float16)]


def expected(arrays: list[np.ndarray]) -> list[np.ndarray]:
    x, w, b, m, c, h = arrays
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), axis=(1, 2))
    y = np.einsum("cijkl,ockl->oij", windows, w) + b[:, None, None]
    sigmoid = 1 / (1 + np.exp(-y))
    # Element (i, j) of the window is element i + 4 j of the result.
    window = sigmoid.reshape(16, 4).T
    z = 2 * c + window @ m
    product = (h.astype(np.float32) @ h.astype(np.float32).T).astype(np.float16)
    return [z, np.tanh(z), np.maximum(product, 0)]


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("passes", ["", THERE_AND_BACK])
def test_results(passes: str):
    arrays = inputs()
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(PROGRAM)
        Runner(keep_reproducer=False).run(module, f"builtin.module({passes})")
        assert str(module).count('torch.operator "hipdnn.graph"') >= 3
        found = hipgraft.compile(module, "cpu").run(arrays)
    for one, other in zip(found, expected(arrays), strict=True):
        tolerance = 2e-3 if one.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-5)
