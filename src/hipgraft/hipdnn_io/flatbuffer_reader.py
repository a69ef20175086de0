"""Reads hipDNN's FlatBuffer."""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from typing import Any

from hipgraft.hipdnn_io.document import GraphDocument, Json, NodeDocument, TensorDocument
from hipgraft.hipdnn_io.flatbuffer_writer import SCALARS
from hipgraft.hipdnn_io.forms import FORMS
from hipgraft.hipdnn_io.schema import SCHEMA, SchemaField
from hipgraft.ir.diagnostics import HipgraftError


def read_flatbuffer(data: bytes, source: str = "<hipdnn graph>") -> GraphDocument:
    """Reads a graph from a finished FlatBuffer.

    Args:
        data: the buffer, as hipDNN hands it to its engines.
        source: name of the file, for messages.

    Raises:
        HipgraftError: it is no such buffer.
    """
    try:
        (root,) = struct.unpack_from("<I", data, 0)
        return _document(_Table(data, root, "Graph"), source)
    except (struct.error, ValueError, RecursionError, LookupError, OverflowError, TypeError):
        message = "not a FlatBuffer of a hipDNN graph, or a damaged one"
        raise HipgraftError(message, location=source) from None


def _document(graph: _Table, source: str) -> GraphDocument:
    fields = graph.read()
    nodes: list[_Table] = fields.pop("nodes", [])
    tensors: list[_Table] = fields.pop("tensors", [])
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


def _tensor(table: _Table) -> TensorDocument:
    fields: dict[str, Any] = {"name": "", **table.read()}
    value_type, value = fields.pop("value", ("", None))
    return TensorDocument(**fields, value_type=value_type, value=value)


def _node(table: _Table) -> NodeDocument:
    fields = table.read()
    kind, attributes = fields.get("attributes", ("", {}))
    # What the op does not declare is kept only where it says something.
    declared = FORMS[kind].members() if kind in FORMS else {}
    attributes = {key: one for key, one in attributes.items() if one or key in declared}
    return NodeDocument(
        type=kind,
        name=fields.get("name", ""),
        compute_data_type=fields["compute_data_type"],
        fields=attributes,
    )


@dataclass(frozen=True)
class _Table:
    """A table in a buffer."""

    data: bytes
    at: int
    name: str

    def read(self) -> dict[str, Any]:
        """Its fields by name, without absent ones that have no default."""
        values = {field.name: self._field(field) for field in SCHEMA.tables[self.name].values()}
        return {name: value for name, value in values.items() if value is not None}

    def _unpack(self, form: str, at: int) -> Any:
        if at < 0:
            raise struct.error("outside of the buffer")
        return struct.unpack_from(form, self.data, at)[0]

    def _offset(self, slot: int) -> int | None:
        """Where a field is; None for an absent one."""
        vtable = self.at - self._unpack("<i", self.at)
        entry = 4 + 2 * slot
        if entry >= self._unpack("<H", vtable):
            return None
        offset = self._unpack("<H", vtable + entry)
        return self.at + offset if offset else None

    def _field(self, field: SchemaField) -> Any:
        offset = self._offset(field.slot)
        if offset is None:
            return self._absent(field)
        if field.type in SCHEMA.unions:
            return self._union(field, offset)
        if field.type in SCHEMA.structs:
            return self._struct(field.type, offset)
        if field.is_vector or field.type == "string":
            return self._sequence(field, offset + self._unpack("<I", offset))
        return self._scalar(field.type, offset)

    def _absent(self, field: SchemaField) -> Any:
        if field.is_vector:
            return []
        if field.is_optional or field.type not in SCALARS.keys() | SCHEMA.enums.keys():
            return None
        if field.type in SCHEMA.enums:
            return _spelled(field.type, field.default or SCHEMA.enums[field.type][0])
        if field.type == "bool":
            return field.default == "true"
        return int(field.default or 0)

    def _scalar(self, type_: str, offset: int) -> Any:
        if type_ not in SCHEMA.enums:
            return self._unpack(SCALARS[type_][1], offset)
        number = self._unpack("<b", offset)
        # An unknown number stays one, and the importer says where.
        name = SCHEMA.enumerator(type_, number)
        return f"#{number}" if name is None else _spelled(type_, name)

    def _sequence(self, field: SchemaField, start: int) -> Any:
        length = self._unpack("<I", start)
        if field.type == "string":
            return bytes(self._unpack(f"<{length}s", start + 4)).decode()
        if field.type in SCHEMA.tables:
            offsets = [start + 4 + 4 * at for at in range(self._bounded(length, 4))]
            return [_Table(self.data, at + self._unpack("<I", at), field.type) for at in offsets]
        form = SCALARS[field.type][1]
        size = struct.calcsize(form)
        return [
            self._unpack(form, start + 4 + size * at) for at in range(self._bounded(length, size))
        ]

    def _bounded(self, length: int, size: int) -> int:
        if length * size > len(self.data):
            raise struct.error("longer than the buffer")
        return length

    def _union(self, field: SchemaField, offset: int) -> tuple[str, Any]:
        type_offset = self._offset(field.slot - 1)
        number = 0 if type_offset is None else self._unpack("<B", type_offset)
        member = SCHEMA.unions[field.type][number]
        target = offset + self._unpack("<I", offset)
        if member in SCHEMA.tables:
            return member, _Table(self.data, target, member).read()
        return member, self._struct(member, target)["value"]

    def _struct(self, name: str, at: int) -> dict[str, Json]:
        values: dict[str, Json] = {}
        for field in SCHEMA.structs[name]:
            form = SCALARS[field.type][1]
            size = struct.calcsize(form)
            items = [self._unpack(form, at + size * one) for one in range(field.length or 1)]
            values[field.name] = items if field.length else items[0]
            at += size * len(items)
        return values


def _spelled(enum: str, name: str) -> str:
    """An enumerator as the JSON spells it; there, only data types and pointwise modes are small."""
    return name.lower() if enum in ("DataType", "PointwiseMode", "MoeGroupedMatmulMode") else name
