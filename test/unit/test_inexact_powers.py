"""Powers against NumPy's: all pairs of special values, constant exponents, integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper, save

import hipgraft
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.inexact_powers import INEXACT_POWERS
from hipgraft.service import CompileService, InProcess, use_service

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]

INF, NAN = np.inf, np.nan
BASES = [-INF, -1e30, -6, -2.5, -1, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1, 2.5, 7, 1e30, INF, NAN]
EXPONENTS = [-INF, -17, -3, -2.5, -1, -0.5, -0.0, 0.0, 0.5, 1, 2, 3, 2.5, 17, INF, NAN]


def power(path: Path, x: np.ndarray, y: np.ndarray, *, constant: bool = False) -> np.ndarray:
    def value(name: str, array: np.ndarray):
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)

    shape = np.broadcast_shapes(x.shape, y.shape)
    inputs = [value("x", x)] if constant else [value("x", x), value("y", y)]
    tensors = [numpy_helper.from_array(y, "y")] if constant else []
    results = [value("z", np.empty(shape, x.dtype))]
    graph = helper.make_graph(
        [helper.make_node("Pow", ["x", "y"], ["z"])], "g", inputs, results, tensors
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])
    model.ir_version = 8
    save(model, path)
    (found,) = hipgraft.compile(path, "cpu").run([x] if constant else [x, y])
    return found


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float16, 1e-3), (np.float32, 1.2e-7), (np.float64, 1e-13)]
)
def test_special_values(tmp_path: Path, dtype: type, tolerance: float):
    x, y = (np.array(one, dtype) for one in np.meshgrid(BASES, EXPONENTS))
    want = np.power(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
    found = power(tmp_path / "m.onnx", x, y)
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=1e-37)
    np.testing.assert_array_equal(np.signbit(found[want == 0]), np.signbit(want[want == 0]))


def test_range_of_f32(tmp_path: Path):
    draw = np.random.default_rng(0)
    x = np.exp(draw.uniform(-80, 80, 50_000)).astype(np.float32)
    y = draw.uniform(-2, 2, 50_000).astype(np.float32)
    want = np.power(x.astype(np.float64), y).astype(np.float32)
    found = power(tmp_path / "m.onnx", x, y)
    np.testing.assert_allclose(found, want, rtol=1.2e-7, atol=1e-37)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("exponent", [-3, 4, 7, 16, 17, 0.75])
def test_constant_exponents(tmp_path: Path, exponent: float):
    x = np.linspace(-3, 3, 64, dtype=np.float32)
    want = np.power(x.astype(np.float64), exponent)
    found = power(tmp_path / "m.onnx", x, np.array(exponent, np.float32), constant=True)
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_the_compiler_has_the_fault(tmp_path: Path):
    x = np.array([-6], np.float32)
    with without(INEXACT_POWERS), CompileService(InProcess()) as service, use_service(service):
        found = power(tmp_path / "m.onnx", x, np.array(4, np.float32), constant=True)
    assert np.isnan(found), "the compiler computes powers: remove the workaround inexact-powers"
