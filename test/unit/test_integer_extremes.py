"""Maxima and minima of integers and of f64 on GPUs, of rows of one sign, against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from emulator import open_emulator, requires_emulator
from onnx import helper
from small_onnx import save

import hipgraft

pytestmark = [pytest.mark.slow, requires_emulator]

DTYPES = ("int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float64")
SHAPES = ((1, 1, 64), (1, 1, 100), (3, 1000), (64, 100), (20, 64, 3))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", DTYPES)
def test_rows_of_one_sign(tmp_path: Path, name: str, architecture: str):
    dtype = np.dtype(name)
    element = helper.np_dtype_to_tensor_dtype(dtype)
    draw = np.random.default_rng(0)
    nodes, inputs, outputs, expected = [], {}, [], []
    for number, shape in enumerate(SHAPES):
        sign = -1 if number % 2 and dtype.kind != "u" else 1
        x = (sign * draw.integers(1, 100, shape)).astype(dtype)
        inputs[f"x{number}"] = x
        for operator, compute in (("ReduceMax", np.max), ("ReduceMin", np.min)):
            for opposite in (False, True) if dtype.kind != "u" else (False,):
                operand, result = f"x{number}", f"{operator}{number}{opposite}"
                if opposite:
                    nodes.append(helper.make_node("Neg", [operand], [f"n{result}"]))
                    operand = f"n{result}"
                nodes.append(helper.make_node(operator, [operand], [result], axes=[-1]))
                outputs.append((result, element))
                expected.append(compute(-x if opposite else x, axis=-1, keepdims=True))
    path = save(tmp_path / "m.onnx", nodes, inputs, outputs, opset=17)
    device = open_emulator(architecture)
    with hipgraft.compile(path, architecture) as program:
        results = program.run(list(inputs.values()), device)
    device.close()
    for (result, _), found, want in zip(outputs, results, expected, strict=True):
        np.testing.assert_array_equal(found, want, err_msg=result)


@pytest.mark.parametrize("count", [65, 127])
def test_rows_longer_than_two_wavefronts_of_rdna(tmp_path: Path, count: int):
    """With 32-bit unsigned integers, such rows would crash the compiler."""
    x = -np.arange(1, count + 1, dtype=np.int32)[None]
    nodes = [helper.make_node(f"Reduce{one}", ["x"], [one], axes=[1]) for one in ("Max", "Min")]
    outputs = [(one, helper.np_dtype_to_tensor_dtype(x.dtype)) for one in ("Max", "Min")]
    path = save(tmp_path / "m.onnx", nodes, {"x": x}, outputs, opset=17)
    with hipgraft.compile(path, "gfx1100") as program:
        found = program.run([x], device="emulator:gfx1100")
    assert [int(each.item()) for each in found] == [-1, -count]


BOTH = """
func.func @main(%x: !torch.vtensor<[4,64],si32>)
    -> (!torch.vtensor<[4],si32>, !torch.vtensor<[4],si64>) {
  %dim = torch.constant.int 1
  %false = torch.constant.bool false
  %values, %indices = torch.aten.max.dim %x, %dim, %false : !torch.vtensor<[4,64],si32>,
    !torch.int, !torch.bool -> !torch.vtensor<[4],si32>, !torch.vtensor<[4],si64>
  return %values, %indices : !torch.vtensor<[4],si32>, !torch.vtensor<[4],si64>
}
"""


def test_maxima_with_their_positions():
    x = -np.random.default_rng(0).integers(1, 1000, (4, 64)).astype(np.int32)
    device = open_emulator("gfx942")
    with hipgraft.compile(BOTH, "gfx942") as program:
        values, positions = program.run([x], device)
    device.close()
    np.testing.assert_array_equal(values, x.max(1))
    np.testing.assert_array_equal(positions, x.argmax(1))
