"""hipDNN's FlatBuffers: reading and writing."""

from __future__ import annotations

import struct
import uuid
from dataclasses import dataclass
from typing import Any, cast

import flatbuffers  # pyright: ignore[reportMissingTypeStubs]

from hipgraft.hipdnn_io.document import GraphDocument, Json, NodeDocument, TensorDocument
from hipgraft.hipdnn_io.forms import FORMS
from hipgraft.hipdnn_io.schema import SCHEMA, SchemaField
from hipgraft.ir.diagnostics import HipgraftError

SCALARS = {
    "bool": ("Bool", "<?"),
    "byte": ("Int8", "<b"),
    "ubyte": ("Uint8", "<B"),
    "int": ("Int32", "<i"),
    "uint": ("Uint32", "<I"),
    "long": ("Int64", "<q"),
    "float": ("Float32", "<f"),
    "double": ("Float64", "<d"),
}
"""FlatBuffers' scalar types: the builder's word for each, and its format in memory."""


def write_flatbuffer(document: GraphDocument) -> bytes:
    """Returns the FlatBuffer of a graph; unknown fields, which it has no place for, are warned of.

    Raises:
        HipgraftError: a value is not one that hipDNN's schema has; the field is named.
    """
    builder = flatbuffers.Builder(1024)
    writer = _Writer(builder, document)
    builder.Finish(writer.table("Graph", _graph_fields(document), "graph"))
    return bytes(builder.Output())


def _graph_fields(document: GraphDocument) -> dict[str, Json]:
    return {
        **document.extra,
        "name": document.name,
        "compute_data_type": document.compute_data_type,
        "intermediate_data_type": document.intermediate_data_type,
        "io_data_type": document.io_data_type,
        "tensors": document.tensors,
        "nodes": document.nodes,
    }


class _Writer:
    def __init__(self, builder: Any, document: GraphDocument):
        self.builder = builder
        self.document = document

    def table(self, name: str, values: dict[str, Json], label: str) -> int:
        """Writes a table and returns where it is; `label` is how messages call it."""
        fields = SCHEMA.tables[name]
        for key in values.keys() - fields.keys():
            if values[key] is not None:
                self.document.warnings.append(
                    f"{label}: field '{key}' is not in the schema, and left out"
                )
        present = [field for field in fields.values() if values.get(field.name) is not None]
        # The targets of a table's pointers are written before the table.
        offsets = {field.name: self._pointee(field, values[field.name], label) for field in present}
        self.builder.StartObject(1 + max(field.slot for field in fields.values()))
        for field in present:
            self._set(field, offsets[field.name], values[field.name], label)
        return self.builder.EndObject()

    def _pointee(self, field: SchemaField, value: Any, label: str) -> int | None:
        if field.type in SCHEMA.unions:
            return self._union_member(value)
        if field.type == "string":
            return self.builder.CreateString(str(value))
        if not field.is_vector:
            return None
        if field.type in SCHEMA.tables:
            offsets = [self._element(field.type, one) for one in value]
            self.builder.StartVector(4, len(offsets), 4)
            for offset in reversed(offsets):
                self.builder.PrependUOffsetTRelative(offset)
            return self.builder.EndVector()
        return self._scalars(field, value, label)

    def _scalars(self, field: SchemaField, values: list[int], label: str) -> int:
        word, form = SCALARS[field.type]
        size = struct.calcsize(form)
        self.builder.StartVector(size, len(values), size)
        for value in reversed(values):
            self._checked(form, value, field.name, label)
            getattr(self.builder, f"Prepend{word}")(value)
        return self.builder.EndVector()

    def _element(self, table: str, one: Any) -> int:
        if isinstance(one, TensorDocument):
            return self.table(table, _tensor_fields(one), one.label)
        node = cast(NodeDocument, one)
        fields = {
            "name": node.name,
            "compute_data_type": node.compute_data_type,
            "attributes": (node.type, node),
        }
        return self.table(table, fields, node.label)

    def _union_member(self, value: tuple[str, Any]) -> int:
        member, content = value
        if member in SCHEMA.tables:
            return self.table(member, content.fields, content.label)
        return self._struct(member, {"value": content})

    def _struct(self, name: str, values: dict[str, Json]) -> int:
        """Writes a struct where the builder is, and returns where that was."""
        data = b"".join(
            struct.pack(SCALARS[field.type][1], one)
            for field in SCHEMA.structs[name]
            for one in (values[field.name] if field.length else [values[field.name]])
        )
        align = max(struct.calcsize(SCALARS[field.type][1]) for field in SCHEMA.structs[name])
        self.builder.Prep(align, len(data))
        for byte in reversed(data):
            self.builder.PrependByte(byte)
        return self.builder.Offset()

    def _set(self, field: SchemaField, offset: int | None, value: Any, label: str) -> None:
        if field.type in SCHEMA.unions:
            number = SCHEMA.number(field.type, value[0])
            self.builder.PrependUint8Slot(field.slot - 1, number, 0)
        if field.type in SCHEMA.structs:
            members = _struct_members(field.type, value)
            self.builder.PrependStructSlot(field.slot, self._struct(field.type, members), 0)
        elif offset is not None:
            self.builder.PrependUOffsetTRelativeSlot(field.slot, offset, 0)
        else:
            self._set_scalar(field, value, label)

    def _set_scalar(self, field: SchemaField, value: Json, label: str) -> None:
        type_ = field.type
        if type_ in SCHEMA.enums:
            type_, number = "byte", SCHEMA.number(type_, str(value))
            if number is None:
                raise self.document.error(
                    f"{label}: field '{field.name}' has no number for '{value}' in hipDNN's schema"
                )
            value = number
        word, form = SCALARS[type_]
        self._checked(form, value, field.name, label)
        if not field.is_optional and value == _default(field):
            return
        getattr(self.builder, f"Prepend{word}")(value)
        self.builder.Slot(field.slot)

    def _checked(self, form: str, value: Json, key: str, label: str) -> None:
        try:
            struct.pack(form, value)
        except (struct.error, OverflowError):
            raise self.document.error(f"{label}: field '{key}' cannot hold {value}") from None


def _default(field: SchemaField) -> Json:
    """Returns the value of an absent scalar; enumerators as numbers."""
    if field.type in SCHEMA.enums and field.default:
        return SCHEMA.number(field.type, field.default)
    return int(field.default) if field.default.isdigit() else 0


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


def _struct_members(name: str, value: Json) -> dict[str, Json]:
    if name != "Uuid":
        return cast(dict[str, Json], value)
    try:
        return {"bytes": list(uuid.UUID(str(value)).bytes)}
    except ValueError:
        raise HipgraftError(
            f"graph: expected field 'id' to be a UUID, but found '{value}'"
        ) from None


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
    # Fields that the op does not declare are kept only if they are neither empty nor 0.
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
