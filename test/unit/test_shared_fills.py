"""Two tensors derived from one that is filled with 64-bit elements."""

from __future__ import annotations

import numpy as np
import pytest

import hipgraft
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.shared_fills import SHARED_FILLS
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service import CompileService, InProcess, use_service

# Both results are padded by the same number.
PADDED = """
!x = !torch.vtensor<[4],{0}>
!y = !torch.vtensor<[5],{0}>
func.func @main(%x: !x) -> (!y, !y) {{
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %four = torch.constant.int 4
  %value = torch.constant.{1}
  %pads = torch.prim.ListConstruct %one, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %a = torch.aten.constant_pad_nd %x, %pads, %value : !x, !torch.list<int>, !torch.{2} -> !y
  %s = torch.aten.slice.Tensor %a, %zero, %zero, %four, %one
      : !y, !torch.int, !torch.int, !torch.int, !torch.int -> !x
  %b = torch.aten.constant_pad_nd %s, %pads, %value : !x, !torch.list<int>, !torch.{2} -> !y
  return %a, %b : !y, !y
}}
"""
FORMS = {
    "f64": ("f64", "float 7.0", "float"),
    "i64": ("si64", "int 7", "int"),
    "f32": ("f32", "float 7.0", "float"),
}

FILL = """
func.func @main(%x: tensor<4xi64>) -> (tensor<5xi64>, tensor<5xi64>) {
  %value = arith.constant 7 : i64
  %a = tensor.pad %x low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %value : i64
  } : tensor<4xi64> to tensor<5xi64>
  %s = tensor.extract_slice %a[0] [4] [1] : tensor<5xi64> to tensor<4xi64>
  %b = tensor.pad %s low[1] high[0] {
  ^bb0(%i: index):
    tensor.yield %value : i64
  } : tensor<4xi64> to tensor<5xi64>
  return %a, %b : tensor<5xi64>, tensor<5xi64>
}
"""


def run(form: str) -> list[np.ndarray]:
    x = np.arange(1, 5).astype(np.dtype(form.replace("i64", "int64").replace("f", "float")))
    with CompileService(InProcess()) as service, use_service(service):
        return hipgraft.compile(PADDED.format(*FORMS[form]), "cpu").run([x])


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_each_result_is_filled(form: str) -> None:
    first, second = run(form)
    assert first.tolist() == [7, 1, 2, 3, 4]
    assert second.tolist() == [7, 7, 1, 2, 3]


@pytest.mark.slow
def test_the_compiler_has_the_fault() -> None:
    with without(SHARED_FILLS):
        _, second = run("f64")
    assert second.tolist() != [7, 7, 1, 2, 3], "remove the workaround shared-fills"


def test_gpus_get_an_error() -> None:
    with pytest.raises(CodegenError, match="filled with elements of 64 bits"):
        compile_text(FILL, Target.parse("gfx942"))
