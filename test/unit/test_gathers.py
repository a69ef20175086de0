"""Reads by index are fused into the kernel that consumes their results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from emulator import requires_emulator, run_kernel
from onnx import TensorProto, helper

import hipgraft
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target

pytestmark = pytest.mark.slow

_RNG = np.random.default_rng(3)
X = _RNG.uniform(-1, 1, (4, 48)).astype(np.float32)
AT = _RNG.integers(0, 48, (2, 4, 20))
WEIGHTS = _RNG.uniform(-1, 1, (2, 20)).astype(np.float32)
WEIGHTED = sum(np.take_along_axis(X, at, 1) * w for at, w in zip(AT, WEIGHTS, strict=True))

SUM = """
  %zero = arith.constant 0.0 : f32
  %none = tensor.empty() : tensor<4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%none : tensor<4xf32>) -> tensor<4xf32>
  %total = linalg.reduce ins(%y : tensor<4x20xf32>) outs(%start : tensor<4xf32>) dimensions = [1]
      (%in: f32, %acc: f32) {
    %more = arith.addf %in, %acc : f32
    linalg.yield %more : f32
  }
"""


def module(result: str, kind: str, end: str = "") -> str:
    """Returns a module that weights the elements of `%x` at two indices in each of its rows."""
    read = """
  %t{0} = torch_c.from_builtin_tensor %at{0} : tensor<4x20xi64> -> !torch.vtensor<[4,20],si64>
  %g{0} = torch.aten.gather %t, %one, %t{0}, %false : !torch.vtensor<[4,48],f32>, !torch.int,
      !torch.vtensor<[4,20],si64>, !torch.bool -> !torch.vtensor<[4,20],f32>
  %r{0} = torch_c.to_builtin_tensor %g{0} : !torch.vtensor<[4,20],f32> -> tensor<4x20xf32>
"""
    return f"""
#whole = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
func.func @main(%x: tensor<4x48xf32>, %at0: tensor<4x20xi64>, %at1: tensor<4x20xi64>,
                %w0: tensor<20xf32>, %w1: tensor<20xf32>) -> {kind} {{
  %one = torch.constant.int 1
  %false = torch.constant.bool false
  %t = torch_c.from_builtin_tensor %x : tensor<4x48xf32> -> !torch.vtensor<[4,48],f32>
  {read.format(0)} {read.format(1)}
  %empty = tensor.empty() : tensor<4x20xf32>
  %y = linalg.generic {{indexing_maps = [#whole, #column, #whole, #column, #whole],
                        iterator_types = ["parallel", "parallel"]}}
      ins(%r0, %w0, %r1, %w1 : tensor<4x20xf32>, tensor<20xf32>, tensor<4x20xf32>, tensor<20xf32>)
      outs(%empty : tensor<4x20xf32>) {{
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %c, %d : f32
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }} -> tensor<4x20xf32>
  {end}
  return {result} : {kind}
}}
"""


CASES = {
    "weighted": (module("%y", "tensor<4x20xf32>"), WEIGHTED),
    "summed": (module("%total", "tensor<4xf32>", SUM), WEIGHTED.sum(1)),
}


@requires_emulator
@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("case", CASES)
def test_lookups_take_no_kernels(case, arch):
    text, expected = CASES[case]
    kernel = compile_text(text, Target.parse(arch))
    assert len(kernel.dispatches) == 1
    (result,) = run_kernel(kernel, [X, *AT, *WEIGHTS], [(expected.shape, np.float32)])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@requires_emulator
def test_rows_of_unknown_lengths_are_read_by_index(tmp_path: Path) -> None:
    """Lanes beyond the end of a row, which read at index 0, are found at run time."""
    x, at = _RNG.uniform(-1, 1, 300).astype(np.float32), _RNG.integers(0, 300, (64, 197))
    nodes = [helper.make_node("Gather", ["x", "at"], ["y"])]
    nodes.append(helper.make_node("ReduceSum", ["y", "axes"], ["z"], keepdims=0))
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["v"]),
        helper.make_tensor_value_info("at", TensorProto.INT64, [64, "n"]),
    ]
    results = [helper.make_tensor_value_info("z", TensorProto.FLOAT, [64])]
    axes = [helper.make_tensor("axes", TensorProto.INT64, [1], [1])]
    graph = helper.make_graph(nodes, "g", inputs, results, axes)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    with hipgraft.compile(path, "gfx942") as program:
        (found,) = program.run([x, at], device="emulator:gfx942")
    np.testing.assert_allclose(found, x[at].sum(1), rtol=1e-5, atol=1e-5)
