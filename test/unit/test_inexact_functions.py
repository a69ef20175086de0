"""Functions of floats against NumPy in f64: all numbers of f16, the range of f32, constants."""

from __future__ import annotations

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from emulator import requires_emulator
from onnx import TensorProto, helper, numpy_helper, save

import hipgraft
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Workaround, without
from hipgraft.codegen.workarounds.inexact_functions import INEXACT_FUNCTIONS
from hipgraft.codegen.workarounds.inexact_powers import INEXACT_POWERS
from hipgraft.service import CompileService, InProcess, use_service

pytestmark = pytest.mark.slow

FUNCTIONS = {
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
}
KINDS = {
    np.float16: TensorProto.FLOAT16,
    ml_dtypes.bfloat16: TensorProto.BFLOAT16,
    np.float32: TensorProto.FLOAT,
    np.float64: TensorProto.DOUBLE,
}


def write(path: Path, names: list[str], x: np.ndarray, *, constant: bool = False) -> Path:
    kind = KINDS[x.dtype.type]
    nodes = [helper.make_node(name, ["x"], [name]) for name in names]
    value = helper.make_tensor_value_info("x", kind, x.shape)
    results = [helper.make_tensor_value_info(name, kind, x.shape) for name in names]
    inputs, tensors = ([], [numpy_helper.from_array(x, "x")]) if constant else ([value], [])
    graph = helper.make_graph(nodes, "g", inputs, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])
    model.ir_version = 10
    save(model, path)
    return path


def computed(path: Path, names: list[str], x: np.ndarray) -> dict[str, np.ndarray]:
    results = hipgraft.compile(write(path, names, x), "cpu").run([x])
    return dict(zip(names, results, strict=True))


def all_numbers(dtype: type) -> np.ndarray:
    x = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    return np.where(np.isnan(x), x.dtype.type(1), x)


@pytest.mark.sampled(4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_each_short_float_is_rounded_rightly(tmp_path: Path, dtype: type):
    x = all_numbers(dtype)
    if dtype is ml_dtypes.bfloat16:
        # The CPU flushes denormal numbers of f32; angles near 2**53 have no remainder in f64.
        size = np.abs(x.astype(np.float64))
        x = np.where((size > 1e-37) & (size < 1e14), x, x.dtype.type(1))
    for name, found in computed(tmp_path / "m.onnx", list(FUNCTIONS), x).items():
        want = FUNCTIONS[name](x.astype(np.float64))
        rounded = want.astype(np.float32).astype(dtype)
        is_same = (found == rounded) | np.isnan(found) & np.isnan(rounded)
        # f32 before: a tie may go the other way.
        steps = np.abs(found.view(np.int16).astype(int) - rounded.view(np.int16).astype(int))
        assert (is_same | (steps == 1)).all(), (name, x[~is_same & (steps != 1)][:5])
        assert (~is_same).mean() < 2e-3, name


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_range_of_f32(tmp_path: Path):
    draw = np.random.default_rng(0)
    sizes = np.exp(draw.uniform(np.log(1e-37), np.log(1e14), 100_000))
    odd = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 88.9, -89.2, 3e38, -3e38]
    x = np.concatenate([sizes * draw.choice([-1, 1], sizes.size), odd]).astype(np.float32)
    for name, found in computed(tmp_path / "m.onnx", list(FUNCTIONS), x).items():
        with np.errstate(all="ignore"):
            want = FUNCTIONS[name](x.astype(np.float64)).astype(np.float32)
        is_large = (np.abs(x) > 1e30) & np.isfinite(x) & np.isin(name, ["Sin", "Cos", "Tan"])
        if name in ("Sin", "Cos"):
            assert (np.abs(found[is_large]) <= 1).all()
        np.testing.assert_allclose(found[~is_large], want[~is_large], 4e-7, 1e-37, err_msg=name)
        is_zero = found == 0
        np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(want[is_zero]))


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_range_of_f64(tmp_path: Path):
    draw = np.random.default_rng(0)
    x = np.exp(draw.uniform(np.log(1e-9), np.log(1e6), 10_000)) * draw.choice([-1, 1], 10_000)
    x = np.concatenate([x, [0.0, 1.0, -1.0, 0.5, np.nan]])
    functions = FUNCTIONS | {"Tanh": np.tanh, "Erf": np.vectorize(math.erf)}
    for name, found in computed(tmp_path / "m.onnx", list(functions), x).items():
        np.testing.assert_allclose(found, functions[name](x), rtol=1e-12, err_msg=name)


@requires_emulator
def test_constants_of_a_gpu(tmp_path: Path):
    """The compiler evaluates constants on the CPU, whose functions must be right."""
    x = np.resize(np.array([11.5, -300.0, 20000.0, 3.0], np.float16), (64, 96))
    names = ["Sin", "Cosh", "Asinh"]
    model = write(tmp_path / "m.onnx", names, x, constant=True)
    results = hipgraft.compile(model, "gfx942").run([], "emulator:gfx942")
    with np.errstate(over="ignore"):
        for name, found in zip(names, results, strict=True):
            want = FUNCTIONS[name](x.astype(np.float64)).astype(np.float16)
            np.testing.assert_array_max_ulp(found, want, 1)


def test_the_compiler_has_the_fault(tmp_path: Path):
    x = np.array([5e6, -5000.0, 88.9], np.float32)
    names = ["Sin", "Asinh", "Cosh"]
    with without(INEXACT_FUNCTIONS), CompileService(InProcess()) as service, use_service(service):
        found = computed(tmp_path / "m.onnx", names, x)
    for index, name in enumerate(names):
        want = float(FUNCTIONS[name](float(x[index])))
        message = f"the compiler computes {name}: remove the workaround inexact-functions"
        assert not np.isclose(found[name][index], want, rtol=1e-4), message


@pytest.mark.parametrize(
    ("op", "workaround"),
    [("math.sin %a", INEXACT_FUNCTIONS), ("math.powf %a, %a", INEXACT_POWERS)],
    ids=["functions", "powers"],
)
def test_cuda_has_no_device_library_either(op: str, workaround: Workaround):
    text = f"""
    #map = affine_map<(i) -> (i)>
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %empty = tensor.empty() : tensor<4xf32>
      %r = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
          ins(%x : tensor<4xf32>) outs(%empty : tensor<4xf32>) {{
      ^bb0(%a: f32, %b: f32):
        %c = {op} : f32
        linalg.yield %c : f32
      }} -> tensor<4xf32>
      return %r : tensor<4xf32>
    }}"""
    target = Target.parse("sm_80")
    (code,) = compile_text(text, target).objects
    with without(workaround):
        (plain,) = compile_text(text, target).objects
    assert b"mul.rn.f64" in code
    assert b".f64" not in plain
