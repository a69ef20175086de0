"""The report's coverage: numbers computed by hand for a program of two graphs and a fallback."""

from __future__ import annotations

from hipgraft.compiler.coverage import CoverageRow, coverage_rows
from hipgraft.compiler.report import Report
from hipgraft.compiler.report_json import report_from_json, report_to_json
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import Remark, RemarkKind

PROGRAM = """
func.func @main(%a: tensor<8x4xf16>, %b: tensor<4x6xf16>) -> tensor<8x6xf32> {
  %0 = "hipdnn.graph"(%a, %b) ({
  ^bb0(%x: tensor<8x4xf16>, %y: tensor<4x6xf16>):
    %c = "hipdnn.matmul"(%x, %y) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf32> loc("mm")
    %r = "hipdnn.pointwise"(%c) {mode = "relu_fwd"} : (tensor<8x6xf32>) -> tensor<8x6xf16> loc("r")
    "hipdnn.yield"(%r) : (tensor<8x6xf16>) -> ()
  }) {engine = "HIPBLASLT_ENGINE"} : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
  %1 = "hipdnn.graph"(%0) ({
  ^bb0(%x: tensor<8x6xf16>):
    %k = arith.constant dense<2.0> : tensor<1xf16>
    %r = "hipdnn.pointwise"(%x, %k) {mode = "mul"}
      : (tensor<8x6xf16>, tensor<1xf16>) -> tensor<8x6xf16>
    %s = "hipdnn.pointwise"(%r, %x) {mode = "mul"}
      : (tensor<8x6xf16>, tensor<8x6xf16>) -> tensor<8x6xf16>
    "hipdnn.yield"(%s) : (tensor<8x6xf16>) -> ()
  }) : (tensor<8x6xf16>) -> tensor<8x6xf16>
  %2 = "hipdnn.fallback"(%1) ({
  ^bb0(%x: tensor<8x6xf16>):
    %i = torch.constant.int 1
    %t = torch_c.from_builtin_tensor %x : tensor<8x6xf16> -> !torch.vtensor<[8,6],f16>
    %n = torch.constant.none
    %u = torch.aten.cumsum %t, %i, %n
      : !torch.vtensor<[8,6],f16>, !torch.int, !torch.none -> !torch.vtensor<[8,6],f32> loc("sum")
    %v = torch_c.to_builtin_tensor %u : !torch.vtensor<[8,6],f32> -> tensor<8x6xf32>
    "hipdnn.yield"(%v) : (tensor<8x6xf32>) -> ()
  }) : (tensor<8x6xf16>) -> tensor<8x6xf32>
  return %2 : tensor<8x6xf32>
}
"""
MESSAGE = "'torch.aten.cumsum' op stays: hipDNN has no op for it"


def test_rows() -> None:
    remark = Remark(RemarkKind.MISSED, "convert", "no-op", MESSAGE, "sum", op="torch.aten.cumsum")
    with make_context() as context:
        rows = coverage_rows(ir.Module.parse(PROGRAM, context), [remark])
    product, rest = rows[0], {row.op: row for row in rows[1:]}
    # 2 M N K, and the factors; the product itself stays inside.
    flops, factors = 2 * 8 * 6 * 4, 2 * (8 * 4 + 4 * 6)
    assert product == CoverageRow("matmul", "HIPBLASLT_ENGINE", 1, 1, flops, factors, (), ("mm",))
    half, single = 2 * 8 * 6, 4 * 8 * 6
    relu, products, total = rest["pointwise relu_fwd"], rest["pointwise mul"], rest["aten.cumsum"]
    assert (relu.place, relu.ops, relu.bytes, relu.nodes) == ("HIPBLASLT_ENGINE", 1, half, ("r",))
    # The first reads the operand, the second reads it again and writes the result.
    assert (products.place, products.graphs, products.ops, products.bytes) == (
        "iree",
        1,
        2,
        3 * half,
    )
    assert total == CoverageRow(
        "aten.cumsum", "fallback", 1, 1, 0, half + single,
        ("stays: hipDNN has no op for it",), ("sum",),
    )  # fmt: skip
    # By operations, then bytes, then name.
    assert [row.op for row in rows[1:]] == ["aten.cumsum", "pointwise mul", "pointwise relu_fwd"]


def test_rows_are_kept_with_a_program() -> None:
    report = Report(coverage=[CoverageRow("a", "iree", 1, 2, 3, 4, ("why",), ("node", "other"))])
    assert report_from_json(report_to_json(report)) == report
