"""Reads hipDNN's JSON with checks, and writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from hipgraft.hipdnn_io.document import (
    UNSET,
    GraphDocument,
    Json,
    NodeDocument,
    TensorDocument,
    shortened,
)
from hipgraft.hipdnn_io.forms import FORMS, SECTIONS
from hipgraft.hipdnn_io.values import is_data_type, is_unset, unknown_type
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import parse_json

# The keys of the first generation, from 2025.
_OLD_KEYS = {
    "compute_type": "compute_data_type",
    "io_type": "io_data_type",
    "intermediate_type": "intermediate_data_type",
}

# Graphs need 5 levels; the functions that read and write them recurse.
_DEEPEST = 100

T = TypeVar("T")

_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}

_ABSENT = object()


def read_json(text: str, source: str = "<hipdnn graph>") -> GraphDocument:
    """Reads a graph from hipDNN's JSON.

    Args:
        text: the JSON.
        source: name of the file, for messages.

    Raises:
        HipgraftError: the text is not JSON (located), or not a graph (the field is named).
    """
    return document_of(parse(text, source), source)


def parse(text: str, source: str) -> Json:
    """Parses JSON.

    Raises:
        HipgraftError: a located syntax error, a number that hipDNN's schema cannot hold, or a field
            with a name that no attribute can have.
    """
    value: Json = parse_json(text, "JSON", source)
    for depth, each in _values(value):
        if depth > _DEEPEST:
            message = f"malformed JSON: values are nested more than {_DEEPEST} deep"
            raise HipgraftError(message, location=source)
        if isinstance(each, int) and not -(2**63) <= each < 2**63:
            raise HipgraftError(f"integer {each} has more than 64 bits", location=source)
        if isinstance(each, dict):
            _check_names(cast(dict[str, Json], each), source)
    return value


def _check_names(members: dict[str, Json], source: str) -> None:
    for name in members:
        if not name or "\0" in name:
            message = f"field {name!r} has a name that no attribute can have"
            raise HipgraftError(message, location=source)


def _values(value: Json, depth: int = 1) -> Iterator[tuple[int, Json]]:
    """Yields a value and all values in it, each with its depth."""
    yield depth, value
    inner: list[Json] = []
    if isinstance(value, dict):
        inner = list(cast(dict[str, Json], value).values())
    elif isinstance(value, list):
        inner = cast(list[Json], value)
    for one in inner:
        yield from _values(one, depth + 1)


def document_of(value: Json, source: str) -> GraphDocument:
    """Converts a parsed JSON value to a document.

    Raises:
        HipgraftError: the value is not a graph; the message names the field.
    """
    graph = Fields.of(value, "graph", source)
    for old, new in _OLD_KEYS.items():
        if old in graph.members:
            graph.members.setdefault(new, graph.members.pop(old))
    document = GraphDocument(
        name=graph.take("name", str, ""),
        compute_data_type=graph.take_type("compute_data_type"),
        io_data_type=graph.take_type("io_data_type"),
        intermediate_data_type=graph.take_type("intermediate_data_type"),
        nodes=[_node(one, f"nodes[{at}]", source) for at, one in _items(graph, "nodes")],
        tensors=[_tensor(one, f"tensors[{at}]", source) for at, one in _items(graph, "tensors")],
        source=source,
    )
    document.extra = graph.members
    _check_defaults(document)
    return document


def _check_defaults(document: GraphDocument) -> None:
    """Replaces graph types that hipDNN does not have by unset, as its reader does.

    Many files give each tensor and node its own type and do not need the defaults.
    """
    for key in _OLD_KEYS.values():
        name: str = getattr(document, key)
        if name != UNSET and not is_data_type(name):
            document.warnings.append(f"graph: field '{key}': {unknown_type(name)}")
            setattr(document, key, UNSET)


def _items(graph: Fields, key: str) -> list[tuple[int, Json]]:
    return list(enumerate(graph.take_list(key)))


def _tensor(value: Json, where: str, source: str) -> TensorDocument:
    fields = Fields.of(value, where, source)
    value_type = fields.take("value_type", str, "NONE")
    tensor = TensorDocument(
        uid=fields.take("uid", int),
        name=fields.take("name", str, ""),
        data_type=fields.take_type("data_type"),
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
    # A float may exceed 2^53; an integer may not.
    kind = int if isinstance(fields.members.get("value"), int) else float
    return fields.take("value", kind, None)


def _node(value: Json, where: str, source: str) -> NodeDocument:
    fields = Fields.of(value, where, source)
    node = NodeDocument(
        type=fields.take("type", str),
        name=fields.take("name", str, ""),
        compute_data_type=fields.take_type("compute_data_type"),
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


@dataclass
class Fields:
    """The members of one JSON object, removed one by one; the remaining ones are unknown.

    Attributes:
        members: members that have not been removed yet.
        where: name of the object in messages, such as `nodes[2]`.
        source: name of the file.
    """

    members: dict[str, Json]
    where: str
    source: str

    @classmethod
    def of(cls, value: Json, where: str, source: str) -> Fields:
        """Returns the members of `value`.

        Raises:
            HipgraftError: `value` is not an object.
        """
        if not isinstance(value, dict):
            message = f"{where}: expected an object, but found {shortened(value)}"
            raise HipgraftError(message, location=source)
        return cls(dict(cast(dict[str, Json], value)), where, source)

    def take(self, key: str, kind: type[T], default: Any = _ABSENT) -> T:
        """Removes a member and returns its value.

        Args:
            key: name of the member.
            kind: required type.
            default: value of an absent or null member; without a default, the member is required.

        Raises:
            HipgraftError: the member is missing or has another type.
        """
        value = self.members.pop(key, None)
        if value is None and default is not _ABSENT:
            return default
        if value is None:
            raise self.error(f"requires field '{key}'")
        if not _is(value, kind):
            raise self.error(
                f"expected field '{key}' to be {_WORDS[kind]}, but found {shortened(value)}"
            )
        return value

    def take_list(self, key: str, default: Any = _ABSENT) -> list[Json]:
        """Removes an array and returns it; arguments and errors are those of `take`."""
        return cast(list[Json], self.take(key, list, default))

    def take_type(self, key: str) -> str:
        """Removes the name of a data type and returns it; `unset` if it is absent.

        Raises:
            HipgraftError: the member is not a string.
        """
        name = self.take(key, str, UNSET)
        return UNSET if is_unset(name) else name

    def take_integers(self, key: str) -> list[int]:
        """Removes a list of integers and returns it; empty if it is absent.

        Raises:
            HipgraftError: the member has another type.
        """
        values = self.take_list(key, [])
        if not all(_is(value, int) for value in values):
            raise self.error(
                f"expected field '{key}' to hold integers, but found {shortened(values)}"
            )
        return values

    def error(self, message: str) -> HipgraftError:
        """Returns an error about this object."""
        return HipgraftError(f"{self.where}: {message}", location=self.source)


def _is(value: Json, kind: type) -> bool:
    # Python's bool is an int, and integers are valid numbers.
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def write_json(document: GraphDocument) -> str:
    """Returns the JSON of a graph, structured as hipDNN's own reader expects."""
    return json.dumps(_graph_to_json(document), indent=2) + "\n"


def _graph_to_json(document: GraphDocument) -> Json:
    return {
        "name": document.name,
        "compute_data_type": document.compute_data_type,
        "io_data_type": document.io_data_type,
        "intermediate_data_type": document.intermediate_data_type,
        **document.extra,
        "nodes": [_node_to_json(node) for node in document.nodes],
        "tensors": [_tensor_to_json(tensor) for tensor in document.tensors],
    }


def _node_to_json(node: NodeDocument) -> Json:
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


def _tensor_to_json(tensor: TensorDocument) -> Json:
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
