"""Reads and writes hipDNN's graphs as FlatBuffers."""

from __future__ import annotations

import uuid
from typing import Any

from hipgraft.hipdnn_io.document import GraphDocument, Json, NodeDocument, TensorDocument
from hipgraft.hipdnn_io.forms import FORMS
from hipgraft.hipdnn_io.tables import Record, Table, damaged, read_table, write_table
from hipgraft.ir.diagnostics import HipgraftError


def write_flatbuffer(document: GraphDocument) -> bytes:
    """Returns the FlatBuffer of a graph; warns of unknown fields, which it cannot hold.

    Raises:
        HipgraftError: hipDNN's schema does not allow a value; the message names the field.
    """
    record = Record(_graph_fields(document), "graph")
    return write_table("Graph", record, source=document.source, warnings=document.warnings)


def _graph_fields(document: GraphDocument) -> dict[str, Any]:
    extra = dict(document.extra)
    if extra.get("id") is not None:
        extra["id"] = _uuid(extra["id"])
    return {
        **extra,
        "name": document.name,
        "compute_data_type": document.compute_data_type,
        "intermediate_data_type": document.intermediate_data_type,
        "io_data_type": document.io_data_type,
        "tensors": [Record(_tensor_fields(one), one.label) for one in document.tensors],
        "nodes": [Record(_node_fields(one), one.label) for one in document.nodes],
    }


def _node_fields(node: NodeDocument) -> dict[str, Any]:
    return {
        "name": node.name,
        "compute_data_type": node.compute_data_type,
        "attributes": (node.type, Record(node.fields, node.label)),
    }


def _tensor_fields(tensor: TensorDocument) -> dict[str, Json]:
    return {
        **tensor.extra,
        "uid": tensor.uid,
        "name": tensor.name,
        "data_type": tensor.data_type,
        "strides": tensor.strides,
        "dims": tensor.dims,
        "virtual": tensor.virtual,
        "value": (tensor.value_type, tensor.value) if tensor.value_type else None,
        "is_runtime_pass_by_value": tensor.is_runtime_pass_by_value,
        "ragged_offset_tensor_uid": tensor.ragged_offset_tensor_uid,
        "alignment": tensor.alignment,
        "ragged_offset_multiplier": tensor.ragged_offset_multiplier,
    }


def _uuid(value: Json) -> dict[str, Json]:
    try:
        return {"bytes": list(uuid.UUID(str(value)).bytes)}
    except ValueError:
        raise HipgraftError(
            f"graph: expected field 'id' to be a UUID, but found '{value}'"
        ) from None


def read_flatbuffer(data: bytes, source: str = "<hipdnn graph>") -> GraphDocument:
    """Reads a graph from a finished FlatBuffer.

    Args:
        data: the buffer that hipDNN passes to its engines.
        source: name of the file, for messages.

    Raises:
        HipgraftError: the buffer is malformed.
    """
    with damaged("a hipDNN graph", source):
        return _document(read_table("Graph", data), source)


def _document(graph: Table, source: str) -> GraphDocument:
    fields = graph.read()
    nodes: list[Table] = fields.pop("nodes", [])
    tensors: list[Table] = fields.pop("tensors", [])
    document = GraphDocument(
        name=fields.pop("name", ""),
        compute_data_type=fields.pop("compute_data_type"),
        io_data_type=fields.pop("io_data_type"),
        intermediate_data_type=fields.pop("intermediate_data_type"),
        nodes=[_node(one) for one in nodes],
        tensors=[_tensor(one) for one in tensors],
        source=source,
    )
    if "id" in fields:
        fields["id"] = str(uuid.UUID(bytes=bytes(fields["id"]["bytes"])))
    document.extra = fields
    return document


def _tensor(table: Table) -> TensorDocument:
    fields: dict[str, Any] = {"name": "", **table.read()}
    value_type, value = fields.pop("value", ("", None))
    return TensorDocument(**fields, value_type=value_type, value=value)


def _node(table: Table) -> NodeDocument:
    fields = table.read()
    kind, attributes = fields.get("attributes", ("", {}))
    attributes = {
        key: list(one) if isinstance(one, bytes) else one for key, one in attributes.items()
    }
    # Fields that the op does not declare are only kept if they are neither empty nor 0.
    declared = FORMS[kind].members() if kind in FORMS else {}
    attributes = {key: one for key, one in attributes.items() if one or key in declared}
    return NodeDocument(
        type=kind,
        name=fields.get("name", ""),
        compute_data_type=fields["compute_data_type"],
        fields=attributes,
    )
