"""Divides integers by zero, and the smallest ones by -1: the process survives, as with NumPy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from small_onnx import save

import hipgraft
from hipgraft.codegen.target import CPU_VARIABLE

DTYPES = [np.int8, np.int32, np.int64, np.uint8, np.uint32]

# Runs a program that was compiled without the workaround.
RUN_WITHOUT = """
import sys
import iree.runtime as iree_runtime
import numpy as np
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.integer_division import INTEGER_DIVISION
text = '''
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<2xi64>, %z: tensor<2xi64>) -> tensor<2xi64> {
  %empty = tensor.empty() : tensor<2xi64>
  %y = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}
      ins(%x, %z : tensor<2xi64>, tensor<2xi64>) outs(%empty : tensor<2xi64>) {
  ^bb0(%a: i64, %b: i64, %out: i64):
    %q = arith.divsi %a, %b : i64
    linalg.yield %q : i64
  } -> tensor<2xi64>
  return %y : tensor<2xi64>
}
'''
with without(INTEGER_DIVISION):
    kernel = compile_text(text, Target.parse("cpu"))
config = iree_runtime.Config("local-task")
module = iree_runtime.VmModule.copy_buffer(config.vm_instance, kernel.objects[0])
main = iree_runtime.load_vm_module(module, config).main
least = np.array([np.iinfo(np.int64).min, 1], np.int64)
print(main(least, least).to_host()[0], flush=True)
main(least, np.array([int(sys.argv[1]), 1], np.int64)).to_host()
"""


def model(path: Path, dtype: type, count: int) -> Path:
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        helper.make_node("Div", ["x", "z"], ["quotient"]),
        helper.make_node("Mod", ["x", "z"], ["rest"]),
    ]
    given = {name: np.zeros(count, dtype) for name in ("x", "z")}
    return save(path, nodes, given, [("quotient", element), ("rest", element)], opset=17)


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_divisor(tmp_path: Path, dtype: type):
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    some = [least, most, 0, 1, 5, 7]
    divisors = [0, 1, 2, most, *([-1, -2, least] if least else [])]
    x, z = (one.ravel() for one in np.meshgrid(np.array(some, dtype), np.array(divisors, dtype)))
    path = model(tmp_path / "m.onnx", dtype, x.size)
    quotient, rest = hipgraft.compile(path, "cpu").run([x, z])
    with np.errstate(all="ignore"):
        # NumPy rounds down, ONNX towards zero.
        down, modulo = x // z, x % z
        is_up = (modulo != 0) & ((x < 0) != (z < 0))
        np.testing.assert_array_equal(quotient, down + is_up.astype(dtype))
        np.testing.assert_array_equal(rest, modulo)


@pytest.mark.slow
@pytest.mark.parametrize("divisor", ["0", "-1"])
def test_the_process_ends_without_the_workaround(divisor: str):
    command = [sys.executable, "-c", RUN_WITHOUT, divisor]
    # With AVX-512, LLVM divides vectors by other instructions, which do not raise.
    environment = {**os.environ, CPU_VARIABLE: "x86-64-v3"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.stdout == "1\n", done.stderr
    message = "the compiler guards divisions: remove the workaround integer-division"
    assert done.returncode == -signal.SIGFPE, f"{message}\n{done.stderr}"
