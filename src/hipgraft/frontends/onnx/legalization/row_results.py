"""Writes results of a model that have rows whose number depends on values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import onnx
from onnx import NodeProto, TensorProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import GraphInfo
from hipgraft.frontends.onnx.legalization.row_orders import RowOrders
from hipgraft.frontends.onnx.legalization.row_values import Extents, Rows, Selection
from hipgraft.frontends.onnx.legalization.writer import Refused, RefusedNode, Writer
from hipgraft.ir.entry_points import ROW_COUNTS


def write_results(
    model: onnx.ModelProto,
    graph: GraphInfo,
    found: Mapping[str, Rows | Extents],
    orders: RowOrders,
    nodes: Sequence[NodeProto],
) -> list[Writer]:
    """Writes results of rows, and the numbers of their rows as further results.

    Args:
        model: the model; its results get their types, and its metadata tells which have rows.
        graph: its metadata.
        found: the values that are rows, or extents.
        orders: what orders the rows.
        nodes: the rewritten nodes, which then make other values than results.

    Raises:
        RefusedNode: the model must have results of known shapes only, or a result is computed from
            the numbers of several selections.
    """
    writers: list[Writer] = []
    counts: dict[Selection, int] = {}
    rows = [one for one in model.graph.output if one.name in found]
    inner = {one.name: f"{one.name}/rows" for one in rows}
    noted = next((one for one in model.metadata_props if one.key == ROW_COUNTS), None)
    for number, result in enumerate(list(model.graph.output)):
        one = found.get(result.name)
        if one is None:
            continue
        origin, selection = one.selection.node, one.selection
        node = helper.make_node("Identity", [result.name], [result.name], name=origin.name)
        writer = Writer(node, graph)
        if isinstance(one, Extents):
            writers.append(writer)
            try:
                writer.result(orders.extents(writer, one))
            except Refused as refused:
                raise RefusedNode(origin, f"is not supported: a result {refused}") from None
            element = result.type.tensor_type.elem_type
            result.type.CopyFrom(helper.make_tensor_type_proto(element, one.array.shape))
            continue
        if noted is None:
            raise RefusedNode(origin, "is not supported: the shape of its result depends on values")
        one = dataclasses.replace(one, name=inner.get(one.name, one.name))
        shape = selection.sized(one.shape, selection.coordinates)
        element = writer.element(result.name)
        writer.result(orders.filled(writer, one, writer.like(0, element)))
        result.type.CopyFrom(helper.make_tensor_type_proto(element, shape))
        if selection not in counts:
            counts[selection] = len(model.graph.output)
            name = f"{result.name}.rows"
            count = helper.make_node("Identity", [orders.count(writer, selection)], [name])
            writer.nodes.append(count)
            kind = helper.make_tensor_value_info(name, TensorProto.INT64, [])
            model.graph.output.append(kind)
        noted.value += f"{number} {one.axis} {counts[selection]} "
        writers.append(writer)
    for node in nodes:
        for names in (node.input, node.output):
            names[:] = [inner.get(name, name) for name in names]
    return writers
