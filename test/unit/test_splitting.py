"""Splits containers: the places of the cuts, and parts that compute the same as the whole."""

from __future__ import annotations

import numpy as np
import pytest

from hipgraft.codegen.canonical import find_containers
from hipgraft.compiler.program import compile
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.transforms.splitting import can_split, compute_ops, split

ADD = 'operandSegmentSizes = array<i32: 1, 1, 0>, compute_type = f32, mode = "add"'
RELU = 'operandSegmentSizes = array<i32: 1, 0, 0>, compute_type = f32, mode = "relu_fwd"'

# A diamond with two results, one operand transposed and shifted, one result written transposed.
DIAMOND = f"""
func.func @main(%a: tensor<4x6xf32>, %b: tensor<5x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {{
  %x = "hipdnn.view"(%a) {{offset = 2 : i64, strides = array<i64: 6, 1>}}
    : (tensor<4x6xf32>) -> tensor<4x4xf32>
  %y = "hipdnn.view"(%b) {{offset = 4 : i64, strides = array<i64: 1, 4>}}
    : (tensor<5x4xf32>) -> tensor<4x4xf32>
  %0:2 = "hipdnn.graph"(%x, %y) ({{
  ^bb0(%p: tensor<4x4xf32>, %q: tensor<4x4xf32>):
    %c = arith.constant dense<0.5> : tensor<4x4xf32>
    %s = "hipdnn.pointwise"(%p, %q) {{{ADD}}}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = "hipdnn.pointwise"(%s) {{{RELU}}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = "hipdnn.pointwise"(%s, %c) {{{ADD}}}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %v = "hipdnn.pointwise"(%t, %u) {{{ADD}}}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    "hipdnn.yield"(%v, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  }}) {{name = "diamond", arg_offsets = array<i64: 2, 4>,
        arg_strides = [array<i64: 6, 1>, array<i64: 1, 4>]}}
    : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %0#0, %0#1 : tensor<4x4xf32>, tensor<4x4xf32>
}}"""


def expected(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    s = a[:, 2:] + b[1:, :].T
    t = np.maximum(s, 0)
    return [t + s + np.float32(0.5), t]


def split_until_single(module: ir.Module) -> None:
    while True:
        wide = [op for op in find_containers(module) if len(compute_ops(op)) > 1]
        if not wide:
            return
        assert can_split(wide[0])
        split(wide[0])
        assert hipdnn.verify(module) == []


@pytest.mark.sampled(6)
@pytest.mark.parametrize("times", [0, 1, 10])
def test_parts_compute_what_the_whole_did(times: int) -> None:
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(DIAMOND, context)
        if times == 1:
            split(find_containers(module)[0])
        elif times:
            split_until_single(module)
            # Each part yields the one value that others read.
            assert [len(op.results) for op in find_containers(module)] == [1] * 4
        assert hipdnn.verify(module) == []
        generator = np.random.default_rng(7)
        a = generator.standard_normal((4, 6), np.float32)
        b = generator.standard_normal((5, 4), np.float32)
        results = compile(module, "cpu").run([a, b])
    for result, reference in zip(results, expected(a, b), strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-6)


def test_result_strides_stay_with_their_result() -> None:
    text = DIAMOND.replace("arg_offsets", "result_strides = [unit, array<i64: 1, 4>], arg_offsets")
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(text, context)
        split_until_single(module)
        parts = [hipdnn.FallbackOp(op) for op in find_containers(module)]
        written = [part.result_strides for part in parts]
        assert written == [None, [[1, 4]], None, None]
        assert [part.arg_strides for part in parts] == [
            [[6, 1], [1, 4]],
            None,
            None,
            [[1, 4], None],
        ]


def test_container_that_yields_its_operand_stays_whole() -> None:
    text = DIAMOND.replace('"hipdnn.yield"(%v, %t)', '"hipdnn.yield"(%v, %p)')
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(text, context)
        assert not can_split(find_containers(module)[0])


def test_ragged_graph_stays_whole() -> None:
    ragged = DIAMOND.replace('{name = "', '{arg_ragged = array<i64: 1, -1>, name = "')
    for text, is_split in ((DIAMOND, True), (ragged, False)):
        with make_context() as context:
            module = ir.Module.parse(text, context)
            assert can_split(find_containers(module)[0]) == is_split


NARROW = f"""
func.func @main(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {{
  %0 = "hipdnn.graph"(%a) ({{
  ^bb0(%p: tensor<64x64xf32>):
    %s = "hipdnn.reduction"(%p) {{mode = "add", compute_type = f32}}
      : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %t = "hipdnn.pointwise"(%p, %s) {{{ADD}}}
      : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    %u = "hipdnn.pointwise"(%t) {{{RELU}}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %v = "hipdnn.pointwise"(%u) {{{RELU}}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    "hipdnn.yield"(%v) : (tensor<64x64xf32>) -> ()
  }}) {{name = "narrow"}} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}}"""


def test_cut_is_where_the_fewest_bytes_flow() -> None:
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(NARROW, context)
        split(find_containers(module)[0])
        parts = [(len(compute_ops(op)), len(op.results)) for op in find_containers(module)]
    # A value that only ops of the part read is not a result of the part.
    assert parts == [(1, 1), (3, 1)]


def test_ops_of_rocmlir_stay_whole() -> None:
    text = """
    func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
      %y = "hipdnn.fallback"(%x) ({
      ^bb0(%a: tensor<4x4xf32>):
        %0 = "migraphx.mlir.as.underlying.shape"(%a)
          : (tensor<4x4xf32>) -> !migraphx.shaped<4x4xf32, 4x1>
        %1 = "migraphx.relu"(%0)
          : (!migraphx.shaped<4x4xf32, 4x1>) -> !migraphx.shaped<4x4xf32, 4x1>
        %2 = "migraphx.mlir.as.logical.shape"(%1)
          : (!migraphx.shaped<4x4xf32, 4x1>) -> tensor<4x4xf32>
        "hipdnn.yield"(%2) : (tensor<4x4xf32>) -> ()
      }) {name = "relu"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
      return %y : tensor<4x4xf32>
    }"""
    with make_context() as context:
        module = ir.Module.parse(text, context)
        assert not can_split(find_containers(module)[0])
