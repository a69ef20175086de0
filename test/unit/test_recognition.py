"""Compares recognised nodes, and windows through copies, with numpy's definitions."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from programs import run_passes

from hipgraft import runtime
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.strided_view import StridedView
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime.devices import open_device

PIPELINE = (
    "builtin.module(hipdnn-outline,hipdnn-outline-fallback,"
    "hipdnn-compile{target=cpu},hipdnn-bufferize)"
)

ATTENTION = """
func.func @main(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x6x8xf32>, %v: tensor<1x2x6x8xf32>,
                %m: tensor<1x1x6x6xf32>, %hide: tensor<1x1x1x6xi1>) -> tensor<1x4x6x8xf32> {
  %third = arith.constant dense<3.0> : tensor<1xf32>
  %half = arith.constant dense<0.5> : tensor<1xf32>
  %low = arith.constant dense<0xFF800000> : tensor<1x1x1x1xf32>
  %k0 = "hipdnn.view"(%k) {offset = 0 : i64, strides = array<i64: 0, 48, 0, 8, 1>}
    : (tensor<1x2x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %k1 = "hipdnn.pointwise"(%k0) {mode = "identity"}
    : (tensor<1x2x2x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %k2 = "hipdnn.view"(%k1) {offset = 0 : i64, strides = array<i64: 0, 48, 1, 8>}
    : (tensor<1x2x2x6x8xf32>) -> tensor<1x4x8x6xf32>
  %v0 = "hipdnn.view"(%v) {offset = 0 : i64, strides = array<i64: 0, 48, 0, 8, 1>}
    : (tensor<1x2x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %v1 = "hipdnn.pointwise"(%v0) {mode = "identity"}
    : (tensor<1x2x2x6x8xf32>) -> tensor<1x2x2x6x8xf32>
  %v2 = "hipdnn.view"(%v1) {offset = 0 : i64, strides = array<i64: 0, 48, 8, 1>}
    : (tensor<1x2x2x6x8xf32>) -> tensor<1x4x6x8xf32>
  %q0 = "hipdnn.pointwise"(%q, %half) {mode = "mul"}
    : (tensor<1x4x6x8xf32>, tensor<1xf32>) -> tensor<1x4x6x8xf32>
  %s = "hipdnn.matmul"(%q0, %k2)
    : (tensor<1x4x6x8xf32>, tensor<1x4x8x6xf32>) -> tensor<1x4x6x6xf32>
  %t = "hipdnn.pointwise"(%s, %third) {mode = "div"}
    : (tensor<1x4x6x6xf32>, tensor<1xf32>) -> tensor<1x4x6x6xf32>
  %y = "hipdnn.pointwise"(%t, %m) {mode = "add"}
    : (tensor<1x4x6x6xf32>, tensor<1x1x6x6xf32>) -> tensor<1x4x6x6xf32>
  %z = "hipdnn.pointwise"(%hide, %low, %y) {mode = "binary_select"}
    : (tensor<1x1x1x6xi1>, tensor<1x1x1x1xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %0 = "hipdnn.reduction"(%z) {mode = "MAX"} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x1xf32>
  %1 = "hipdnn.pointwise"(%z, %0) {mode = "sub"}
    : (tensor<1x4x6x6xf32>, tensor<1x4x6x1xf32>) -> tensor<1x4x6x6xf32>
  %2 = "hipdnn.pointwise"(%1) {mode = "exp"} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "ADD"} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x1xf32>
  %4 = "hipdnn.pointwise"(%2, %3) {mode = "div"}
    : (tensor<1x4x6x6xf32>, tensor<1x4x6x1xf32>) -> tensor<1x4x6x6xf32>
  %5 = "hipdnn.matmul"(%4, %v2)
    : (tensor<1x4x6x6xf32>, tensor<1x4x6x8xf32>) -> tensor<1x4x6x8xf32>
  return %5 : tensor<1x4x6x8xf32>
}
"""

LAYERNORM_GELU = """
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %eps = arith.constant dense<1.0e-2> : tensor<1xf32>
  %root = arith.constant dense<1.41421356> : tensor<1xf32>
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %half = arith.constant dense<0.5> : tensor<1xf32>
  %0 = "hipdnn.reduction"(%x) {mode = "AVG"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = "hipdnn.pointwise"(%x, %0) {mode = "sub"}
    : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = "hipdnn.pointwise"(%1, %1) {mode = "mul"}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "hipdnn.reduction"(%2) {mode = "AVG"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %4 = "hipdnn.pointwise"(%3, %eps) {mode = "add"}
    : (tensor<4x1xf32>, tensor<1xf32>) -> tensor<4x1xf32>
  %5 = "hipdnn.pointwise"(%4) {mode = "rsqrt"} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = "hipdnn.pointwise"(%1, %5) {mode = "mul"}
    : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %7 = "hipdnn.pointwise"(%6, %w) {mode = "mul"}
    : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %8 = "hipdnn.pointwise"(%7, %b) {mode = "add"}
    : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %9 = "hipdnn.pointwise"(%8, %root) {mode = "div"}
    : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  %10 = "hipdnn.pointwise"(%9) {mode = "erf"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = "hipdnn.pointwise"(%10, %one) {mode = "add"}
    : (tensor<4x8xf32>, tensor<1xf32>) -> tensor<4x8xf32>
  %12 = "hipdnn.pointwise"(%half, %11) {mode = "mul"}
    : (tensor<1xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = "hipdnn.pointwise"(%8, %12) {mode = "mul"}
    : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %13 : tensor<4x8xf32>
}
"""


def compiled_results(text: str, inputs: list[np.ndarray], nodes: int) -> list[np.ndarray]:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (state,) = run_passes(module, "hipdnn-recognize")
        assert state.counters["recognised-nodes"] == nodes
        Runner(keep_reproducer=False).run(module, PIPELINE)
        return runtime.run_module(module, inputs, open_device("cpu"))


def with_values(text: str, extent: int) -> str:
    """Returns `ATTENTION` with another extent of the heads of values than of keys."""
    head, keys, values, rest = re.split(r"(?=  %k0 =)|(?=  %v0 =)|(?=  %q0 =)", text)
    head = head.replace("%v: tensor<1x2x6x8xf32>", f"%v: tensor<1x2x6x{extent}xf32>")
    head = head.replace("-> tensor<1x4x6x8xf32>", f"-> tensor<1x4x6x{extent}xf32>")
    values = values.replace("6x8x", f"6x{extent}x").replace("48", str(6 * extent))
    values = values.replace("8, 1>", f"{extent}, 1>")
    weighted, result = rest.split("  %5 =")
    return head + keys + values + weighted + "  %5 =" + result.replace("6x8x", f"6x{extent}x")


@pytest.mark.parametrize("extent", [8, 5])
def test_attention(extent: int) -> None:
    random = np.random.default_rng(3)
    shapes = [(1, 4, 6, 8), (1, 2, 6, 8), (1, 2, 6, extent), (1, 1, 6, 6)]
    q, k, v, mask = (random.normal(size=shape).astype(np.float32) for shape in shapes)
    hide = np.array([0, 1, 0, 0, 1, 0], np.bool_).reshape(1, 1, 1, 6)
    (result,) = compiled_results(with_values(ATTENTION, extent), [q, k, v, mask, hide], nodes=1)
    bias = np.where(hide, -np.inf, mask.astype(np.float64))
    groups = [np.repeat(tensor.astype(np.float64), 2, axis=1) for tensor in (k, v)]
    scores = q.astype(np.float64) @ groups[0].swapaxes(2, 3) * 0.5 / 3 + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ groups[1]
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_layernorm_and_gelu():
    random = np.random.default_rng(4)
    x, w, b = (random.normal(size=s).astype(np.float32) for s in [(4, 8), (8,), (8,)])
    (result,) = compiled_results(LAYERNORM_GELU, [x, w, b], nodes=2)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-2) * w + b
    expected = y / 2 * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


WINDOWS = [
    # The shape of the copy, the layout in which it reads 64 numbers, and a window on the copy.
    ((2, 4, 8), (8, 16, 1), (8, 2, 4), (8, 4, 1)),
    ((2, 3, 8), (8, 0, 1), (6, 8), (8, 1)),
    ((2, 3, 8), (8, 0, 1), (2, 8, 3), (24, 1, 8)),
    ((4, 8), (1, 8), (2, 2, 4), (16, 8, 2)),
    ((4, 8), (8, 1), (16,), (2,)),
]


@pytest.mark.parametrize(("shape", "strides", "seen", "steps"), WINDOWS)
def test_window_through_copy(
    shape: tuple[int, ...], strides: tuple[int, ...], seen: tuple[int, ...], steps: tuple[int, ...]
):
    source = np.arange(64)
    copied = np.lib.stride_tricks.as_strided(source, shape, [8 * s for s in strides]).copy()
    expected = np.lib.stride_tricks.as_strided(copied, seen, [8 * s for s in steps])
    runs = StridedView(seen, steps).through_copy(StridedView(shape, strides))
    assert runs is not None
    flat = [run for dim in runs for run in dim]
    places = sum(
        (np.arange(n) * step).reshape([-1 if i == j else 1 for j in range(len(flat))])
        for i, (n, step) in enumerate(flat)
    )
    np.testing.assert_array_equal(source[places].reshape(seen), expected)


@pytest.mark.parametrize(
    ("seen", "steps"), [((3,), (3,)), ((6,), (1,))], ids=["step", "part of a run"]
)
def test_window_that_walks_no_whole_runs(seen: tuple[int, ...], steps: tuple[int, ...]):
    assert StridedView(seen, steps).through_copy(StridedView((2, 4), (1, 2))) is None


def test_window_at_an_offset():
    assert StridedView((2,), (1,), 1).through_copy(StridedView((4,), (1,))) is None
