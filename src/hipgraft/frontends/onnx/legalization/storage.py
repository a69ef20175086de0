"""Stores values of narrow types as bits, and computes with their carriers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from hipgraft.frontends.onnx.legalization.casts import cast_node
from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.frontends.onnx.legalization.narrow import TYPES, Narrow
from hipgraft.frontends.onnx.legalization.shifts import shift_node
from hipgraft.frontends.onnx.legalization.unsigned import UNSIGNED_64, as_float
from hipgraft.frontends.onnx.legalization.writer import Refused, RefusedNode, Writer

_MOVES = frozenset(
    {"Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather", "GatherElements",
     "GatherND", "Identity", "OneHot", "Pad", "Reshape", "ReverseSequence", "ScatterElements",
     "ScatterND", "Shape", "Size", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile",
     "Transpose", "Trilu", "Unsqueeze", "Where"}
)  # fmt: skip
"""The operators that only move elements, of any type, unless they have a reduction."""

_COMPUTES = frozenset(
    {"Abs", "Add", "ArgMax", "ArgMin", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor",
     "Clip", "CumSum", "Div", "Equal", "Gemm", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
     "MatMul", "Max", "Min", "Mod", "Mul", "Range", "ReduceMax", "ReduceMin", "ReduceProd",
     "ReduceSum", "Sign", "Sub", "Sum", "TopK"}
)  # fmt: skip
"""The operators that compute the same on carrier values."""

_SAME_BITS = frozenset(
    {"Add", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "CumSum", "Equal", "MatMul",
     "Mul", "ReduceSum", "Sub", "Sum"}
)  # fmt: skip
"""The operators whose results have the same bits for signed and unsigned integers."""


def narrow_types(graph: GraphInfo) -> dict[str, Narrow]:
    """Returns the values of a graph that have a narrow type, by name."""
    return {name: TYPES[kind] for name, kind in graph.elements.items() if kind in TYPES}


def store_narrow_types(
    model: onnx.ModelProto, graph: GraphInfo, weights: dict[str, TensorProto]
) -> bool:
    """Rewrites a graph, in place, into one without narrow types.

    Args:
        model: one with inferred types.
        graph: its metadata.
        weights: initialisers that are set aside, likewise.

    Returns:
        Whether there was any.

    Raises:
        RefusedNode: an operator computes with a type that it cannot.
    """
    values = narrow_types(graph)
    if not values:
        return False
    nodes: list[NodeProto] = []
    made: list[TensorProto] = []
    for node in model.graph.node:
        writer = _rewritten(node, graph, values)
        nodes += [node] if writer is None else writer.nodes
        made += [] if writer is None else writer.initializers
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    _store_constants(model.graph, weights, values)
    model.graph.initializer.extend(made)
    _retype(model.graph, values)
    return True


def boundary_elements(model: onnx.ModelProto, skipped: Mapping[str, TensorProto]) -> list[str]:
    """Returns the element types of a graph's inputs and results as MLIR spells narrow ones.

    Other types are empty texts; the list is empty if no type is narrow.
    """
    constants = {*skipped, *(tensor.name for tensor in model.graph.initializer)}
    inputs = [value for value in model.graph.input if value.name not in constants]
    kinds = [value.type.tensor_type.elem_type for value in [*inputs, *model.graph.output]]
    names = [TYPES[kind].name if kind in TYPES else "" for kind in kinds]
    return names if any(names) else []


def _rewritten(node: NodeProto, graph: GraphInfo, values: Mapping[str, Narrow]) -> Writer | None:
    operands = [values.get(name) for name in node.input]
    results = [values.get(name) for name in node.output]
    if not any(operands) and not any(results):
        return None
    writer = Writer(node, graph)
    if node.op_type in _MOVES and _reduction(writer) is None:
        return None
    try:
        _rewrite(writer, operands, results)
    except Refused as reason:
        raise RefusedNode(node, str(reason)) from None
    return writer


def _rewrite(
    writer: Writer, operands: Sequence[Narrow | None], results: Sequence[Narrow | None]
) -> None:
    node = writer.node
    if node.op_type in ("Constant", "ConstantOfShape"):
        _store_attribute(writer)
    elif node.op_type in ("Cast", "CastLike", "BitCast"):
        cast_node(writer)
    else:
        _compute(writer, operands, results)


def _compute(
    writer: Writer, operands: Sequence[Narrow | None], results: Sequence[Narrow | None]
) -> None:
    kinds = [kind for kind in [*operands, *results] if kind is not None]
    if any(kind.name == "ui64" for kind in kinds) and writer.node.op_type in UNSIGNED_64:
        UNSIGNED_64[writer.node.op_type](writer)
        return
    rewrite = _OTHERS.get(writer.node.op_type)
    if rewrite is not None:
        rewrite(writer, kinds[0])
        return
    reduction = _reduction(writer)
    is_known = writer.node.op_type in _COMPUTES or reduction is not None
    if kinds[0].name == "ui64":
        is_known = writer.node.op_type in _SAME_BITS or reduction in ("add", "mul")
    if not is_known or any(kind.name.startswith("f") for kind in kinds):
        raise Refused(f"with elements of type {kinds[0].name} is not supported")
    inputs = [
        name if kind is None else kind.decode(writer, name)
        for name, kind in zip(writer.node.input, operands, strict=True)
    ]
    made = writer.ops(writer.node.op_type, *inputs, outputs=len(results), **writer.attributes())
    for index, (name, kind) in enumerate(zip(made, results, strict=True)):
        writer.result(name if kind is None else kind.encode(writer, name), index)


def _reduction(writer: Writer) -> str | None:
    """Returns how an operator combines elements that it scatters; None if it only moves them."""
    name = writer.attribute("reduction", "none")
    return None if name == "none" or not writer.node.op_type.startswith("Scatter") else str(name)


def _maximum_pool(writer: Writer, kind: Narrow) -> None:
    """Pools floats, which hold the integers of up to 16 bits."""
    if kind.bits > 16 or writer.has_output(1):
        raise Refused(f"with elements of type {kind.name} is not supported")
    x = writer.cast(kind.decode(writer, writer.node.input[0]), TensorProto.FLOAT)
    y = writer.op("MaxPool", x, **writer.attributes())
    writer.result(kind.encode(writer, writer.cast(y, kind.carrier)))


def _identity_matrix(writer: Writer, _: Narrow) -> None:
    """Writes ones and zeros; only the shape of the operand matters."""
    (x,) = writer.node.input
    element = writer.attribute("dtype") or writer.element(x)
    kind = TYPES.get(element)
    attributes = {"k": writer.attribute("k", 0), "dtype": kind.carrier if kind else element}
    matrix = writer.op("EyeLike", x, **attributes)
    writer.result(matrix if kind is None else kind.encode(writer, matrix))


def _power(writer: Writer, kind: Narrow) -> None:
    """Computes powers of integers in their carriers, and powers of floats in f64."""
    x, exponent = writer.node.input
    element = writer.element(x)
    if helper.tensor_dtype_to_np_dtype(element).kind not in "iu":
        operands = [_as_f64(writer, name) for name in writer.node.input]
        writer.result(writer.cast(writer.op("Pow", *operands), element))
        return
    stored, counts = TYPES.get(element), TYPES.get(writer.element(exponent))
    base = x if stored is None else stored.decode(writer, x)
    if counts is not None:
        exponent = counts.decode(writer, exponent)
        if counts.name == "ui64":  # only the parity of large counts matters
            is_large = writer.op("Less", exponent, writer.like_int(0))
            parity = writer.op("Mod", exponent, writer.like_int(2))
            far = writer.op("Add", parity, writer.like_int(126))
            exponent = writer.op("Where", is_large, far, exponent)
    power = writer.op("Pow", base, exponent)
    writer.result(power if stored is None else stored.encode(writer, power))


def _as_f64(writer: Writer, name: str) -> str:
    kind = TYPES.get(writer.element(name))
    if kind is not None and kind.name == "ui64":
        return as_float(writer, name, TensorProto.DOUBLE)
    value = name if kind is None else kind.decode(writer, name)
    return writer.cast(value, TensorProto.DOUBLE)


_OTHERS: dict[str, Callable[[Writer, Narrow], None]] = {
    "BitShift": shift_node,
    "EyeLike": _identity_matrix,
    "MaxPool": _maximum_pool,
    "Pow": _power,
}


def _store_attribute(writer: Writer) -> None:
    """Converts the tensor attribute of `Constant` and `ConstantOfShape` to its storage type."""
    value = writer.attribute("value")
    if not isinstance(value, TensorProto):
        raise Refused("without a tensor is not supported")
    writer.again(list(writer.node.input), value=stored(value))


def stored(tensor: TensorProto) -> TensorProto:
    """Returns a tensor of a narrow type as bits; external data stays in its file."""
    kind = TYPES[tensor.data_type]
    if tensor.data_location == TensorProto.EXTERNAL and kind.bits >= 8:
        copy = TensorProto()
        copy.CopyFrom(tensor)
        copy.data_type = kind.storage
        return copy
    array = numpy_helper.to_array(tensor)
    return numpy_helper.from_array(_bits(array, kind), tensor.name)


def _bits(array: Array, kind: Narrow) -> Array:
    dtype = helper.tensor_dtype_to_np_dtype(kind.storage)
    bits = np.ascontiguousarray(array).view(dtype).reshape(array.shape)
    return bits & ((1 << kind.bits) - 1) if kind.bits < 8 else bits


def _store_constants(
    graph: onnx.GraphProto, weights: dict[str, TensorProto], values: Mapping[str, Narrow]
) -> None:
    kept = [stored(tensor) if tensor.name in values else tensor for tensor in graph.initializer]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    for name in weights.keys() & values.keys():
        weights[name] = stored(weights[name])


def _retype(graph: onnx.GraphProto, values: Mapping[str, Narrow]) -> None:
    for value in [*graph.input, *graph.output]:
        if value.name in values:
            value.type.tensor_type.elem_type = values[value.name].storage
    kept = [value for value in graph.value_info if value.name not in values]
    del graph.value_info[:]
    graph.value_info.extend(kept)
