"""Custom ops from templates."""

from __future__ import annotations

import iree.runtime as iree_runtime
import numpy as np
import pytest
from lowering_cases import Case, lower_case

from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError

# Negates the first operand and adds the second: extents known, unknown, and on builtin tensors.
TYPED = """
func.func private @{FUNC_NAME}(%a: {IN0_TYPE}, %b: {IN1_TYPE}) -> {OUT0_TYPE} {
  %one = torch.constant.int 1
  %0 = torch.aten.neg %a : {IN0_TYPE} -> !torch.vtensor<[{IN0_DIM0},{IN0_DIM1}],{IN0_DTYPE}>
  %1 = torch.aten.add.Tensor %0, %b, %one : {IN0_TYPE}, {IN1_TYPE}, !torch.int -> {OUT0_TYPE}
  return %1 : {OUT0_TYPE}
}
"""
DYNAMIC = """
func.func private @{FUNC_NAME}(%a: !torch.vtensor<[?,?],{IN0_DTYPE}>,
    %b: !torch.vtensor<[?,?],{IN1_DTYPE}>) -> !torch.vtensor<[?,?],{OUT0_DTYPE}> {
  %one = torch.constant.int 1
  %0 = torch.aten.sub.Tensor %b, %a, %one : !torch.vtensor<[?,?],{IN1_DTYPE}>,
      !torch.vtensor<[?,?],{IN0_DTYPE}>, !torch.int -> !torch.vtensor<[?,?],{OUT0_DTYPE}>
  return %0 : !torch.vtensor<[?,?],{OUT0_DTYPE}>
}
"""
BUILTIN = """
func.func private @{FUNC_NAME}(%a: tensor<{IN0_DIM0}x{IN0_DIM1}xf32>, %b: tensor<3x4xf32>)
    -> tensor<3x4xf32> {
  %0 = arith.subf %b, %a : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
"""

A = np.arange(12, dtype=np.float32).reshape(3, 4)
B = np.ones((3, 4), np.float32) * 5


def custom_text(template: str | None, target: str = "cpu", name: str = "fusilli.neg_add") -> str:
    data = None if template is None else template.encode()

    def build(a: ir.Value, b: ir.Value) -> list[ir.Value]:
        results = {"outputs": [a.type]}
        op = hipdnn.CustomOp.build([a, b], results=results, custom_op_id=name, data=data)
        return op.outputs

    return lower_case(Case("custom", [A, B], build, [A], ["f32"], 0, 0, target=target))


@pytest.mark.slow
@pytest.mark.parametrize("template", [TYPED, DYNAMIC, BUILTIN], ids=["typed", "dynamic", "builtin"])
def test_template_runs(template: str) -> None:
    kernel = compile_text(custom_text(template), Target.parse("cpu"))
    config = iree_runtime.Config("local-task")
    module = iree_runtime.VmModule.copy_buffer(config.vm_instance, kernel.objects[0])
    result = iree_runtime.load_vm_module(module, config).main(A, B)
    np.testing.assert_array_equal(result.to_host(), B - A)


@pytest.mark.slow
def test_template_is_one_dispatch_of_the_gpu() -> None:
    kernel = compile_text(custom_text(TYPED, "gfx942"), Target.parse("gfx942"))
    assert len(kernel.steps) == 1


@pytest.mark.parametrize(
    ("template", "name", "message"),
    [
        (TYPED, "other.op", "'other.op' has no lowering"),
        (None, "fusilli.op", "'fusilli.op' has no lowering"),
        (TYPED.replace("{IN1_TYPE}", "{IN2_TYPE}"), "fusilli.op", "no value for '{IN2_TYPE}'"),
        ("func.func @f() { return }", "fusilli.op", "has no function '{FUNC_NAME}'"),
        ("func.func @{FUNC_NAME}() { return }", "fusilli.op", "takes 0 and returns 0 values"),
        ("func.func @{FUNC_NAME}( {", "fusilli.op", "template of 'fusilli.op': "),
    ],
)
def test_errors(template: str | None, name: str, message: str) -> None:
    with pytest.raises(CodegenError) as error:
        custom_text(template, name=name)
    assert message in error.value.message
    assert error.value.message.startswith("'hipdnn.custom_op' op ")
