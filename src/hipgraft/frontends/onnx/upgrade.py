"""Upgrades models of old opsets with ONNX's converter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper, version_converter

from hipgraft.frontends.onnx.checker_errors import node_and_message
from hipgraft.frontends.onnx.legalization import RefusedNode
from hipgraft.ir.diagnostics import HipgraftError

OLDEST_OPSET = 13
"""The first opset whose forms torch-mlir's ONNX lowerings support."""
UPGRADED_OPSET = 17
"""The opset to which older models are upgraded."""
_FIRST_FORMS = {"BatchNormalization": 15}
"""The first opset whose form of an operator torch-mlir supports, if it is after `OLDEST_OPSET`."""
# Scans of opset 8 have a batch dimension and lengths of sequences.
_SCAN_WITHOUT_BATCH = 9
# The opset from which the axis of `Hardmax` is one dimension, not the first of several.
_HARDMAX_BY_AXIS = 13
# The opset from which slopes of `PRelu` broadcast from the last dimension, not along the second.
_PRELU_BROADCASTS = 7
# The opset from which an attribute defines the coordinates of a resize.
_RESIZE_BY_COORDINATES = 11


def oldest_opset(model: onnx.ModelProto) -> int:
    """Returns the first opset of the model's operators that needs no upgrade."""
    nodes = (node for graph in _graphs(model.graph) for node in graph.node)
    return max((_FIRST_FORMS.get(node.op_type, 0) for node in nodes), default=0) or OLDEST_OPSET


