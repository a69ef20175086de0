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


def save_listen(path: Path) -> Path:
    """Two padded convolutions over time, as speech models begin: [batch, 16, 38] in."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "v"], ["y"], strides=[2], pads=[1, 1]),
    ]
    constants = {
        "w": 0.2 * _rng.normal(size=(48, 16, 3)),
        "b": _rng.normal(size=48),
        "v": 0.2 * _rng.normal(size=(48, 48, 3)),
    }
    return save(path, nodes, {"x": ["batch", 16, 38]}, ["batch", 48, 19], constants)


def listen_inputs(batch: int) -> list[Array]:
    """Returns `x`."""
    return [np.random.default_rng(batch).normal(size=(batch, 16, 38)).astype(np.float32)]


def convolve_inputs(batch: int, size: int) -> list[Array]:
    """Returns `x`."""
    values = np.random.default_rng(batch * 100 + size)
    return [values.normal(size=(batch, 3, size, size)).astype(np.float32)]


def save_heads(path: Path) -> Path:
    """Causal attention of 4 heads, whose extents are all computed as tensors: [batch, seq, 24]."""
    make = helper.make_node
    nodes = [
        make("Shape", ["x"], ["shape"]),
        make("Gather", ["shape", "zero"], ["b"]),
        make("Gather", ["shape", "one"], ["n"]),
        make("Unsqueeze", ["b", "first"], ["batch"]),
        make("Unsqueeze", ["n", "first"], ["seq"]),
        make("Concat", ["batch", "seq", "heads", "width"], ["split"], axis=0),
        make("Reshape", ["x", "split"], ["apart"]),
        make("Transpose", ["apart"], ["q"], perm=[0, 2, 1, 3]),
        make("Concat", ["rest", "seq", "width"], ["flat"], axis=0),
        make("Reshape", ["q", "flat"], ["rows"]),
        make("Transpose", ["rows"], ["columns"], perm=[0, 2, 1]),
        make("MatMul", ["rows", "columns"], ["products"]),
        make("Concat", ["batch", "heads", "seq", "seq"], ["square"], axis=0),
        make("Reshape", ["products", "square"], ["scores"]),
        make("Range", ["zero", "n", "one"], ["positions"]),
        make("Unsqueeze", ["positions", "last"], ["rows_of"]),
        make("Less", ["rows_of", "positions"], ["later"]),
        make("Concat", ["seq", "seq"], ["of_mask"], axis=0),
        make("ConstantOfShape", ["of_mask"], ["half"], value=_tensor(np.float32([0.5]))),
        make("Where", ["later", "low", "half"], ["mask"]),
        make("Add", ["scores", "mask"], ["masked"]),
        make("Softmax", ["masked"], ["weights"], axis=-1),
        make("MatMul", ["weights", "q"], ["mixed"]),
        make("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        make("Mul", ["batch", "seq"], ["tokens"]),
        make("Concat", ["tokens", "rest"], ["joined"], axis=0),
        make("Reshape", ["back", "joined"], ["y"]),
    ]
    constants = {
        "zero": np.array(0),
        "one": np.array(1),
        "first": np.array([0]),
        "last": np.array([-1]),
        "heads": np.array([4]),
        "width": np.array([6]),
        "rest": np.array([-1]),
        "low": np.array(-1e30),
    }
    return save(path, nodes, {"x": ["batch", "seq", 24]}, ["tokens", 24], constants)


def _tensor(value: Array) -> TensorProto:
    return numpy_helper.from_array(value)


def heads_inputs(batch: int, seq: int) -> list[Array]:
    """Returns `x`."""
    return attend_inputs(batch, seq)[:1]
