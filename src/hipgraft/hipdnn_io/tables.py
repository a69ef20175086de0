"""Reads and writes tables of FlatBuffers by their schema.

Values are plain: numbers, strings, `bytes` for bytes, lists, and dictionaries for structs.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import flatbuffers  # pyright: ignore[reportMissingTypeStubs]

from hipgraft.hipdnn_io.document import Json
from hipgraft.hipdnn_io.schema import SCHEMA, SchemaField
from hipgraft.ir.diagnostics import HipgraftError

SCALARS = {
    "bool": ("Bool", "<?"),
    "byte": ("Int8", "<b"),
    "ubyte": ("Uint8", "<B"),
    "int": ("Int32", "<i"),
    "uint": ("Uint32", "<I"),
    "long": ("Int64", "<q"),
    "ulong": ("Uint64", "<Q"),
    "float": ("Float32", "<f"),
    "double": ("Float64", "<d"),
}
"""FlatBuffers' scalar types: the builder's name for each, and its format in memory."""

_IDENTIFIER = slice(4, 8)


@dataclass(frozen=True)
class Record:
    """A table to write.

    Attributes:
        fields: values by name; None for absent ones. A table is a `Record`; a union is the name
            of the member and a `Record`, or the value of a struct.
        label: name of the table in messages.
    """

    fields: Mapping[str, Any]
    label: str


def write_table(
    name: str, record: Record, *, source: str = "", warnings: list[str], identifier: bytes = b""
) -> bytes:
    """Returns a finished FlatBuffer.

    Args:
        name: the root's table in the schema.
        record: the root.
        source: file name for messages.
        warnings: list to which warnings about fields outside of the schema are added.
        identifier: four bytes that identify the kind of file; empty for none.

    Raises:
        HipgraftError: the schema does not allow a value; the message names the field.
    """
    builder = flatbuffers.Builder(1024)
    root = _Writer(builder, source, warnings).table(name, record)
    builder.Finish(root, identifier or None)
    return bytes(builder.Output())


def read_table(name: str, data: bytes, identifier: bytes = b"") -> Table:
    """Returns the root of a buffer; must be called within `damaged`."""
    if identifier and data[_IDENTIFIER] != identifier:
        raise ValueError("another identifier")
    (root,) = struct.unpack_from("<I", data, 0)
    return Table(data, root, name)


@contextmanager
def damaged(what: str, source: str) -> Generator[None, None, None]:
    """Converts exceptions from reading a damaged buffer to a located error.

    Raises:
        HipgraftError: the body raised.
    """
    try:
        yield
    except (struct.error, ValueError, RecursionError, LookupError, OverflowError, TypeError):
        message = f"not a FlatBuffer of {what}, or a damaged one"
        raise HipgraftError(message, location=source) from None


class _Writer:
    def __init__(self, builder: Any, source: str, warnings: list[str]):
        self.builder = builder
        self.source = source
        self.warnings = warnings

    def table(self, name: str, record: Record) -> int:
        """Writes a table and returns its offset."""
        fields, values, label = SCHEMA.tables[name], record.fields, record.label
        for key in values.keys() - fields.keys():
            if values[key] is not None:
                self.warnings.append(f"{label}: field '{key}' is not in the schema, and left out")
        present = [field for field in fields.values() if values.get(field.name) is not None]
        for field in fields.values():
            if field.is_required and field not in present:
                raise self._error(f"{label}: requires field '{field.name}'")
        # The tables and vectors that a table refers to are written before it.
        offsets = {field.name: self._pointee(field, values[field.name], label) for field in present}
        self.builder.StartObject(1 + max(field.slot for field in fields.values()))
        for field in present:
            self._set(field, offsets[field.name], values[field.name], label)
        return self.builder.EndObject()

    def _error(self, message: str) -> HipgraftError:
        return HipgraftError(message, location=self.source)

    def _pointee(self, field: SchemaField, value: Any, label: str) -> int | None:
        if field.type in SCHEMA.unions:
            return self._union_member(field, value, label)
        if field.is_vector:
            return self._vector(field, value, label)
        if field.type == "string":
            return self.builder.CreateString(str(value))
        return self.table(field.type, value) if field.type in SCHEMA.tables else None

    def _vector(self, field: SchemaField, values: Any, label: str) -> int:
        if field.type == "ubyte":
            return self._bytes(field, values, label)
        if field.type not in SCHEMA.tables and field.type != "string":
            return self._scalars(field, values, label)
        offsets = [
            self.builder.CreateString(str(one))
            if field.type == "string"
            else self.table(field.type, one)
            for one in values
        ]
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return self.builder.EndVector()

    def _bytes(self, field: SchemaField, values: Any, label: str) -> int:
        try:
            data = bytes(values)
        except (ValueError, TypeError):
            raise self._error(f"{label}: field '{field.name}' cannot hold {values}") from None
        if field.alignment:
            self.builder.Prep(field.alignment, len(data))
        return self.builder.CreateByteVector(data)

    def _scalars(self, field: SchemaField, values: Sequence[Any], label: str) -> int:
        word, form = SCALARS[field.type]
        size = struct.calcsize(form)
        self.builder.StartVector(size, len(values), size)
        for value in reversed(values):
            self._checked(form, value, field.name, label)
            getattr(self.builder, f"Prepend{word}")(value)
        return self.builder.EndVector()

    def _union_member(self, field: SchemaField, value: tuple[str, Any], label: str) -> int:
        member, content = value
        if SCHEMA.number(field.type, member) is None:
            raise self._error(f"{label}: field '{field.name}' cannot hold a '{member}'")
        if member in SCHEMA.tables:
            return self.table(member, content)
        return self._struct(field, member, {"value": content}, label)

    def _struct(self, field: SchemaField, name: str, values: Any, label: str) -> int:
        """Writes a struct at the builder's position and returns its offset."""
        try:
            data = b"".join(
                struct.pack(SCALARS[one.type][1], value)
                for one in SCHEMA.structs[name]
                for value in (values[one.name] if one.length else [values[one.name]])
            )
        except (struct.error, OverflowError, LookupError, TypeError):
            raise self._error(f"{label}: field '{field.name}' cannot hold {values}") from None
        align = max(struct.calcsize(SCALARS[one.type][1]) for one in SCHEMA.structs[name])
        self.builder.Prep(align, len(data))
        for byte in reversed(data):
            self.builder.PrependByte(byte)
        return self.builder.Offset()

    def _set(self, field: SchemaField, offset: int | None, value: Any, label: str) -> None:
        if field.type in SCHEMA.unions:
            number = SCHEMA.number(field.type, value[0])
            self.builder.PrependUint8Slot(field.slot - 1, number, 0)
        if field.type in SCHEMA.structs:
            place = self._struct(field, field.type, value, label)
            self.builder.PrependStructSlot(field.slot, place, 0)
        elif offset is not None:
            self.builder.PrependUOffsetTRelativeSlot(field.slot, offset, 0)
        else:
            self._set_scalar(field, value, label)

    def _set_scalar(self, field: SchemaField, value: Json, label: str) -> None:
        type_ = field.type
        if type_ in SCHEMA.enums:
            type_, value = "byte", self._enumerator(field, value, label)
        word, form = SCALARS[type_]
        self._checked(form, value, field.name, label)
        if not field.is_optional and value == _default(field):
            return
        getattr(self.builder, f"Prepend{word}")(value)
        self.builder.Slot(field.slot)

    def _enumerator(self, field: SchemaField, value: Json, label: str) -> int:
        """Returns the number of an enumerator; JSON files have its name or this number."""
        if isinstance(value, int) and not isinstance(value, bool):
            value = SCHEMA.enumerator(field.type, value) or value
        number = SCHEMA.number(field.type, str(value))
        if number is None:
            raise self._error(
                f"{label}: field '{field.name}' has no number for '{value}' in hipDNN's schema"
            )
        return number

    def _checked(self, form: str, value: Json, key: str, label: str) -> None:
        try:
            struct.pack(form, value)
        except (struct.error, OverflowError):
            raise self._error(f"{label}: field '{key}' cannot hold {value}") from None


