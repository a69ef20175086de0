"""Constant operands whose results ONNX's reference implementation gets wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from benchmark_modules import benchmark
from onnx import TensorProto, helper
from small_onnx import F32, drawn, save

import hipgraft
from hipgraft.frontends.onnx.model import read_model

I64 = TensorProto.INT64
NAN = np.array([[2.0, np.nan, 3.0], [-1.0, np.inf, np.nan]], np.float32)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "element"),
    [
        ("RNN", [drawn(4, 2, 2), drawn(1, 1, 2), drawn(1, 1, 1), None, np.int32([4, 1])],
         {"hidden_size": 1}, F32),
        ("LSTM", [drawn(3, 2, 2), drawn(1, 4, 2), drawn(1, 4, 1), None, np.int32([3, 1])],
         {"hidden_size": 1}, F32),
        ("GRU", [drawn(3, 2, 2), drawn(1, 3, 2), drawn(1, 3, 1), None, np.int32([3, 1])],
         {"hidden_size": 1}, F32),
        ("LogSoftmax", [np.array([[0.0, 1e4], [2.0, 1.0]], np.float32)], {}, F32),
        ("ArgMax", [NAN], {"axis": 1}, I64),
    ],
)  # fmt: skip
def test_constants(
    tmp_path: Path,
    op: str,
    operands: list[np.ndarray | None],
    attributes: dict[str, int],
    element: int,
) -> None:
    names = ["" if one is None else f"c{index}" for index, one in enumerate(operands)]
    constants = {n: one for n, one in zip(names, operands, strict=True) if one is not None}
    node = helper.make_node(op, names, ["y"], **attributes)
    path = save(tmp_path / "m.onnx", [node], {}, [("y", element)], constants, opset=17)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {})
    results = benchmark("differential").evaluate(read_model(path), [])
    np.testing.assert_allclose(results[0], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(8)
@pytest.mark.slow
@pytest.mark.parametrize("columns", [1000, 5000])  # evaluated by the frontend, and by a pass
@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("ReduceMean", lambda w: w.mean(1, keepdims=True)),
        ("ReduceL2", lambda w: np.sqrt((w * w).sum(1, keepdims=True))),
        ("ReduceLogSum", lambda w: np.log(w.sum(1, keepdims=True))),
    ],
)
def test_sums_of_sixteen_bits(tmp_path: Path, op: str, function: Any, columns: int) -> None:
    """Partial sums of these constants overflow their type."""
    w = np.random.default_rng(0).uniform(200, 400, (3, columns)).astype(np.float16)
    inputs = {"x": np.zeros((3, 1), np.float16)}
    nodes = [
        helper.make_node(op, ["w", "axes"], ["reduced"]),
        helper.make_node("Add", ["x", "reduced"], ["y"]),
    ]
    outputs, constants = [("y", TensorProto.FLOAT16)], {"w": w, "axes": np.array([1])}
    path = save(tmp_path / "m.onnx", nodes, inputs, outputs, constants)
    (found,) = hipgraft.compile(path, "cpu").run([*inputs.values()])
    np.testing.assert_allclose(found, function(w.astype(np.float64)), rtol=2e-3)


@pytest.mark.slow
def test_constants_that_decide_how_many_elements_there_are(tmp_path: Path) -> None:
    # The mask exceeds the size limits of other folded constants and of those in the model.
    count = 200
    nodes = [
        helper.make_node("Trilu", ["ones"], ["upper"], upper=1),
        helper.make_node("Reshape", ["upper", "flat"], ["mask"]),
        helper.make_node("NonZero", ["mask"], ["found"]),
        helper.make_node("Squeeze", ["found", "zero"], ["places"]),
        helper.make_node("Reshape", ["x", "flat"], ["elements"]),
        helper.make_node("Gather", ["elements", "places"], ["taken"]),
        helper.make_node("ReduceSum", ["taken"], ["y"], keepdims=0),
    ]
    constants = {
        "ones": np.ones((count, count), np.float32),
        "flat": np.array([-1]),
        "zero": np.array([0]),
    }
    x = drawn(count, count)
    results = [("taken", F32), ("y", F32)]
    path = save(tmp_path / "m.onnx", nodes, {"x": x}, results, constants, opset=17)
    taken, total = hipgraft.compile(path, "cpu").run([x])
    expected = x[np.triu_indices(count)]
    np.testing.assert_array_equal(taken, expected)
    np.testing.assert_allclose(total, expected.sum(dtype=np.float64), rtol=1e-4)
