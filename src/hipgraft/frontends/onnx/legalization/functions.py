"""Expands operators to the functions that define them in ONNX's schemas."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import FunctionProto, NodeProto, TypeProto, defs

from hipgraft.frontends.onnx.legalization.bodies import BodyCopier
from hipgraft.frontends.onnx.legalization.graph_info import GraphInfo
from hipgraft.frontends.onnx.legalization.writer import FLOATS, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

EXPANDED = (
    "Attention",
    "CausalConvWithState",
    "FlexAttention",
    "LinearAttention",
    "NegativeLogLikelihoodLoss",
    "RMSNormalization",
    "RotaryEmbedding",
    "SoftmaxCrossEntropyLoss",
    "SwiGLU",
    "Swish",
)
"""The operators that torch-mlir lacks or lowers incorrectly."""


def expand(writer: Writer) -> None:
    """Writes the body of the node's function.

    Raises:
        Declined: the operator has no function for this opset and these types.
    """
    function = _function(writer.node, writer.graph)
    given = [*writer.node.input, *[""] * len(function.input)]
    schema = defs.get_schema(writer.node.op_type, writer.graph.opset, writer.node.domain)
    defaults = [one.default_value for one in schema.attributes.values() if one.default_value.name]
    copier = BodyCopier(writer, [*defaults, *function.attribute_proto, *writer.node.attribute])
    names = copier.copy(function.node, dict(zip(function.input, given, strict=False)))
    for index, name in enumerate(function.output):
        if writer.has_output(index):  # unused results are not computed
            writer.result(names[name], index)


def _function(node: NodeProto, graph: GraphInfo) -> FunctionProto:
    # ONNX's stubs lack the methods that return functions.
    schema: Any = defs.get_schema(node.op_type, graph.opset, node.domain)
    text = b""
    if schema.has_function:
        text = _plain_function(schema, graph.opset)
    elif schema.has_context_dependent_function:
        types = [_type_of(name, graph).SerializeToString() for name in node.input]
        version = _best_version(schema.context_dependent_function_opset_versions, graph.opset)
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), types
        )
    if not text:
        raise Declined("no-form", "it has no function")
    return FunctionProto.FromString(text)


def _plain_function(schema: Any, opset: int) -> bytes:
    version = _best_version(schema.function_opset_versions, opset)
    return schema.get_function_with_opset_version(version)


def _best_version(versions: list[int], opset: int) -> int:
    fitting = [version for version in versions if version <= opset]
    if not fitting:
        raise Declined("no-form", "it has no function in this opset")
    return max(fitting)


def _type_of(name: str, graph: GraphInfo) -> TypeProto:
    """Returns the type of an operand, an empty type if it is omitted."""
    kind = TypeProto()
    if name:
        kind.tensor_type.elem_type = graph.elements.get(name, 0)
        for extent in graph.shapes.get(name, []):
            kind.tensor_type.shape.dim.add().dim_value = extent
    return kind


def _expand_before_16(writer: Writer) -> None:
    """Expands an operator that torch-mlir supports from opset 16 on."""
    if writer.graph.opset >= 16:
        raise Declined("supported", "it is lowered rightly")
    expand(writer)


def _celu(writer: Writer) -> None:
    """Expands `Celu`, because its function is that of `Elu`, which differs for negative `alpha`."""
    alpha = np.float32(writer.attribute("alpha", 1.0))
    if alpha > 0:
        expand(writer)
        return
    x, zero = writer.node.input[0], writer.const(np.float32(0))
    quotient = writer.op("Div", x, writer.const(alpha))
    less = writer.op("Sub", writer.op("Exp", quotient), writer.const(np.float32(1)))
    below = writer.op("Min", writer.op("Mul", less, writer.const(alpha)), zero)
    writer.result(writer.op("Add", writer.op("Max", x, zero), below))


def _softsign(writer: Writer) -> None:
    """Expands `Softsign`, which torch-mlir supports from opset 22 on."""
    if writer.graph.opset >= 22:
        raise Declined("supported", "it is lowered rightly")
    x = writer.node.input[0]
    one = writer.like(1, writer.element(x))
    writer.result(writer.op("Div", x, writer.op("Add", writer.op("Abs", x), one)))


def _thresholded_relu(writer: Writer) -> None:
    """Maps NaN to 0, as ONNX does; PyTorch's `threshold` keeps NaN."""
    x = writer.node.input[0]
    element = writer.element(x)
    limit = writer.like(writer.attribute("alpha", 1.0), element)
    writer.result(writer.op("Where", writer.op("Less", limit, x), x, writer.like(0, element)))


def _sign(writer: Writer) -> None:
    """Keeps NaN, which PyTorch's `sign` maps to 0."""
    x = writer.node.input[0]
    element = writer.element(x)
    if element not in FLOATS:
        raise Declined("supported", "it is lowered rightly")
    zero, one, minus = (writer.like(value, element) for value in (0, 1, -1))
    rest = writer.op("Where", writer.op("Less", x, zero), minus, x)
    writer.result(writer.op("Where", writer.op("Less", zero, x), one, rest))


def _prelu(writer: Writer) -> None:
    """Broadcasts the slope as ONNX does; PyTorch's `prelu` takes its elements for channels.

    torch-mlir also compares integers with a float.
    """
    x, slope = writer.node.input
    is_below = writer.op("Less", x, writer.like(0, writer.element(x)))
    writer.result(writer.op("Where", is_below, writer.op("Mul", x, slope), x))


FUNCTIONS: dict[str, Rewrite] = {
    **dict.fromkeys(EXPANDED, expand),
    "Celu": _celu,
    "GreaterOrEqual": _expand_before_16,
    "PRelu": _prelu,
    "Sign": _sign,
    "Softsign": _softsign,
    "ThresholdedRelu": _thresholded_relu,
}
"""The rewrites, by operator."""
