"""Reads hipDNN's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from hipgraft.hipdnn_io.checked import Fields
from hipgraft.hipdnn_io.document import (
    UNSET,
    GraphDocument,
    Json,
    NodeDocument,
    TensorDocument,
)
from hipgraft.hipdnn_io.forms import SECTIONS
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import parse_json

# The keys of the first generation, of 2025.
_OLD_KEYS = {
    "compute_type": "compute_data_type",
    "io_type": "io_data_type",
    "intermediate_type": "intermediate_data_type",
}


def read_json(text: str, source: str = "<hipdnn graph>") -> GraphDocument:
    """Reads a graph from hipDNN's JSON.

    Args:
        text: the JSON.
        source: name of the file, for messages.

    Raises:
        HipgraftError: it is no JSON (located), or no graph (the field is named).
    """
    return document_of(parse(text, source), source)


def parse(text: str, source: str) -> Json:
    """Parses JSON.

    Raises:
        HipgraftError: a located syntax error, or a number that hipDNN's schema cannot hold.
    """
    value: Json = parse_json(text, "JSON", source)
    for number in _integers(value):
        if not -(2**63) <= number < 2**63:
            raise HipgraftError(f"integer {number} has more than 64 bits", location=source)
    return value


def _integers(value: Json) -> Iterator[int]:
    if isinstance(value, dict):
        for one in cast(dict[str, Json], value).values():
            yield from _integers(one)
    elif isinstance(value, list):
        for one in cast(list[Json], value):
            yield from _integers(one)
    elif isinstance(value, int):
        yield value


def document_of(value: Json, source: str) -> GraphDocument:
    """Returns the document that a parsed JSON value is.

    Raises:
        HipgraftError: it is no graph; the field is named.
    """
    graph = Fields.of(value, "graph", source)
    for old, new in _OLD_KEYS.items():
        if old in graph.members:
            graph.members.setdefault(new, graph.members.pop(old))
    document = GraphDocument(
        name=graph.take("name", str, ""),
        compute_data_type=graph.take("compute_data_type", str, UNSET),
        io_data_type=graph.take("io_data_type", str, UNSET),
        intermediate_data_type=graph.take("intermediate_data_type", str, UNSET),
        nodes=[_node(one, f"nodes[{at}]", source) for at, one in _items(graph, "nodes")],
        tensors=[_tensor(one, f"tensors[{at}]", source) for at, one in _items(graph, "tensors")],
        source=source,
    )
    document.extra = graph.members
    return document


def _items(graph: Fields, key: str) -> list[tuple[int, Json]]:
    return list(enumerate(graph.take_list(key)))


def _tensor(value: Json, where: str, source: str) -> TensorDocument:
    fields = Fields.of(value, where, source)
    value_type = fields.take("value_type", str, "NONE")
    tensor = TensorDocument(
        uid=fields.take("uid", int),
        name=fields.take("name", str, ""),
        data_type=fields.take("data_type", str, UNSET),
        dims=fields.take_integers("dims"),
        strides=fields.take_integers("strides"),
        virtual=fields.take("virtual", bool, False),
        value_type="" if value_type == "NONE" else value_type,
        value=_scalar(fields),
        alignment=fields.take("alignment", int, 16),
        is_runtime_pass_by_value=fields.take("is_runtime_pass_by_value", bool, False),
        ragged_offset_tensor_uid=fields.take("ragged_offset_tensor_uid", int, None),
        ragged_offset_multiplier=fields.take("ragged_offset_multiplier", int, 1),
    )
    tensor.extra = fields.members
    return tensor


def _scalar(fields: Fields) -> float | int | bool | None:
    if isinstance(fields.members.get("value"), bool):
        return fields.take("value", bool)
    # Unlike an integer, a number may be beyond 2^53.
    kind = int if isinstance(fields.members.get("value"), int) else float
    return fields.take("value", kind, None)


def _node(value: Json, where: str, source: str) -> NodeDocument:
    fields = Fields.of(value, where, source)
    node = NodeDocument(
        type=fields.take("type", str),
        name=fields.take("name", str, ""),
        compute_data_type=fields.take("compute_data_type", str, UNSET),
        fields={},
    )
    for section in SECTIONS:
        members = cast(dict[str, Json], fields.take(section, dict, {}))
        _add_fields(node, section, members, fields)
    _add_fields(node, "", fields.members, fields)
    return node


def _add_fields(node: NodeDocument, section: str, members: dict[str, Json], of: Fields) -> None:
    for key, value in members.items():
        if key in node.fields:
            raise of.error(f"has field '{key}' twice")
        node.fields[key] = value
        node.sections[key] = section
