"""Small ONNX models, and onnxruntime's results."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnx
import onnxruntime
from benchmark_modules import benchmark
from onnx import TensorProto, helper, numpy_helper

import hipgraft
from hipgraft.frontends.onnx.model import read_model

_Helper = TypeVar("_Helper", bound=Callable[..., Any])

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def save(path: Path, nodes, inputs, outputs, constants=None, opset=20) -> Path:
    """Inputs as arrays by name, outputs as pairs of name and element type."""
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in inputs.items()
    ]
    results = [helper.make_tensor_value_info(n, t, None) for n, t in outputs]
    tensors = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", infos, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 10
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    del model.graph.output[:]
    model.graph.output.extend(inferred.graph.output)
    onnx.save(model, path)
    return path


class RandomNodes:
    """Nodes of a random model, with its inputs and constants."""

    def __init__(self, seed: int):
        self.draw = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.constants: dict[str, np.ndarray] = {}

    def op(self, op_type: str, *operands: str, **attributes: object) -> str:
        """Adds a node and returns its result."""
        result = f"r{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, operands, [result], **attributes))
        return result

    def check(self, path: Path, results: list[str]) -> None:
        """Compares what the compiled model computes on the CPU with onnxruntime's results."""
        pairs = [(name, F32) for name in results]
        save(path, self.nodes, self.inputs, pairs, self.constants)
        wanted = onnxruntime.InferenceSession(path).run(None, self.inputs)
        found = hipgraft.compile(path, "cpu").run(self.inputs)
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


compiles = True
"""Whether `results_of` compiles models; else it evaluates what the frontend makes of them."""

EVALUATING: list[Callable[..., Any]] = []
"""The helpers that do nothing with a model but `results_of`."""


def evaluating(helper: _Helper) -> _Helper:
    """Lets `make test` evaluate the cases of sampled tests that only call this helper."""
    EVALUATING.append(helper)
    return helper


@evaluating
def results_of(path: Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    evaluated = None
    if not compiles:
        rewritten = read_model(path, counted=True)
        evaluated = benchmark("differential").evaluate(rewritten, inputs)
        if evaluated is not None:
            evaluated = benchmark("random_rows").valid_rows(evaluated, rewritten)
    if evaluated is None:
        return hipgraft.compile(path, "cpu").run(inputs)
    results = onnx.load(path, load_external_data=False).graph.output
    dtypes = [helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type) for one in results]
    # Types that compilers lack are stored as other types of the same size.
    return [
        array if array.dtype == dtype else array.view(dtype)
        for array, dtype in zip(map(np.asarray, evaluated), dtypes, strict=True)
    ]


@evaluating
def check(path: Path, inputs, tolerance=1e-5) -> None:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    wanted = session.run(None, dict(inputs))
    outputs = results_of(path, list(inputs.values()))
    for got, want in zip(outputs, wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)
