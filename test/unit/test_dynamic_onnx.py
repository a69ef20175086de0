"""ONNX operators in forms that crash torch-mlir in programs with dynamic shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

import hipgraft
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

Array = np.ndarray[Any, Any]


def save(
    path: Path, nodes: list[NodeProto], shapes: dict[str, list[Any]], constants: dict[str, Array]
) -> Path:
    """Writes a model with the result `y`, whose named extents are dynamic."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.save(model, path)
    return path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMean"])
def test_an_axis_that_is_named_twice(tmp_path: Path, op: str):
    node = helper.make_node(op, ["x", "axes"], ["y"], keepdims=0)
    path = save(tmp_path / "m.onnx", [node], {"x": ["n", 3]}, {"axes": np.array([1, -1])})
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (result,) = hipgraft.compile(path, "cpu").run([x])
    np.testing.assert_allclose(result, x.max(1) if op == "ReduceMax" else x.mean(1))


def test_a_logarithm_of_single_exponentials(tmp_path: Path):
    node = helper.make_node("ReduceLogSumExp", ["x", "axes"], ["y"], keepdims=0)
    path = save(tmp_path / "m.onnx", [node], {"x": ["n", 1]}, {"axes": np.array([1])})
    x = np.array([[1000], [-3]], np.float32)
    (result,) = hipgraft.compile(path, "cpu").run([x])
    np.testing.assert_array_equal(result, x[:, 0])


def test_nothing_is_concatenated(tmp_path: Path):
    """A decoder's first token is concatenated with an empty cache of keys."""
    nodes = [
        helper.make_node("Concat", ["past", "x"], ["all"], axis=1),
        helper.make_node("MatMul", ["all", "w"], ["y"]),
    ]
    w = np.arange(8, dtype=np.float32).reshape(4, 2)
    shapes = {"past": ["n", 0, 4], "x": ["n", 1, 4]}
    path = save(tmp_path / "m.onnx", nodes, shapes, {"w": w})
    x = np.arange(12, dtype=np.float32).reshape(3, 1, 4)
    (result,) = hipgraft.compile(path, "cpu").run([np.zeros((3, 0, 4), np.float32), x])
    np.testing.assert_allclose(result, x @ w)


def test_empty_results_of_other_dynamic_extents_are_refused(tmp_path: Path):
    node = helper.make_node("Gather", ["x", "places"], ["y"])
    constants = {"places": np.zeros((0, 1), np.int64)}
    path = save(tmp_path / "m.onnx", [node], {"x": [1, "n"]}, constants)
    with pytest.raises(
        HipgraftError, match="'Gather' of no elements is supported for static shapes"
    ):
        hipgraft.compile(path, "cpu")
