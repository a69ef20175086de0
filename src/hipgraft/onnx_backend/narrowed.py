"""Rewrites cases of f32 as cases of 16-bit floats."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, TensorProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from hipgraft.ir.dtypes import float_info
from hipgraft.onnx_backend.cases import Case

ELEMENTS = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
"""Their element types by MLIR's name."""

_TYPES = ("to", "dtype", "output_dtype")
"""The attributes that are element types."""

_ROUNDINGS = 4
"""Results may differ by as many roundings of the largest one: operators round within, too."""


def narrowed(case: Case, element: str) -> Case | None:
    """Returns a case whose tensors of f32 have another type; None if ONNX has no such operator.

    The expected results are those of ONNX's reference implementation in f32 for rounded inputs and
    constants.
    """
    number = ELEMENTS[element]
    dtype = helper.tensor_dtype_to_np_dtype(number)
    model, wide = onnx.ModelProto(), onnx.ModelProto()
    model.CopyFrom(case.model)
    wide.CopyFrom(case.model)
    if not any(map(_is_f32, [*model.graph.input, *model.graph.output])):
        return None
    _narrow(model.graph, number)
    for tensor in _f32_tensors(wide.graph):
        array = numpy_helper.to_array(tensor).astype(dtype).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    inputs = [_converted(one, np.float32, dtype) for one in case.inputs]
    names = [value.name for value in case.model.graph.input]
    exact = {
        name: _converted(one, dtype, np.float32) for name, one in zip(names, inputs, strict=True)
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            onnx.checker.check_model(model, full_check=True)
            wanted = ReferenceEvaluator(wide).run(None, exact)
    except Exception:  # the evaluator raises errors of any class
        return None
    rounding = _ROUNDINGS * float(float_info(element).eps)
    atol = rounding * max(map(_largest, wanted), default=0.0)
    rounded = [
        None if former is None else _converted(one, np.float32, dtype)
        for one, former in zip(wanted, case.wanted, strict=True)
    ]
    return replace(case, model=model, inputs=inputs, wanted=rounded, rtol=rounding, atol=atol)


def _largest(array: Any) -> float:
    """Returns the largest finite number of a tensor of f32; 0 for other types."""
    if getattr(array, "dtype", None) != np.float32:
        return 0.0
    return float(np.abs(array[np.isfinite(array)]).max(initial=0))


def _converted(array: Any, before: Any, after: Any) -> Any:
    """Converts tensors of one type to another; numbers that are too large become infinite."""
    if getattr(array, "dtype", None) != before:
        return array
    with np.errstate(over="ignore"):
        return array.astype(after)


def _is_f32(value: ValueInfoProto) -> bool:
    return value.type.tensor_type.elem_type == TensorProto.FLOAT


def _narrow(graph: GraphProto, number: int) -> None:
    dtype = helper.tensor_dtype_to_np_dtype(number)
    for tensor in list(_f32_tensors(graph)):
        array = numpy_helper.to_array(tensor).astype(dtype)
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for part in _graphs(graph):
        values: Iterable[ValueInfoProto] = (*part.input, *part.output, *part.value_info)
        for value in values:
            if _is_f32(value):
                value.type.tensor_type.elem_type = number
        for attribute in [one for node in part.node for one in node.attribute]:
            if attribute.name in _TYPES and attribute.i == TensorProto.FLOAT:
                attribute.i = number


def _graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yields a graph and those of its control flow."""
    yield graph
    for attribute in [one for node in graph.node for one in node.attribute]:
        if attribute.type == AttributeProto.GRAPH:
            yield from _graphs(attribute.g)


def _f32_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    for part in _graphs(graph):
        attributes = [one for node in part.node for one in node.attribute]
        tensors = [one.t for one in attributes if one.type == AttributeProto.TENSOR]
        for tensor in (*part.initializer, *tensors):
            if tensor.data_type == TensorProto.FLOAT:
                yield tensor
