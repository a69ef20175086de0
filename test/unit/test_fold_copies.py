"""Results written in the order of a copy, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from programs import run_passes

from hipgraft import runtime
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.strided_view import StridedView
from hipgraft.passmanager.runner import Runner
from hipgraft.runtime.devices import open_device
from hipgraft.transforms.written_order import written_strides

PIPELINE = "builtin.module(hipdnn-compile{target=cpu},hipdnn-bufferize)"

PERMUTATIONS = [
    ((2, 3, 4), (0, 2, 1)),
    ((2, 3, 4), (2, 0, 1)),
    ((1, 4, 16, 8), (0, 2, 1, 3)),
    ((5, 1, 2), (2, 1, 0)),
]


@pytest.mark.parametrize(("shape", "order"), PERMUTATIONS)
def test_written_strides(shape: tuple[int, ...], order: tuple[int, ...]):
    value = np.arange(np.prod(shape)).reshape(shape)
    whole = StridedView.of_shape(shape)
    strides = written_strides(whole, whole.permute(order))
    assert strides is not None
    storage = value.transpose(order).reshape(-1)
    seen = np.lib.stride_tricks.as_strided(storage, shape, [8 * step for step in strides])
    np.testing.assert_array_equal(seen, value)


def test_window_on_what_is_stored_in_another_order():
    # Stored as [2, 3, 4], the tensor is [3, 2, 4]; the window shows the storage as [4, 2, 3].
    stored = StridedView((3, 2, 4), (4, 12, 1))
    assert written_strides(stored, StridedView((4, 2, 3), (1, 12, 4))) == [1, 3, 6]


def test_window_that_splits_a_dimension_into_neighbours():
    # [6, 4] seen as [2, 4, 3]: no single stride steps through the 6.
    assert written_strides(StridedView.of_shape((6, 4)), StridedView((2, 4, 3), (12, 1, 4))) is None


PROGRAM = """
func.func @main(%x: tensor<1x2x3x4xf32>) -> (tensor<3x8xf32>, tensor<6x4xf32>) {
  %0:2 = "hipdnn.graph"(%x) ({
  ^bb0(%a: tensor<1x2x3x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "neg"} : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
    %s = "hipdnn.pointwise"(%r, %a) {mode = "mul"}
      : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
    "hipdnn.yield"(%r, %s) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> ()
  }) {name = "a"} : (tensor<1x2x3x4xf32>) -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
  %1 = "hipdnn.view"(%0#0) {offset = 0 : i64, strides = array<i64: 24, 4, 12, 1>}
    : (tensor<1x2x3x4xf32>) -> tensor<1x3x2x4xf32>
  %2 = "hipdnn.graph"(%1) ({
  ^bb0(%a: tensor<1x3x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<1x3x2x4xf32>) -> ()
  }) {name = "c", arg_strides = [array<i64: 24, 4, 12, 1>]}
    : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
  %3 = "hipdnn.view"(%2) {offset = 0 : i64, strides = array<i64: 8, 1>}
    : (tensor<1x3x2x4xf32>) -> tensor<3x8xf32>
  %4 = "hipdnn.graph"(%3) ({
  ^bb0(%a: tensor<3x8xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "abs"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
    "hipdnn.yield"(%r) : (tensor<3x8xf32>) -> ()
  }) {name = "b"} : (tensor<3x8xf32>) -> tensor<3x8xf32>
  %5 = "hipdnn.view"(%0#1) {offset = 0 : i64, strides = array<i64: 24, 4, 12, 1>}
    : (tensor<1x2x3x4xf32>) -> tensor<1x3x2x4xf32>
  %6 = "hipdnn.graph"(%5) ({
  ^bb0(%a: tensor<1x3x2x4xf32>):
    %r = "hipdnn.pointwise"(%a) {mode = "identity"} : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
    "hipdnn.yield"(%r) : (tensor<1x3x2x4xf32>) -> ()
  }) {name = "c", arg_strides = [array<i64: 24, 4, 12, 1>]}
    : (tensor<1x3x2x4xf32>) -> tensor<1x3x2x4xf32>
  %7 = "hipdnn.view"(%6) {offset = 0 : i64, strides = array<i64: 4, 1>}
    : (tensor<1x3x2x4xf32>) -> tensor<6x4xf32>
  return %4, %7 : tensor<3x8xf32>, tensor<6x4xf32>
}
"""


def test_folded_program():
    x = np.random.default_rng(5).normal(size=(1, 2, 3, 4)).astype(np.float32)
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(PROGRAM)
        (state,) = run_passes(module, "hipdnn-fold-copies")
        assert state.counters["folded-copies"] == 2
        Runner(keep_reproducer=False).run(module, PIPELINE)
        results = runtime.run_module(module, [x], open_device("cpu"))
    moved = x.transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(results[0], abs(moved).reshape(3, 8))
    np.testing.assert_array_equal(results[1], (-moved * moved).reshape(6, 4))
