"""Requests in the form of ONNX Runtime's provider, and sessions assembled from the answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import hipgraft
from hipgraft.onnxruntime.answer import make_answer
from hipgraft.onnxruntime.request import Request

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Levels = onnxruntime.GraphOptimizationLevel


def optimized(model: onnx.ModelProto, folder: Path, level: Levels) -> onnx.ModelProto:
    """Returns a model as a provider sees it at a level of onnxruntime's optimizations."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    session(model, options)
    return onnx.load(options.optimized_model_filepath)


def session(
    model: onnx.ModelProto, options: onnxruntime.SessionOptions | None = None
) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def ask(
    model: onnx.ModelProto,
    folder: Path,
    architecture: str = "cpu",
    is_nested: bool = False,
    **options: str,
) -> dict[str, Any]:
    """Requests a graph to be divided and compiled; returns the answer.

    Args:
        model: with all of its weights inside.
        folder: folder for the request; weights of more than 1 KiB go to a file there.
        architecture: target architecture.
        is_nested: whether the graph is a body of a node.
        options: the provider's.
    """
    folder.mkdir(exist_ok=True)
    written = onnx.ModelProto()
    written.CopyFrom(model)
    weights = b""
    for tensor in written.graph.initializer:
        data = numpy_helper.to_array(tensor).tobytes()
        if len(data) > 1024:
            tensor.CopyFrom(
                onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
            )
            tensor.data_location = onnx.TensorProto.EXTERNAL
            place = {"location": "weights.bin", "offset": len(weights), "length": len(data)}
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
            weights += data
    (folder / "weights.bin").write_bytes(weights)
    onnx.save(written, folder / "model.onnx")
    path = folder / "request.json"
    given = (architecture, is_nested, sorted(options.items()))
    text = repr((written.SerializeToString(), weights, given))
    fields = {
        "version": 1,
        "model": "model.onnx",
        "weights": "weights.bin",
        "key": hashlib.sha256(text.encode()).hexdigest(),
        "architectures": [architecture],
        "nested": is_nested,
        "options": options,
    }
    path.write_text(json.dumps(fields))
    return json.loads(make_answer(Request.read(path, architecture)).read_bytes())


def run(
    model: onnx.ModelProto, answer: Mapping[str, Any], inputs: Mapping[str, Array]
) -> list[Array]:
    """Runs the groups of an answer by hipgraft, and each other node by onnxruntime."""
    values: dict[str, Array] = {
        tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer
    }
    values |= inputs
    steps: list[tuple[list[str], list[str], Any]] = [
        (group["inputs"], group["outputs"], hipgraft.load(group["bundle"]).run)
        for group in answer["groups"]
    ]
    for left in answer["left"]:
        node = model.graph.node[left["node"]]
        read = [name for name in dict.fromkeys([*node.input, *captured(node)]) if name]
        made = [name for name in node.output if name]
        steps.append((read, made, lambda given, node=node, read=read: alone(
            model, node, dict(zip(read, given, strict=True))
        )))  # fmt: skip
    while steps:
        ready = next(step for step in steps if all(name in values for name in step[0]))
        steps.remove(ready)
        results = ready[2]([values[name] for name in ready[0]])
        values |= dict(zip(ready[1], results, strict=True))
    return [values[value.name] for value in model.graph.output]


def alone(model: onnx.ModelProto, node: onnx.NodeProto, given: Mapping[str, Array]) -> list[Array]:
    operands = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in given.items()
    ]
    results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "alone", operands, results)
    made = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    return session(made).run(None, dict(given))


def captured(node: onnx.NodeProto) -> list[str]:
    """Names that a node's bodies read but do not define, one level deep."""
    bodies = [one.g for one in node.attribute if one.HasField("g")]
    return [
        name
        for body in bodies
        for inner in body.node
        for name in inner.input
        if name not in {n for each in body.node for n in each.output}
        and name not in {one.name for one in (*body.input, *body.initializer)}
    ]


def drawn(model: onnx.ModelProto, extents: Mapping[str, int] | None = None) -> dict[str, Array]:
    """Returns random inputs of a model: small integers, and floats about 0."""
    rng = np.random.default_rng(3)
    constants = {tensor.name for tensor in model.graph.initializer}
    found: dict[str, Array] = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = value.type.tensor_type
        shape = [(extents or {}).get(d.dim_param, d.dim_value) for d in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        is_float = np.issubdtype(dtype, np.floating)
        array = rng.normal(size=shape) if is_float else rng.integers(0, 2, size=shape)
        found[value.name] = np.asarray(array).astype(dtype)
    return found


def check(
    model: onnx.ModelProto,
    answer: Mapping[str, Any],
    inputs: Mapping[str, Array],
    tolerance: float = 1e-5,
) -> None:
    """Checks that the groups and the other nodes compute onnxruntime's results."""
    numbers = sorted([n for g in answer["groups"] for n in g["nodes"]]
                     + [one["node"] for one in answer["left"]])  # fmt: skip
    assert numbers == list(range(len(model.graph.node)))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = Levels.ORT_DISABLE_ALL
    wanted = session(model, options).run(None, dict(inputs))
    for made, expected in zip(run(model, answer, inputs), wanted, strict=True):
        assert made.dtype == expected.dtype
        assert made.shape == expected.shape
        np.testing.assert_allclose(
            made.astype(np.float64), expected.astype(np.float64), rtol=tolerance, atol=tolerance
        )
