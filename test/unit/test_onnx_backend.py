"""ONNX's backend interface, driven by ONNX's own tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx.backend.test
import pytest
from onnx import helper, numpy_helper
from served import user_in

from hipgraft import onnx_backend
from hipgraft.onnx_backend.cases import Case, check
from hipgraft.onnx_backend.narrowed import ELEMENTS, narrowed

CASES = "test_relu_cpu|test_matmul_2d_cpu|test_layer_normalization_2d_axis1_cpu"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy warns in ONNX's own cases
@pytest.mark.thorough
def test_the_driver_of_onnx_passes() -> None:
    driver = onnx.backend.test.BackendTest(onnx_backend, __name__)
    for case in CASES.split("|"):
        driver.include(f"^{case}$")
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(
        driver.test_cases["OnnxBackendNodeModelTest"]
    )
    result = unittest.TestResult()
    suite.run(result)
    assert not result.failures + result.errors
    assert result.testsRun - len(result.skipped) == 3


def test_nodes_devices_and_arguments() -> None:
    node = helper.make_node("Sub", ["a", "b"], ["y"])
    a, b = np.float32([3, 4]), np.float32([1, 1])
    (y,) = onnx_backend.run_node(node, [a, b])
    assert (y == a - b).all()
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("CUDA:0")
    assert not onnx_backend.supports_device("none")
    with pytest.raises(ValueError, match="'CUDA' is not supported"):
        onnx_backend.run_node(node, [a, b], "CUDA")
    with pytest.raises(TypeError, match="unknown arguments: speed"):
        onnx_backend.run_node(node, [a, b], speed=3)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_suite_tells_each_case(tmp_path: Path) -> None:
    out = tmp_path / "cases.json"
    command = ["-m", "hipgraft.onnx_backend", "--filter", "^test_(relu|nonzero_example)$"]
    done = subprocess.run(
        [sys.executable, *command, f"--json={out}"], capture_output=True, text=True, check=True
    )
    kinds = {name: kind for name, (kind, _) in json.loads(out.read_text()).items()}
    assert kinds == {"test_relu": "pass", "test_nonzero_example": "refused"}
    assert "1 pass, 1 refused, 0 wrong" in done.stdout


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_cases_of_sixteen_bits(element: str, dtype: Any) -> None:
    node = helper.make_node("Mul", ["x", "c"], ["y"])
    value = helper.make_tensor_value_info
    constant = numpy_helper.from_array(np.float32(1.001), "c")
    graph = helper.make_graph([node], "g", [value("x", 1, [3])], [value("y", 1, [3])], [constant])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    x = np.array([1.001, 7, 1e6], np.float32)
    case = narrowed(Case("mul", model, [x], [x * np.float32(1.001)]), element)
    assert case is not None
    assert case.inputs[0].dtype == case.wanted[0].dtype == dtype
    kinds = {one.type.tensor_type.elem_type for one in (*case.model.graph.input, *graph.output)}
    assert kinds == {ELEMENTS[element], 1}  # the case itself stays
    assert check(case).kind == "pass"
    far = replace(case, wanted=[case.wanted[0] * dtype(1.1)])
    assert check(far).kind == "wrong"


@pytest.mark.thorough
def test_sessions_run_the_suite_too(tmp_path: Path) -> None:
    """Also cases of types that NumPy does not have, and of an opset that onnxruntime does not."""
    names = "add_bcast|nonzero_example|shape|cast_UINT2_to_FLOAT|cast_FLOAT_to_FLOAT8E5M2"
    names = f"^test_({names}|sequence_map_extract_shapes)$"
    command = ["-m", "hipgraft.onnx_backend", "--device", "onnxruntime", "--filter", names]
    with user_in(tmp_path) as home:
        given = {"XDG_RUNTIME_DIR": str(home / "run"), "HIPGRAFT_CACHE_DIR": str(home / "cache")}
        done = subprocess.run(
            [sys.executable, *command],
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            check=True,
        )
    # Programs have no 2-bit elements.
    assert "2 taken whole, 0 taken in part, 4 not taken" in done.stdout
    assert "6 pass, 0 refused, 0 wrong" in done.stdout
