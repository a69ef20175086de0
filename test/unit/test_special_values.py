"""ATen ops on NaN, infinities, zeros of either sign and large numbers, against NumPy's definitions.

They are compiled with static and with dynamic shapes, because hipDNN computes some of the former.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hipgraft
from hipgraft.codegen.workarounds import Workaround, without
from hipgraft.codegen.workarounds.inexact_functions import INEXACT_FUNCTIONS
from hipgraft.codegen.workarounds.inexact_remainders import INEXACT_REMAINDERS
from hipgraft.codegen.workarounds.integer_powers import INTEGER_POWERS
from hipgraft.codegen.workarounds.log_sigmoid import LOG_SIGMOID
from hipgraft.codegen.workarounds.lost_nans import LOST_NANS
from hipgraft.service import CompileService, InProcess, use_service

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

Array = np.ndarray[Any, Any]

INF, NAN = np.inf, np.nan
VALUES = [NAN, INF, -INF, 0.0, -0.0, 1.5, -2.5, 7.0, 100.0, -100.0, 1e4, -1e4]
X, Y = (np.array(one, np.float32).reshape(-1) for one in np.meshgrid(VALUES, VALUES))


def shrunk(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x), x, np.sign(x) * np.maximum(np.abs(x) - 0.5, 0))


OPS: dict[str, tuple[list[str | float | int], Callable[[Array, Array], Array]]] = {
    "atan2": (["x", "y"], np.arctan2),
    "clamp": (["x", -1.0, 1.0], lambda x, _: np.clip(x, -1, 1)),
    "clamp_max": (["x", -1.0], lambda x, _: np.minimum(x, -1)),
    "clamp_min": (["x", -1.0], lambda x, _: np.maximum(x, -1)),
    "fmod.Scalar": (["x", 3.0], lambda x, _: np.fmod(x, 3)),
    "fmod.Tensor": (["x", "y"], np.fmod),
    "hardshrink": (["x", 2.0], lambda x, _: np.where(np.abs(x) <= 2, 0, x)),
    "hardtanh": (["x", -1.0, 1.0], lambda x, _: np.clip(x, -1, 1)),
    "leaky_relu": (["x", 0.0], lambda x, _: np.where(x > 0, x, x * 0)),
    "log10": (["x"], lambda x, _: np.log10(x)),
    "log_sigmoid": (["x"], lambda x, _: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))),
    "maximum": (["x", "y"], np.maximum),
    "minimum": (["x", "y"], np.minimum),
    "pow.Tensor_Scalar": (["x", -1], lambda x, _: 1 / x),
    "relu6": (["x"], lambda x, _: np.clip(x, 0, 6)),
    "remainder.Tensor": (["x", "y"], np.remainder),
    "softshrink": (["x", 0.5], shrunk),
    "threshold": (["x", 1.0, 9.0], lambda x, _: np.where(x <= 1, 9, x)),
}
TESTS: dict[str, tuple[list[str | float | int], Callable[[Array, Array], Array]]] = {
    "eq.Tensor": (["x", "x"], lambda x, _: x == x),
    "isfinite": (["x"], lambda x, _: np.isfinite(x)),
    "ne.Tensor": (["x", "x"], lambda x, _: x != x),
}
CASES = OPS | TESTS


def written(names: list[str], extent: int | str) -> str:
    """A function that computes ops on `x` and `y`."""
    tensor = f"!torch.vtensor<[{extent}],f32>"
    lines: list[str] = []
    kinds: list[str] = []
    for index, name in enumerate(names):
        operands: list[str] = []
        types: list[str] = []
        for place, value in enumerate(CASES[name][0]):
            kind = "int" if isinstance(value, int) else "float"
            if isinstance(value, str):
                operands.append(f"%{value}")
                types.append(tensor)
                continue
            operands.append(f"%c{index}_{place}")
            types.append(f"!torch.{kind}")
            lines.append(f"{operands[-1]} = torch.constant.{kind} {value}")
        kinds.append(tensor.replace("f32", "i1") if name in TESTS else tensor)
        given, taken = ", ".join(operands), ", ".join(types)
        is_known = name not in ("isfinite",)
        op = f'"torch.aten.{name}"' if is_known else f'torch.operator "torch.aten.{name}"'
        lines.append(f"%r{index} = {op}({given}) : ({taken}) -> {kinds[-1]}")
    results = ", ".join(f"%r{index}" for index in range(len(names)))
    body = "\n".join([*lines, f"return {results} : {', '.join(kinds)}"])
    return f"func.func @main(%x: {tensor}, %y: {tensor}) -> ({', '.join(kinds)}) {{\n{body}\n}}"


def computed(path: Path, names: list[str], extent: int | str, device: str = "cpu") -> list[Array]:
    path.write_text(written(names, extent))
    return hipgraft.compile(path, device.rpartition(":")[2]).run([X, Y], device)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int | str, str], dict[str, Array]]:
    @cache
    def run(extent: int | str, device: str) -> dict[str, Array]:
        path = tmp_path_factory.mktemp("special") / "m.mlir"
        return dict(zip(CASES, computed(path, list(CASES), extent, device), strict=True))

    return run


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("extent", "device"),
    [
        (len(X), "cpu"),
        ("?", "cpu"),
        pytest.param(len(X), "emulator:gfx942", marks=pytest.mark.thorough),
        pytest.param("?", "emulator:gfx1100", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_special_values(found: Any, name: str, extent: int | str, device: str):
    with np.errstate(all="ignore"):
        expected = CASES[name][1](X.astype(np.float64), Y.astype(np.float64))
        expected = expected.astype(bool if name in TESTS else np.float32)
    np.testing.assert_allclose(found(extent, device)[name], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.own_service
@pytest.mark.parametrize(
    ("workaround", "name"),
    [
        (INEXACT_FUNCTIONS, "atan2"),
        (INEXACT_REMAINDERS, "fmod.Tensor"),
        (INTEGER_POWERS, "pow.Tensor_Scalar"),
        (LOG_SIGMOID, "log_sigmoid"),
        (LOST_NANS, "clamp"),
    ],
    ids=lambda one: one.name if isinstance(one, Workaround) else one,
)
def test_the_compiler_has_the_fault(tmp_path: Path, workaround: Workaround, name: str):
    with without(workaround), CompileService(InProcess()) as service, use_service(service):
        (wrong,) = computed(tmp_path / "m.mlir", [name], "?")
    expected = CASES[name][1](X, Y)
    is_right = np.allclose(wrong, expected, equal_nan=True, rtol=1e-5)
    assert not is_right, "the fault is gone: remove the workaround"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("extent", [3, "?"])
def test_sums_of_exponentials_of_infinities(tmp_path: Path, extent: int | str):
    rows = [[INF, 1, 2], [-INF, -INF, -INF], [1000, 1001, 1002], [-INF, 3, NAN], [-1000, -1000, 0]]
    x = np.array(rows, np.float32)
    tensor = f"!torch.vtensor<[5,{extent}],f32>"
    path = tmp_path / "m.mlir"
    path.write_text(f"""
        func.func @main(%x: {tensor}) -> !torch.vtensor<[5],f32> {{
          %one = torch.constant.int 1
          %dims = torch.prim.ListConstruct %one : (!torch.int) -> !torch.list<int>
          %no = torch.constant.bool false
          %r = torch.aten.logsumexp %x, %dims, %no
            : {tensor}, !torch.list<int>, !torch.bool -> !torch.vtensor<[5],f32>
          return %r : !torch.vtensor<[5],f32>
        }}""")
    (result,) = hipgraft.compile(path, "cpu").run([x])
    last = 1002 + math.log(1 + math.exp(-1) + math.exp(-2))
    np.testing.assert_allclose(result, [INF, -INF, last, NAN, 0], rtol=1e-6)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("extent", [3, "n"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 18])
def test_logarithms_of_large_exponentials(
    tmp_path: Path, extent: int | str, keepdims: int, opset: int
):
    axes: dict[str, Any] = {"axes": [1]} if opset < 18 else {}
    constants = [] if axes else [numpy_helper.from_array(np.array([1]), "a")]
    node = helper.make_node(
        "ReduceLogSumExp", ["x", *(one.name for one in constants)], ["y"], keepdims=keepdims, **axes
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, extent])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2] + [1] * keepdims)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    x = np.array([[1000, 999, -1000], [-INF, -INF, -INF]], np.float32)
    (result,) = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([x])
    expected = np.array([1000 + math.log(1 + math.exp(-1)), -INF], np.float32)
    np.testing.assert_allclose(result, expected.reshape(result.shape), rtol=1e-6)
    assert result.shape == ((2, 1) if keepdims else (2,))


def test_functions_of_constants(tmp_path: Path):
    """torch-mlir does not finish where it compares these constants with integers."""
    tensor = "!torch.vtensor<[2],f32>"
    path = tmp_path / "m.mlir"
    path.write_text(f"""
        func.func @main() -> ({tensor}, {tensor}, {tensor}, {tensor}) {{
          %x = torch.vtensor.literal(dense<[1.75, -0.25]> : tensor<2xf32>) : {tensor}
          %one = torch.constant.int 1
          %limit = torch.constant.int 20
          %0 = torch.aten.softplus %x, %one, %limit : {tensor}, !torch.int, !torch.int -> {tensor}
          %1 = torch.aten.trunc %x : {tensor} -> {tensor}
          %2 = torch.aten.frac %x : {tensor} -> {tensor}
          %3 = torch.aten.log_sigmoid %x : {tensor} -> {tensor}
          return %0, %1, %2, %3 : {tensor}, {tensor}, {tensor}, {tensor}
        }}""")
    plus, whole, rest, below = hipgraft.compile(path, "cpu").run([])
    np.testing.assert_allclose(plus, np.log1p(np.exp([1.75, -0.25])), rtol=1e-6)
    np.testing.assert_allclose(below, -np.log1p(np.exp([-1.75, 0.25])), rtol=1e-6)
    np.testing.assert_array_equal(whole, [1, 0])
    np.testing.assert_array_equal(rest, [0.75, -0.25])


def test_sixteen_bit_floats_are_rounded_to_decimals(tmp_path: Path):
    tensor = "!torch.vtensor<[3],f16>"
    path = tmp_path / "m.mlir"
    path.write_text(f"""
        func.func @main(%x: {tensor}) -> {tensor} {{
          %two = torch.constant.int 2
          %r = torch.aten.round.decimals %x, %two : {tensor}, !torch.int -> {tensor}
          return %r : {tensor}
        }}""")
    (result,) = hipgraft.compile(path, "cpu").run([np.array([1000, 1.236, -1.234], np.float16)])
    np.testing.assert_array_equal(result, np.array([1000, 1.24, -1.23], np.float16))


@pytest.mark.parametrize("extent", [4, "?"])
def test_torch_results_of_bytes_stay_unsigned(tmp_path: Path, extent: int | str):
    tensor = f"!torch.vtensor<[{extent}],ui8>"
    path = tmp_path / "m.mlir"
    path.write_text(f"""
        func.func @main(%x: {tensor}) -> {tensor} {{
          %one = torch.constant.int 1
          %r = torch.aten.add.Scalar %x, %one, %one : {tensor}, !torch.int, !torch.int -> {tensor}
          return %r : {tensor}
        }}""")
    x = np.array([0, 127, 128, 254], np.uint8)
    (result,) = hipgraft.compile(path, "cpu").run([x])
    assert result.dtype == np.uint8
    np.testing.assert_array_equal(result, x + 1)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("extent", [4, "n"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64])
def test_results_of_unsigned_integers_stay_unsigned(tmp_path: Path, extent: int | str, dtype: Any):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    graph = helper.make_graph(
        [helper.make_node("Transpose", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", kind, [3, extent])],
        [helper.make_tensor_value_info("y", kind, [extent, 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    x = np.full((3, 4), np.iinfo(dtype).max, dtype)
    (result,) = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([x])
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x.T)
