"""Computes the results of ONNX models by onnxruntime and ONNX's reference implementation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import onnxruntime
from clear_models import REFERENCE_OPSET, WRONG_REFERENCE, is_extreme
from onnx import helper
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_errors
from random_onnx import Draft

from hipgraft.onnx_backend.cases import difference

_Feeds = Mapping[str, np.ndarray]


def wanted(candidate: Draft, model: onnx.ModelProto) -> list[np.ndarray] | None:
    """Returns a model's results; None if the model is invalid or its meaning is unclear."""
    try:
        results = [by_onnxruntime(model, candidate.feeds())]
    except RuntimeError:
        return None
    if candidate.op in WRONG_REFERENCE and results == [None]:
        return None
    if candidate.opset >= REFERENCE_OPSET:
        results.append(by_reference(model, candidate.feeds()))
    elif results[0] and _has_more_nans(by_reference(model, candidate.feeds()), results[0]):
        return None  # onnxruntime's extremes ignore NaN or not, by its position
    results = [one for one in results if one]
    if not results or any(len(one) != len(results[0]) for one in results):
        return None
    if any(isinstance(value, list) for one in results for value in one):  # sequences
        return None
    for one in results[1:]:
        for left, right in zip(results[0], one, strict=True):
            if difference(np.asarray(right), np.asarray(left), 1e-3, 1e-4) is not None:
                return None
    arrays = [np.asarray(one) for one in results[0]]
    is_unclear = len(results) == 1 and is_extreme(candidate)
    # Roots of -0 are those of negative numbers that vanished in rounding.
    is_unclear |= "Sqrt" in candidate.following and any(map(_has_negative_zeros, arrays))
    return None if is_unclear or any(array.dtype.kind in "OUS" for array in arrays) else arrays


def _has_more_nans(found: list[Any] | None, known: list[Any]) -> bool:
    """Whether results have NaN where known ones of the same shapes do not."""
    pairs = [
        (np.asarray(one), np.asarray(other)) for one, other in zip(found or [], known, strict=False)
    ]
    floats = [pair for pair in pairs if pair[0].dtype.kind == pair[1].dtype.kind == "f"]
    return any(
        one.shape == other.shape and bool((np.isnan(one) & ~np.isnan(other)).any())
        for one, other in floats
    )


def _has_negative_zeros(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and bool((np.signbit(array) & (array == 0)).any())


def by_onnxruntime(model: onnx.ModelProto, feeds: _Feeds) -> list[Any] | None:
    """Returns the results of a model by unoptimised onnxruntime; None if there is no kernel.

    Raises:
        RuntimeError: the model is invalid, or fails when it runs.
    """
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, ["CPUExecutionProvider"]
        )
    except onnxruntime_errors.NotImplemented:
        return None
    except Exception as error:
        raise RuntimeError(str(error)) from error
    try:
        return session.run(None, feeds)
    except Exception as error:
        raise RuntimeError(str(error)) from error


def by_reference(model: onnx.ModelProto, feeds: _Feeds) -> list[Any] | None:
    """Returns the results of a model by ONNX's reference; None if it cannot run it."""
    from onnx.reference import ReferenceEvaluator

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return ReferenceEvaluator(model).run(None, feeds)
    except Exception:  # an invalid model, or one without a kernel
        return None


def evaluate(model: onnx.ModelProto, inputs: Sequence[np.ndarray]) -> list[Any] | None:
    """Returns the results of a rewritten model by onnxruntime, or else by the reference.

    Args:
        model: model whose inputs may hold the bits of the original model's inputs.
        inputs: inputs of the original model.
    """
    dtypes = [
        helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        for value in model.graph.input
    ]
    arrays = [of_type(array, dtype) for array, dtype in zip(inputs, dtypes, strict=True)]
    names = [value.name for value in model.graph.input]
    feeds = dict(zip(names, arrays, strict=True))
    for index, node in enumerate(model.graph.node):  # names are locations, which may be equal
        node.name = str(index)
    _compare_integers(model.graph)
    # The reference implementation rounds integer quotients down.
    evaluators = [by_onnxruntime, by_reference]
    if not {"ReduceMax", "ReduceMin", "Sign"}.isdisjoint(node.op_type for node in model.graph.node):
        evaluators.reverse()  # onnxruntime takes the lower halves of `int64`
    for evaluator in evaluators:
        with suppress(RuntimeError):
            results = evaluator(model, feeds)
            if results is not None:
                return results
    return None


def _compare_integers(graph: onnx.GraphProto) -> None:
    """Rewrites `Max` and `Min` of `int64`; onnxruntime ignores the upper halves of some."""
    values = (*graph.value_info, *graph.output)
    long = {v.name for v in values if v.type.tensor_type.elem_type == onnx.TensorProto.INT64}
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type not in ("Max", "Min") or node.output[0] not in long:
            nodes.append(node)
            continue
        compare, (value, *others) = "Greater" if node.op_type == "Max" else "Less", node.input
        for index, other in enumerate(others):
            names = [f"{node.output[0]}_{name}{index}" for name in ("is_left", "best")]
            nodes.append(helper.make_node(compare, [value, other], names[:1]))
            nodes.append(helper.make_node("Where", [names[0], value, other], names[1:]))
            value = names[1]
        nodes.append(helper.make_node("Identity", [value], node.output))
    del graph.node[:]
    graph.node.extend(nodes)


def of_type(array: Any, dtype: np.dtype) -> np.ndarray:
    """Reinterprets the bits of an array as another type of equal size."""
    array = np.asarray(array)
    if array.dtype == dtype or array.dtype.itemsize != dtype.itemsize:
        return array
    return array.view(dtype)