def upgrade(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """Returns the model in the opset `UPGRADED_OPSET`.

    Args:
        model: the model.
        opset: its own opset.

    Raises:
        RefusedNode: the converter changes the meaning of a node.
        HipgraftError: the model cannot be converted.
    """
    for node in (node for graph in _graphs(model.graph) for node in graph.node):
        if node.op_type == "Scan" and opset < _SCAN_WITHOUT_BATCH:
            # The converter keeps the node's operands, whose meaning would change.
            raise RefusedNode(node, f"of opset {opset} is not supported; convert the model")
    for graph in _graphs(model.graph):
        _broadcast_statistics(graph)
    if opset < _PRELU_BROADCASTS:
        _broadcast_slopes(model)
    try:
        upgraded = version_converter.convert_version(model, UPGRADED_OPSET)
    except Exception as error:  # the converter raises whatever its C++ side threw
        said = node_and_message(error)[1]
        raise HipgraftError(f"cannot upgrade opset {opset} to {UPGRADED_OPSET}: {said}") from error
    if opset < _HARDMAX_BY_AXIS:
        _flatten_hardmax(upgraded.graph)
    if opset < _RESIZE_BY_COORDINATES:
        _keep_coordinates(upgraded.graph)
    return upgraded


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yields the graph and the graphs in its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            # Accessing the graph of an attribute of another type would create it.
            inner = [attribute.g] if attribute.HasField("g") else []
            for one in (*inner, *attribute.graphs):
                yield from _graphs(one)


def _broadcast_statistics(graph: onnx.GraphProto) -> None:
    """Expands batch norms with statistics per element, which the converter rejects."""
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        spatial = next((one.i for one in node.attribute if one.name == "spatial"), 1)
        is_norm = node.op_type == "BatchNormalization" and len(node.output) == 1
        graph.node.extend([node] if spatial or not is_norm else _normalised(node, graph))


def _normalised(node: onnx.NodeProto, graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Returns the arithmetic of a norm of `(x, scale, bias, mean, variance)` at inference."""
    x, scale, bias, mean, variance = node.input
    result, name = node.output[0], node.name
    value = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
    epsilon, shifted, deviation, centred, normed, scaled = (
        f"{result}:{what}"
        for what in ("epsilon", "shifted", "deviation", "centred", "normed", "scaled")
    )
    kinds = (one.data_type for one in graph.initializer if one.name == variance)
    dtype = helper.tensor_dtype_to_np_dtype(next(kinds, onnx.TensorProto.FLOAT))
    constant = numpy_helper.from_array(np.array(value, dtype), epsilon)
    return [
        helper.make_node("Constant", [], [epsilon], name, value=constant),
        helper.make_node("Add", [variance, epsilon], [shifted], name),
        helper.make_node("Sqrt", [shifted], [deviation], name),
        helper.make_node("Sub", [x, mean], [centred], name),
        helper.make_node("Div", [centred, deviation], [normed], name),
        helper.make_node("Mul", [normed, scale], [scaled], name),
        helper.make_node("Add", [scaled, bias], [result], name),
    ]


def _broadcast_slopes(model: onnx.ModelProto) -> None:
    """Gives slopes of several channels the dimensions after these.

    Raises:
        RefusedNode: the rank of an operand is unknown.
    """
    graphs = _graphs(onnx.shape_inference.infer_shapes(model).graph)
    shapes: dict[str, list[int]] = {}  # also those of enclosing graphs
    for graph, known in zip(_graphs(model.graph), graphs, strict=True):
        shapes.update((one.name, list(one.dims)) for one in known.initializer)
        for value in (*known.input, *known.value_info, *known.output):
            if value.type.tensor_type.HasField("shape"):
                shapes[value.name] = [one.dim_value for one in value.type.tensor_type.shape.dim]
        nodes = list(graph.node)
        del graph.node[:]
        for node in nodes:
            graph.node.extend(_with_slopes(node, shapes) if node.op_type == "PRelu" else [node])


def _with_slopes(
    node: onnx.NodeProto, shapes: Mapping[str, Sequence[int]]
) -> Iterator[onnx.NodeProto]:
    x, slope = (shapes.get(name) for name in node.input)
    if x is None or slope is None:
        reason = f"of an opset before {_PRELU_BROADCASTS} needs operands of known ranks"
        raise RefusedNode(node, reason)
    if len(slope) == 1 and slope != [1] and len(x) > 2:
        wide, shape = (f"{node.output[0]}:{what}" for what in ("slope", "slope_shape"))
        dims = numpy_helper.from_array(np.array([-1, *[1] * (len(x) - 2)]), shape)
        yield helper.make_node("Constant", [], [shape], node.name, value=dims)
        yield helper.make_node("Reshape", [node.input[1], shape], [wide], node.name)
        node.input[1] = wide
    yield node


def _flatten_hardmax(graph: onnx.GraphProto) -> None:
    """Takes maxima over all dimensions from the axis on, as the converter does for `Softmax`."""
    for one in _graphs(graph):
        nodes = list(one.node)
        del one.node[:]
        for node in nodes:
            one.node.extend(_flattened(node) if node.op_type == "Hardmax" else [node])


def _flattened(node: onnx.NodeProto) -> list[onnx.NodeProto]:
    operand, result = node.input[0], node.output[0]
    shape, flat, maxima = (f"{result}:{what}" for what in ("shape", "flat", "maxima"))
    axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
    name = node.name
    return [
        helper.make_node("Shape", [operand], [shape], name),
        helper.make_node("Flatten", [operand], [flat], name, axis=axis),
        helper.make_node("Hardmax", [flat], [maxima], name, axis=1),
        helper.make_node("Reshape", [maxima, shape], [result], name),
    ]


def _keep_coordinates(graph: onnx.GraphProto) -> None:
    """Adds the coordinates of `Upsample` and the first `Resize`, which the converter omits."""
    graphs = list(_graphs(graph))
    nodes = [node for one in graphs for node in one.node]
    values = {one.name: numpy_helper.to_array(one) for inner in graphs for one in inner.initializer}
    for node in nodes:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    for node in nodes:
        if node.op_type != "Resize":
            continue
        node.attribute.append(helper.make_attribute("coordinate_transformation_mode", "asymmetric"))
        scales = values.get(node.input[2], np.ones(1))
        node.attribute.append(
            helper.make_attribute("nearest_mode", _nearest(node, scales.ravel().tolist()))
        )


def _nearest(node: onnx.NodeProto, scales: Sequence[float]) -> str:
    shrinks, grows = any(scale < 1 for scale in scales), any(scale > 1 for scale in scales)
    mode = next((one.s for one in node.attribute if one.name == "mode"), b"nearest")
    if shrinks and grows and mode == b"nearest":
        raise RefusedNode(node, "that shrinks one dimension and grows another is not supported")
    return "ceil" if shrinks else "floor"
