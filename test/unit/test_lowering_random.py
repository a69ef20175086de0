"""Random shapes, attributes, strides and element types of each op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from emulator import requires_emulator
from hypothesis import Phase, given, settings
from lowering_cases import Case, Results, run_case
from numpy.testing import assert_allclose
from random_graphs import FAMILIES, graphs

import hipgraft

pytestmark = pytest.mark.slow


def check_graphs(family: str, rounds: int, check: Callable[[list[Case]], None]) -> None:
    """The first round is the smallest graph of each op; hypothesis always draws the same ones."""
    drawn = given(graphs(family))(check)
    settings(
        max_examples=rounds,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )(drawn)()


@pytest.mark.sampled(24)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_graphs(family: str, request: pytest.FixtureRequest) -> None:
    def check(cases: list[Case]) -> None:
        results = Results(cases)
        for case in cases:
            case.check(results[case.name])

    check_graphs(family, request.config.getoption("--random-rounds"), check)


@requires_emulator
@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("family", FAMILIES)
def test_random_graphs_on_gpu_code(
    family: str, architecture: str, request: pytest.FixtureRequest
) -> None:
    def check(cases: list[Case]) -> None:
        for case in cases:
            on_gpu = replace(case, target=architecture)
            on_gpu.check(run_case(on_gpu))

    check_graphs(family, request.config.getoption("--random-rounds"), check)


REPEATED = """
func.func @main(%x: tensor<16x32xf16>, %a: tensor<8xf16>, %b: tensor<4xf16>,
                %c: tensor<2x24x4xf16>)
    -> (tensor<1x16x4x32xf16>, tensor<8x4xf16>, tensor<2x8x4xf16>) {
  %xs = "hipdnn.view"(%x) {offset = 0 : i64, strides = array<i64: 0, 32, 0, 1>}
      : (tensor<16x32xf16>) -> tensor<1x16x4x32xf16>
  %norm = "hipdnn.graph"(%xs) ({
  ^bb0(%gx: tensor<1x16x4x32xf16>):
    %one = arith.constant dense<1.0> : tensor<1x1x4x32xf32>
    %epsilon = arith.constant dense<1.0e-6> : tensor<1xf32>
    %y = "hipdnn.rmsnorm"(%gx, %one, %epsilon) {forward_phase = "INFERENCE"}
        : (tensor<1x16x4x32xf16>, tensor<1x1x4x32xf32>, tensor<1xf32>) -> tensor<1x16x4x32xf16>
    "hipdnn.yield"(%y) : (tensor<1x16x4x32xf16>) -> ()
  }) {arg_strides = [array<i64: 0, 32, 0, 1>], name = "norm"}
      : (tensor<1x16x4x32xf16>) -> tensor<1x16x4x32xf16>
  %as = "hipdnn.view"(%a) {offset = 0 : i64, strides = array<i64: 1, 0>}
      : (tensor<8xf16>) -> tensor<8x24xf16>
  %bs = "hipdnn.view"(%b) {offset = 0 : i64, strides = array<i64: 0, 1>}
      : (tensor<4xf16>) -> tensor<24x4xf16>
  %product = "hipdnn.graph"(%as, %bs) ({
  ^bb0(%ga: tensor<8x24xf16>, %gb: tensor<24x4xf16>):
    %y = "hipdnn.matmul"(%ga, %gb) : (tensor<8x24xf16>, tensor<24x4xf16>) -> tensor<8x4xf16>
    "hipdnn.yield"(%y) : (tensor<8x4xf16>) -> ()
  }) {arg_strides = [array<i64: 1, 0>, array<i64: 0, 1>], name = "product"}
      : (tensor<8x24xf16>, tensor<24x4xf16>) -> tensor<8x4xf16>
  %cs = "hipdnn.view"(%a) {offset = 0 : i64, strides = array<i64: 0, 1, 0>}
      : (tensor<8xf16>) -> tensor<2x8x24xf16>
  %batch = "hipdnn.graph"(%cs, %c) ({
  ^bb0(%ga: tensor<2x8x24xf16>, %gc: tensor<2x24x4xf16>):
    %y = "hipdnn.matmul"(%ga, %gc)
        : (tensor<2x8x24xf16>, tensor<2x24x4xf16>) -> tensor<2x8x4xf16>
    "hipdnn.yield"(%y) : (tensor<2x8x4xf16>) -> ()
  }) {arg_strides = [array<i64: 0, 1, 0>, array<i64: 96, 4, 1>], name = "batch"}
      : (tensor<2x8x24xf16>, tensor<2x24x4xf16>) -> tensor<2x8x4xf16>
  return %norm, %product, %batch : tensor<1x16x4x32xf16>, tensor<8x4xf16>, tensor<2x8x4xf16>
}
"""


def test_reduced_dims_that_no_operand_stores(tmp_path: Path) -> None:
    model = tmp_path / "repeated.mlir"
    model.write_text(REPEATED)
    x, a, b, c = (np.linspace(-1, 2, n, dtype=np.float16) for n in (512, 8, 4, 192))
    x, c = x.reshape(16, 32), c.reshape(2, 24, 4)
    norm, product, batch = hipgraft.compile(model, "cpu").run([x, a, b, c])
    rows = x.astype(np.float64)
    expected = rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-6)
    assert_allclose(
        norm, np.broadcast_to(expected[None, :, None], norm.shape), rtol=2e-3, atol=1e-3
    )
    assert_allclose(product, 24 * np.outer(a, b), rtol=2e-3, atol=1e-3)
    sums = c.astype(np.float64).sum(1, keepdims=True)
    assert_allclose(batch, a[:, None] * sums, rtol=2e-3, atol=1e-2)
    assert hipgraft.compile(model, "gfx942").module
