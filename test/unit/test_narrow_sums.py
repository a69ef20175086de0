"""Sums of 16-bit floats that hipDNN does not compute, as in programs of dynamic shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import hipgraft
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.narrow_sums import NARROW_SUMS
from hipgraft.service import CompileService, InProcess, use_service

pytestmark = pytest.mark.slow

ONES, ZEROS, AXES = np.ones(4, np.float32), np.zeros(4, np.float32), np.array([2, 3])
OPS: dict[str, tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]] = {
    "AveragePool": ({"kernel_shape": [30, 30]}, {}),
    "GlobalAveragePool": ({}, {}),
    "GroupNormalization": ({"num_groups": 2}, {"s": ONES, "b": ZEROS}),
    "InstanceNormalization": ({}, {"s": ONES, "b": ZEROS}),
    "MeanVarianceNormalization": ({"axes": [2, 3]}, {}),
    "ReduceL2": ({}, {"a": AXES}),
    "ReduceMean": ({}, {"a": AXES}),
}


def model_of(op: str, dtype: Any) -> Any:
    """A model of an op whose first dimension is dynamic."""
    attributes, constants = OPS[op]
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    arrays = {
        name: one.astype(dtype) if one.dtype == np.float32 else one
        for name, one in constants.items()
    }
    graph = helper.make_graph(
        [helper.make_node(op, ["x", *arrays], ["y"], **attributes)],
        "sums",
        [helper.make_tensor_value_info("x", kind, ["n", 4, 30, 30])],
        [helper.make_tensor_value_info("y", kind, ["n", 4, None, None])],
        [numpy_helper.from_array(one, name) for name, one in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("op", OPS)
def test_partial_sums_exceed_the_type(tmp_path: Path, op: str, dtype: Any):
    x = np.random.default_rng(0).normal(500, 50, (2, 4, 30, 30)).astype(dtype)
    onnx.save(model_of(op, dtype), tmp_path / "m.onnx")
    (found,) = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([x])
    exact = {"x": x.astype(np.float32)}
    expected: Any = ReferenceEvaluator(model_of(op, np.float32)).run(None, exact)[0]
    rounding = 4 * float(ml_dtypes.finfo(dtype).eps)
    scale = float(np.abs(expected).max())
    np.testing.assert_allclose(
        np.asarray(found, np.float32), expected, rtol=rounding, atol=rounding * scale
    )


@pytest.mark.own_service
def test_the_compiler_has_the_fault(tmp_path: Path):
    x = np.full((1, 4, 30, 30), 500, np.float16)
    onnx.save(model_of("ReduceMean", np.float16), tmp_path / "m.onnx")
    with without(NARROW_SUMS), CompileService(InProcess()) as service, use_service(service):
        (found,) = hipgraft.compile(tmp_path / "m.onnx", "cpu").run([x])
    assert np.isinf(found).all(), "the fault is gone: remove the workaround"
