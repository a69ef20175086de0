"""What has no lowering says so, at its place."""

from __future__ import annotations

import pytest

from hipgraft.bindings import ir, make_context
from hipgraft.codegen.lowering import lower_container
from hipgraft.codegen.target import Target
from hipgraft.diagnostics import CodegenError

SDPA = """
"hipdnn.graph"(%q, %q, %q) ({{
^bb0(%a: tensor<1x2x8x16xf32>, %b: tensor<1x2x8x16xf32>, %c: tensor<1x2x8x16xf32>):
  %o = "hipdnn.sdpa"(%a, %b, %c) {{{attributes}}}
    : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
  "hipdnn.yield"(%o) : (tensor<1x2x8x16xf32>) -> ()
}}) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
"""

DGRAD = """
"hipdnn.graph"(%dy, %w) ({{
^bb0(%a: tensor<1x2x{out}x{out}xf32>, %b: tensor<2x2x3x3xf32>):
  %o = "hipdnn.conv_dgrad"(%a, %b) {{pre_padding = array<i64: {pad}, {pad}>,
      post_padding = array<i64: {pad}, {pad}>, stride = array<i64: 1, 1>,
      dilation = array<i64: 1, 1>, conv_mode = "{mode}"}}
    : (tensor<1x2x{out}x{out}xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
  "hipdnn.yield"(%o) : (tensor<1x2x8x8xf32>) -> ()
}}) : (tensor<1x2x{out}x{out}xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
"""

POOL = """
"hipdnn.graph"(%x) ({
^bb0(%a: tensor<1x2x8x8xf32>):
  %o = "hipdnn.resample_fwd"(%a) {pre_padding = array<i64: 0, 0>, post_padding = array<i64: 0, 0>,
      stride = array<i64: 2, 2>, window = array<i64: 2, 2>, resample_mode = "BILINEAR",
      padding_mode = "ZERO_PAD"} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  "hipdnn.yield"(%o) : (tensor<1x2x4x4xf32>) -> ()
}) : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
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
        "graph.mlir:4:8: error: 'hipdnn.sdpa' op with dropout but no 'dropout_mask' has no lowering"
    )


def test_flipped_gradient() -> None:
    arguments = "%dy: tensor<1x2x6x6xf32>, %w: tensor<2x2x3x3xf32>"
    error = error_of(DGRAD.format(out=6, pad=0, mode="CONVOLUTION"), arguments)
    assert str(error) == (
        "graph.mlir:4:8: error: 'hipdnn.conv_dgrad' op in mode CONVOLUTION has no lowering"
    )


def test_padding_beyond_the_filter() -> None:
    arguments = "%dy: tensor<1x2x12x12xf32>, %w: tensor<2x2x3x3xf32>"
    error = error_of(DGRAD.format(out=12, pad=3, mode="CROSS_CORRELATION"), arguments)
    assert error.message == (
        "'hipdnn.conv_dgrad' op with a padding beyond the filter has no lowering"
    )


def test_interpolation() -> None:
    error = error_of(POOL, "%x: tensor<1x2x8x8xf32>")
    assert str(error) == (
        "graph.mlir:4:8: error: 'hipdnn.resample_fwd' op in mode 'BILINEAR' has no lowering"
    )
