"""Canonicalizes selections by masks to `NonZero` of the mask itself."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from hipgraft.frontends.onnx.legalization.bodies import BodyCopier
from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.frontends.onnx.legalization.writer import Writer
from hipgraft.frontends.onnx.order import drop_dead_nodes, makers_of
from hipgraft.ir.diagnostics import Declined

_COUNTS = (TensorProto.INT32, TensorProto.INT64)


def rewrite_masks(model: onnx.ModelProto, graph: GraphInfo) -> bool:
    """Rewrites nodes that select by masks, in place.

    - `Compress` of an unknown number of rows reads the rows that `NonZero` finds.
    - A mask that exporters expand along the last dimensions for `y[mask] = rows`
      selects whole rows: `ScatterND` writes rows, not their elements.
    - An `If` that suppresses boxes unless there are none always does so.
    - One number that a mask writes, as exporters emit for `y[mask] = 0`, becomes a `Where`.

    Args:
        model: model with inferred shapes.
        graph: its metadata.

    Returns:
        Whether any node has changed.
    """
    makers = makers_of(model.graph)
    nodes: list[NodeProto] = []
    changed = False
    for node in model.graph.node:
        writer = Writer(node, graph)
        try:
            if node.op_type == "Compress":
                _compress(writer)
            elif node.op_type == "If":
                _unless_empty(writer, makers)
            elif node.op_type == "ScatterND" and not _one_number(writer, makers):
                _whole_rows(writer, makers)
        except Declined:
            writer.nodes.clear()
        changed = changed or bool(writer.nodes)
        nodes += writer.nodes or [node]
        model.graph.initializer.extend(writer.initializers)
    if changed:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        drop_dead_nodes(model.graph)  # these would be refused
    return changed


def _compress(writer: Writer) -> None:
    x, condition = writer.node.input
    axis: int | None = writer.attribute("axis")
    mask, shape = writer.shape(condition), writer.extents(x)
    count, selected = math.prod(mask), shape if axis is None else [shape[axis]]
    extents = [each for each in selected if each is not None]
    if len(extents) < len(selected):
        raise Declined("dynamic-shape", "the condition may be longer than the input")
    extent = math.prod(extents)
    if len(mask) != 1 or count > extent:  # onnxruntime flattens the condition and ignores the rest
        flat = writer.reshape(condition, [count])
        writer.again([x, writer.slice(flat, 0, 0, extent)])
        return
    constant = writer.graph.constants.get(condition)
    if constant is None and writer.node.output[0] in writer.graph.shapes:
        raise Declined("supported", "the number of rows is known")
    if axis is None:
        x, axis = writer.reshape(x, [-1]), 0
    if constant is None:
        found = writer.reshape(writer.op("NonZero", condition), [-1])
    else:
        found = writer.const(np.flatnonzero(constant))
    writer.result(writer.op("Gather", x, found, axis=axis))


def _one_number(writer: Writer, makers: Mapping[str, NodeProto]) -> bool:
    """Rewrites `ScatterND(data, Transpose(NonZero(mask)), number)`, with the number stretched.

    Returns:
        Whether the node is one of these.
    """
    data, indices, updates = writer.node.input
    shapes, maker = writer.graph.shapes, makers.get(updates)
    while maker is not None and maker.op_type in ("Expand", "Reshape", "Identity"):
        updates = maker.input[0]
        maker = makers.get(updates) if math.prod(shapes.get(updates, [0])) != 1 else None
    if math.prod(shapes.get(updates, [0])) != 1 or writer.attribute("reduction", "none") != "none":
        return False
    selection = _made_by(_made_by(indices, "Transpose", makers).input[0], "NonZero", makers)
    mask = selection.input[0]
    whole, chosen = writer.shape(data), writer.shape(mask)
    if whole[: len(chosen)] != chosen:
        return False
    mask = writer.op("Cast", mask, to=TensorProto.BOOL)
    mask = writer.reshape(mask, [*chosen, *[1] * (len(whole) - len(chosen))])
    writer.result(writer.op("Where", mask, writer.reshape(updates, []), data))
    return True


def _whole_rows(writer: Writer, makers: Mapping[str, NodeProto]) -> None:
    """Rewrites `ScatterND(data, Transpose(NonZero(Expand(mask))), elements)`."""
    data, indices, updates = writer.node.input
    selection = _made_by(_made_by(indices, "Transpose", makers).input[0], "NonZero", makers)
    stretch = _made_by(selection.input[0], "Expand", makers)
    whole, shape = writer.shape(stretch.output[0]), writer.shape(stretch.input[0])
    rank = len(whole)
    while len(shape) == len(whole) and rank and shape[rank - 1] == 1:
        rank -= 1
    if shape[:rank] != whole[:rank] or rank == len(whole) or not rank:
        raise Declined("no-rows", "the mask does not select whole rows")
    mask = stretch.input[0]
    maker = makers.get(mask)
    if maker is not None and maker.op_type == "Unsqueeze":
        mask = maker.input[0]
    if writer.shape(mask) != whole[:rank]:
        mask = writer.reshape(mask, whole[:rank])
    at = writer.op("Transpose", writer.op("NonZero", mask), perm=[1, 0])
    rows = writer.reshape(_unflattened(updates, writer, makers), [-1, *whole[rank:]])
    writer.again([data, at, rows])


def _unflattened(name: str, writer: Writer, makers: Mapping[str, NodeProto]) -> str:
    """Returns the value whose elements are `name`'s, in the same order and as many.

    A slice takes as many elements as the mask selects; rows are checked to have as many.
    """
    maker = makers.get(name)
    if maker is None or not _is_line(maker, writer):
        return name
    return _unflattened(maker.input[0], writer, makers)


def _is_line(node: NodeProto, writer: Writer) -> bool:
    """Whether a node flattens its operand to one dimension, or slices off its first elements."""
    constants = writer.graph.constants
    if node.op_type == "Reshape":
        return constants.get(node.input[1], np.zeros(0)).tolist() == [-1]
    if node.op_type != "Slice" or len(node.input) > 4:
        return False
    starts = constants.get(node.input[1])
    return starts is not None and starts.shape == (1,) and not starts.any()


def _made_by(name: str, op_type: str, makers: Mapping[str, NodeProto]) -> NodeProto:
    if name not in makers or makers[name].op_type != op_type:
        raise Declined("other-form", f"'{name}' is no result of {op_type}")
    return makers[name]


def _unless_empty(writer: Writer, makers: Mapping[str, NodeProto]) -> None:
    """Rewrites `If(no boxes) [] else suppressed boxes`, as torchvision exports it.

    Without boxes, none are selected in either branch.
    """
    name = writer.node.input[0]
    while name in makers and makers[name].op_type in ("Cast", "Identity"):
        name = makers[name].input[0]
    equal = _made_by(name, "Equal", makers)
    size = makers.get(equal.input[0])
    zero = writer.constant(equal.input[1])
    if size is None or size.op_type not in ("ReduceProd", "Size") or zero.any():
        raise Declined("other-form", "it compares another value than a number of elements")
    if size.op_type == "ReduceProd":
        _made_by(size.input[0], "Shape", makers)
    empty, other = (writer.attribute(f"{name}_branch") for name in ("then", "else"))
    if [node.op_type for node in empty.node] != ["Constant"] or not any(
        node.op_type == "NonMaxSuppression" for node in other.node
    ):
        raise Declined("other-form", "its branches have another form")
    if 0 not in empty.node[0].attribute[0].t.dims:
        raise Declined("other-form", "the first branch is not empty")
    (found,) = BodyCopier(writer).copy_graph(other, [])
    writer.result(found)


def rows_read(graph: onnx.GraphProto, constants: Mapping[str, Array], name: str) -> int | None:
    """Returns how many rows of boxes, in their order, the model reads at most, if it is known."""
    while True:
        readers = [node for node in graph.node if name in node.input]
        if len(readers) != 1 or any(value.name == name for value in graph.output):
            return None
        node = readers[0]
        if node.op_type == "Slice" and node.input[0] == name:
            starts, ends, axes, steps = (
                constants.get(one, np.zeros(0)).tolist() for one in (*node.input[1:], "", "")[:4]
            )
            if (starts, axes) == ([0], [0]) and steps in ([], [1]) and ends and ends[0] > 0:
                return int(ends[0])
            if axes != [1]:
                return None
        elif node.op_type == "Gather" and node.input[0] == name:
            if not any(one.name == "axis" and one.i == 1 for one in node.attribute):
                return None
        elif node.op_type not in ("Cast", "Identity", "Squeeze"):
            return None
        name = node.output[0]


def counted_mask(
    node: NodeProto, makers: Mapping[str, NodeProto], elements: Mapping[str, int]
) -> str:
    """Returns the boolean mask whose true elements a node counts; empty for any other node.

    Exporters write `ReduceSum(Cast(Reshape(mask, [-1])))`.
    """
    attributes = {one.name: one.i for one in node.attribute}
    is_whole = len(node.input) == 1 and not attributes.get("noop_with_empty_axes", 0)
    if node.op_type != "ReduceSum" or not is_whole:
        return ""
    cast = makers.get(node.input[0])
    if cast is None or cast_element(cast) not in _COUNTS:
        return ""
    name = cast.input[0]
    while name in makers and makers[name].op_type in ("Reshape", "Flatten", "Identity"):
        name = makers[name].input[0]
    return name if elements.get(name) == TensorProto.BOOL else ""


def cast_element(node: NodeProto) -> int:
    """Returns the element type that a `Cast` makes; 0 for another operator."""
    if node.op_type != "Cast":
        return TensorProto.UNDEFINED
    return next((one.i for one in node.attribute if one.name == "to"), TensorProto.UNDEFINED)


def identities(
    graph: onnx.GraphProto,
    constants: Mapping[str, Array],
    shapes: Mapping[str, list[int]],
) -> dict[str, int]:
    """Numbers values; values that are computed in the same way get the same number.

    Args:
        graph: a sorted graph.
        constants: elements of small initialisers, by name.
        shapes: known shapes, by name.
    """
    numbers: dict[object, int] = {}
    found: dict[str, int] = {}

    def number(key: object) -> int:
        return numbers.setdefault(key, len(numbers))

    for name, array in constants.items():
        found[name] = number((array.dtype, array.shape, array.tobytes()))
    for node in graph.node:
        attributes = tuple(sorted(one.SerializeToString() for one in node.attribute))
        for name in node.input:
            found.setdefault(name, number(name))
        operands = tuple(found[name] for name in node.input)
        if node.op_type == "Expand" and shapes.get(node.input[0]) == shapes.get(node.output[0], 0):
            found[node.output[0]] = operands[0]  # as exporters write it for `y[mask] = x[mask]`
            continue
        has_body = any(one.HasField("g") for one in node.attribute)
        for place, name in enumerate(node.output):
            made = (node.op_type, node.domain, attributes, operands, place)
            found[name] = number(name if has_body else made)
    return found


def is_selection(node: NodeProto, graph: GraphInfo) -> bool:
    """Whether a node is a `NonZero` that selects an unknown number of rows."""
    if node.op_type != "NonZero" or node.domain not in ("", "ai.onnx"):
        return False
    extents = graph.shapes.get(node.input[0], [])
    is_known = node.output[0] in graph.shapes or node.input[0] in graph.constants
    return bool(extents) and 0 not in extents and not is_known
