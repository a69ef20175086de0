"""Forms without a lowering give a located error."""

from __future__ import annotations

import pytest

from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import CodegenError

SDPA = """
"hipdnn.graph"(%q, %q, %q) ({{
^bb0(%a: tensor<1x2x8x16xf32>, %b: tensor<1x2x8x16xf32>, %c: tensor<1x2x8x16xf32>):
  %o = "hipdnn.sdpa"(%a, %b, %c) {{{attributes}}}
    : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
  "hipdnn.yield"(%o) : (tensor<1x2x8x16xf32>) -> ()
}}) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
"""

POOL = """
"hipdnn.graph"(%dy) ({
^bb0(%a: tensor<1x2x5x5xf32>):
  %o = "hipdnn.resample_bwd"(%a) {pre_padding = array<i64: 1, 1>, post_padding = array<i64: 1, 1>,
      stride = array<i64: 2, 2>, window = array<i64: 2, 2>,
      resample_mode = "AVGPOOL_INCLUDE_PADDING", padding_mode = "EDGE_VAL_PAD"}
    : (tensor<1x2x5x5xf32>) -> tensor<1x2x8x8xf32>
  "hipdnn.yield"(%o) : (tensor<1x2x8x8xf32>) -> ()
}) : (tensor<1x2x5x5xf32>) -> tensor<1x2x8x8xf32>
"""


def error_of(graph: str, arguments: str) -> CodegenError:
    text = f"func.func @f({arguments}) {{\n%r = {graph.strip()}\nreturn\n}}"
    with make_context(), ir.Location.unknown():
        function = ir.Operation.parse(text, source_name="graph.mlir")
        container = function.regions[0].blocks[0].operations[0]
        with pytest.raises(CodegenError) as error:
            lower_container(container, Target.parse("gfx942"))
        return error.value


def test_random_dropout() -> None:
    attributes = "dropout_probability = 0.5 : f32"
    error = error_of(SDPA.format(attributes=attributes), "%q: tensor<1x2x8x16xf32>")
    assert str(error) == (
        "graph.mlir:4:8: error: 'hipdnn.sdpa' op with dropout but neither 'dropout_mask' "
        "nor 'seed' and 'offset' has no lowering"
    )


def test_elements_of_6_bits() -> None:
    scaled = """
"hipdnn.graph"(%x, %s) ({
^bb0(%a: tensor<32xf6E2M3FN>, %b: tensor<1xf8E8M0FNU>):
  %y = "hipdnn.block_scale_dequantize"(%a, %b) {block_size = array<i64: 32>}
    : (tensor<32xf6E2M3FN>, tensor<1xf8E8M0FNU>) -> tensor<32xf32>
  "hipdnn.yield"(%y) : (tensor<32xf32>) -> ()
}) : (tensor<32xf6E2M3FN>, tensor<1xf8E8M0FNU>) -> tensor<32xf32>
"""
    error = error_of(scaled, "%x: tensor<32xf6E2M3FN>, %s: tensor<1xf8E8M0FNU>")
    assert str(error) == (
        "graph.mlir:2:6: error: 'hipdnn.graph' op reads or writes f6E2M3FN, "
        "which IREE has no buffers of"
    )


def test_gradient_of_repeated_edges() -> None:
    error = error_of(POOL, "%dy: tensor<1x2x5x5xf32>")
    assert str(error) == (
        "graph.mlir:4:8: error: 'hipdnn.resample_bwd' op with padding 'EDGE_VAL_PAD' "
        "has no lowering"
    )