def _default(field: SchemaField) -> Json:
    """Returns the value of an absent scalar; enumerators are numbers."""
    if field.type in SCHEMA.enums and field.default:
        return SCHEMA.number(field.type, field.default)
    return int(field.default) if field.default.isdigit() else 0


@dataclass(frozen=True)
class Table:
    """A table in a buffer."""

    data: bytes
    at: int
    name: str

    def read(self) -> dict[str, Any]:
        """Returns the fields by name, without absent ones that have no default."""
        fields = SCHEMA.tables[self.name].values()
        if any(field.is_required and self._offset(field.slot) is None for field in fields):
            raise ValueError("a required field is absent")
        values = {field.name: self._field(field) for field in fields}
        return {name: value for name, value in values.items() if value is not None}

    def has_offset(self, name: str) -> bool:
        """Whether a field that is a single byte in the schema holds an offset in this buffer."""
        slot = SCHEMA.tables[self.name][name].slot
        place = self._offset(slot)
        vtable = self.at - self._unpack("<i", self.at)
        entries = range(vtable + 4, vtable + self._unpack("<H", vtable), 2)
        others = [self.at + self._unpack("<H", at) for at in entries if at != vtable + 4 + 2 * slot]
        if place is None or place % 4 or any(place < at < place + 4 for at in others):
            return False
        target = self._unpack("<I", place) if place + 4 <= len(self.data) else 0
        return target >= 4 and target % 4 == 0

    def _unpack(self, form: str, at: int) -> Any:
        if at < 0:
            raise struct.error("outside of the buffer")
        return struct.unpack_from(form, self.data, at)[0]

    def _offset(self, slot: int) -> int | None:
        """Returns the position of a field; None for an absent one."""
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
        if field.type in SCALARS.keys() | SCHEMA.enums.keys() and not field.is_vector:
            return self._scalar(field.type, offset)
        target = offset + self._unpack("<I", offset)
        if field.is_vector:
            return self._vector(field, target)
        return self._string(target) if field.type == "string" else self._table(field.type, target)

    def _absent(self, field: SchemaField) -> Any:
        if field.is_vector:
            return b"" if field.type == "ubyte" else []
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
        # An unknown number stays a number; the importer reports its location.
        name = SCHEMA.enumerator(type_, number)
        return f"#{number}" if name is None else _spelled(type_, name)

    def _string(self, start: int) -> str:
        return self._bytes(start).decode()

    def _bytes(self, start: int) -> bytes:
        length = self._unpack("<I", start)
        return self._unpack(f"<{self._bounded(length, 1)}s", start + 4)

    def _table(self, name: str, at: int) -> Table:
        return Table(self.data, at, name)

    def _vector(self, field: SchemaField, start: int) -> Any:
        if field.type == "ubyte":
            return self._bytes(start)
        length = self._unpack("<I", start)
        if field.type == "string" or field.type in SCHEMA.tables:
            places = [start + 4 + 4 * at for at in range(self._bounded(length, 4))]
            targets = [at + self._unpack("<I", at) for at in places]
            if field.type == "string":
                return [self._string(at) for at in targets]
            return [self._table(field.type, at) for at in targets]
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
            return member, self._table(member, target).read()
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
    """Returns an enumerator as JSON spells it: data types and pointwise modes in lower case."""
    return name.lower() if enum in ("DataType", "PointwiseMode", "MoeGroupedMatmulMode") else name
