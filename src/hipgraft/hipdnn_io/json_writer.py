"""Writes hipDNN's JSON."""

from __future__ import annotations

import json

from hipgraft.hipdnn_io.document import GraphDocument, Json, NodeDocument, TensorDocument
from hipgraft.hipdnn_io.forms import FORMS


def write_json(document: GraphDocument) -> str:
    """Returns the JSON of a graph, in the layout that hipDNN's own reader expects."""
    return json.dumps(_graph(document), indent=2) + "\n"


def _graph(document: GraphDocument) -> Json:
    return {
        "name": document.name,
        "compute_data_type": document.compute_data_type,
        "io_data_type": document.io_data_type,
        "intermediate_data_type": document.intermediate_data_type,
        **document.extra,
        "nodes": [_node(node) for node in document.nodes],
        "tensors": [_tensor(tensor) for tensor in document.tensors],
    }


def _node(node: NodeDocument) -> Json:
    form = FORMS[node.type]
    members = form.members()
    written: dict[str, Json] = {
        "type": node.type,
        "name": node.name,
        "compute_data_type": node.compute_data_type,
    }
    for section in (form.operands, form.results, form.attributes):
        if section:
            written.setdefault(section, {})
    for key, value in node.fields.items():
        section = members[key][0] if key in members else node.sections.get(key, "")
        target = written.setdefault(section, {}) if section else written
        target[key] = value
    return {key: value for key, value in written.items() if value != {}}


def _tensor(tensor: TensorDocument) -> Json:
    written: dict[str, Json] = {
        "uid": tensor.uid,
        "name": tensor.name,
        "data_type": tensor.data_type,
        "dims": tensor.dims,
        "strides": tensor.strides,
        "virtual": tensor.virtual,
        "alignment": tensor.alignment,
        "is_runtime_pass_by_value": tensor.is_runtime_pass_by_value,
        "value_type": tensor.value_type or "NONE",
    }
    if tensor.value is not None:
        written["value"] = tensor.value
    if tensor.ragged_offset_tensor_uid is not None:
        written["ragged_offset_tensor_uid"] = tensor.ragged_offset_tensor_uid
    if tensor.ragged_offset_multiplier != 1:
        written["ragged_offset_multiplier"] = tensor.ragged_offset_multiplier
    return written | tensor.extra
