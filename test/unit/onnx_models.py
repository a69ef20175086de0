"""Small ONNX models with symbolic dimensions, and inputs for them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

_rng = np.random.default_rng(7)
ATTEND_WEIGHTS = {
    "w": _rng.normal(size=(24, 32)),
    "v": _rng.normal(size=(32, 8)),
    "b": _rng.normal(size=8),
}


def save(
    path: Path,
    nodes: Sequence[NodeProto],
    inputs: dict[str, list[int | str]],
    output: list[int | str],
    constants: dict[str, Array],
) -> Path:
    """Writes a model of f32 inputs whose result is `y`."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "g",
        [info(name, TensorProto.FLOAT, dims) for name, dims in inputs.items()],
        [info("y", TensorProto.FLOAT, output)],
        [
            numpy_helper.from_array(
                value.astype(np.float32) if value.dtype == np.float64 else value, name
            )
            for name, value in constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


def save_attend(path: Path) -> Path:
    """`softmax(x @ w + mask) @ v + b`, flattened by a computed shape: [batch, seq, 24] in."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["scores"]),
        helper.make_node("Unsqueeze", ["mask", "last"], ["columns"]),
        helper.make_node("Add", ["scores", "columns"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "v"], ["mixed"]),
        helper.make_node("Add", ["mixed", "b"], ["sum"]),
        helper.make_node("Shape", ["sum"], ["batch"], end=1),
        helper.make_node("Concat", ["batch", "rest"], ["flat"], axis=0),
        helper.make_node("Reshape", ["sum", "flat"], ["y"]),
    ]
    inputs: dict[str, list[int | str]] = {"x": ["batch", "seq", 24], "mask": ["batch", "seq"]}
    constants = {**ATTEND_WEIGHTS, "last": np.array([-1]), "rest": np.array([-1])}
    return save(path, nodes, inputs, ["batch", "n"], constants)


def attend_inputs(batch: int, seq: int) -> list[Array]:
    """Returns `x` and `mask`."""
    values = np.random.default_rng(batch * 100 + seq)
    shapes = [(batch, seq, 24), (batch, seq)]
    return [values.normal(size=shape).astype(np.float32) for shape in shapes]


def save_convolve(path: Path) -> Path:
    """A strided, padded convolution with ReLU of images of any size, and its mean: [batch, 8]."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    constants = {"w": _rng.normal(size=(8, 3, 3, 3)), "b": _rng.normal(size=8)}
    return save(path, nodes, {"x": ["batch", 3, "size", "size"]}, ["batch", 8], constants)


def convolve_inputs(batch: int, size: int) -> list[Array]:
    """Returns `x`."""
    values = np.random.default_rng(batch * 100 + size)
    return [values.normal(size=(batch, 3, size, size)).astype(np.float32)]
