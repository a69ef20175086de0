"""Infers the types of a model's values, including types that ONNX does not infer."""

from __future__ import annotations

import onnx
from onnx import TensorProto, TypeProto, checker, shape_inference

from hipgraft.frontends.onnx.legalization.narrow import DECODE, ENCODE
from hipgraft.frontends.onnx.limits import check_inference
from hipgraft.ir.activity import doing

_LIKE_FIRST = {"GroupNormalization": None, DECODE: TensorProto.FLOAT, ENCODE: TensorProto.INT8}
"""The operators without inference in ONNX 1.23, and the element type of their result.

None stands for that of the first operand; the shape is always that of the first operand.
"""

_SAME_NAMES = "already exists"
"""In the error of ONNX's propagation of extents if two bodies have values of the same name."""


def infer_types(model: onnx.ModelProto, **options: bool) -> onnx.ModelProto:
    """Returns the model with the types of its values.

    Raises:
        shape_inference.InferenceError: the types are contradictory or too large.
    """
    doing("ONNX's shape inference")
    check_inference(model)
    if any(node.op_type in _LIKE_FIRST for node in model.graph.node):
        model = _inferred(model)
        while _tell_types(model.graph):
            model = _inferred(model)
    model = _inferred(model, **options)
    _tell_types(model.graph)
    return model


def _inferred(model: onnx.ModelProto, **options: bool) -> onnx.ModelProto:
    try:
        return shape_inference.infer_shapes(model, **options)
    except UnicodeDecodeError:
        raise
    except (ValueError, IndexError) as error:  # C++ raises them for what inference does not check
        raise shape_inference.InferenceError(str(error)) from None


def infer_strictly(model: onnx.ModelProto) -> onnx.ModelProto:
    """Returns the model with the types of its values, including extents that the model computes.

    Raises:
        shape_inference.InferenceError: the types are contradictory or too large.
    """
    try:
        return infer_types(model, strict_mode=True, data_prop=True)
    except shape_inference.InferenceError as error:
        if _SAME_NAMES not in str(error):
            raise
        return infer_types(model, strict_mode=True)


def _add_result_types(model: onnx.ModelProto) -> None:
    """Adds the types of graph outputs, which exporters may omit."""
    untyped = [value for value in model.graph.output if not _is_typed(value.type)]
    if not untyped:
        return
    inferred = {value.name: value for value in infer_types(model).graph.output}
    for value in untyped:
        value.CopyFrom(inferred.get(value.name, value))


def check_structure(model: onnx.ModelProto) -> None:
    """Runs ONNX's checker, which requires the types and shapes of results; adds known ones.

    Raises:
        checker.ValidationError: the model is malformed.
    """
    _add_result_types(model)
    kinds = [value.type.tensor_type for value in model.graph.output]
    unknown = [kind for kind in kinds if kind.elem_type and not kind.HasField("shape")]
    for kind in unknown:
        kind.shape.SetInParent()
    checker.check_model(model)
    for kind in unknown:
        kind.ClearField("shape")


def _is_typed(kind: TypeProto) -> bool:
    return kind.tensor_type.HasField("shape")


def _tell_types(graph: onnx.GraphProto) -> bool:
    """Adds types that ONNX does not infer; returns whether it added any."""
    values = [*graph.input, *graph.value_info, *graph.output]
    types = {value.name: value.type for value in values if _is_typed(value.type)}
    for tensor in graph.initializer:
        types[tensor.name] = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
    told: dict[str, TypeProto] = {
        value.name: types[value.name]
        for value in graph.output
        if not _is_typed(value.type) and value.name in types
    }
    for node in graph.node:
        if node.op_type in _LIKE_FIRST and node.output[0] not in types and node.input[0] in types:
            kind = TypeProto()
            kind.CopyFrom(types[node.input[0]])
            element = _LIKE_FIRST[node.op_type]
            kind.tensor_type.elem_type = element or kind.tensor_type.elem_type
            told[node.output[0]] = kind
    results = {value.name: value for value in graph.output}
    for name, kind in told.items():
        value = results.get(name) or graph.value_info.add(name=name)
        value.type.CopyFrom(kind)
    return bool(told)
