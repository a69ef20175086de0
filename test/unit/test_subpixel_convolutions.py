"""Transposed convolutions of constant filters, against onnxruntime."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import hipgraft


def transposed(seed: int) -> tuple[onnx.ModelProto, np.ndarray[Any, Any]]:
    """Returns a random transposed convolution, whose result is viewed, and its input."""
    choose, draw = random.Random(seed), np.random.default_rng(seed)
    rank, groups = choose.choice([1, 2, 2, 2, 3]), choose.choice([1, 1, 1, 2, 3])
    channels, filters = groups * choose.choice([1, 2, 3, 8]), choose.choice([1, 2, 3, 8])
    stride = [choose.choice([1, 2, 2, 3, 4]) for _ in range(rank)]
    window = [choose.choice([1, 2, 3, 4, 5, 7]) for _ in range(rank)]
    before, after = ([choose.randint(0, extent - 1) for extent in window] for _ in range(2))
    more = [choose.randint(0, step - 1) for step in stride]
    extents = [choose.choice([5, 6, 8]) for _ in range(rank)]
    weights = {
        "w": draw.standard_normal((channels, filters, *window)).astype(np.float32),
        "b": draw.standard_normal(groups * filters).astype(np.float32),
    }
    node = helper.make_node(
        "ConvTranspose",
        ["x", "w", "b"] if seed % 2 else ["x", "w"],
        ["c"],
        pads=before + after,
        strides=stride,
        output_padding=more,
        group=groups,
    )
    x = draw.standard_normal((choose.choice([1, 2]), channels, *extents)).astype(np.float32)
    last = helper.make_node("Slice", ["c", "one", "most", "axis"], ["y"])
    numbers = {"one": 1, "most": 1 << 40, "axis": rank + 1}
    if seed % 3 == 0:  # the results of a row, whose windows no strides may show
        numbers = {"one": [0, 0, -1]}
        last = helper.make_node("Reshape", ["c", "one"], ["y"])
    arrays = {name: np.array([number], np.int64).ravel() for name, number in numbers.items()}
    graph = helper.make_graph(
        [node, last],
        "transposed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in (weights | arrays).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True), x


@pytest.mark.sampled(44)
@pytest.mark.parametrize("seed", range(30))
def test_random_ones(seed: int, tmp_path: Path) -> None:
    model, x = transposed(seed)
    path = tmp_path / "transposed.onnx"
    onnx.save(model, path)
    session: Any = ort.InferenceSession(path)
    (wanted,) = session.run(None, {"x": x})
    with hipgraft.compile(path, target="cpu") as program:
        assert "conv_dgrad" not in str(program.module)
        (found,) = program.run([x])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_launches_on_a_gpu(tmp_path: Path) -> None:
    """One convolution, and one kernel for the order of its results, the bias and what follows."""
    path = tmp_path / "doubled.onnx"
    weights = np.ones((32, 16, 4, 4), np.float32), np.ones(16, np.float32)
    nodes = [
        helper.make_node("ConvTranspose", ["x", "w", "b"], ["c"], pads=[1] * 4, strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "doubled",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 32, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 16, 32, 32])],
        [numpy_helper.from_array(value, name) for value, name in zip(weights, "wb", strict=True)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    with hipgraft.compile(path, target="gfx942") as program:
        assert str(program.module).count("gpu.launch_func ") == 2
