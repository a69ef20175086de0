"""Parses our schema of hipDNN's FlatBuffer, `hipdnn.fbs`.

This parser supports the part of FlatBuffers' schema language that the file uses. A field's position
in its table is its number in the buffer, so the order of the fields matters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

_COMMENT = re.compile(r"//[^\n]*")
_BLOCK = re.compile(r"(enum|union|struct|table)\s+(\w+)\s*(?::\s*\w+\s*)?\{([^}]*)\}")
_FIELD = re.compile(r"(\w+)\s*:\s*(\[?)(\w+)(?::(\d+))?\]?\s*(?:=\s*(\w+))?\s*(?:\(([^)]*)\))?\s*;")
_FORCED = re.compile(r"force_align:\s*(\d+)")


@dataclass(frozen=True)
class SchemaField:
    """A field of a table or a struct.

    Attributes:
        name: name of the field.
        type: name of its type; for a vector, of its elements' type.
        slot: number of the field in the table.
        is_vector: whether the field is a vector.
        length: number of elements of a fixed array in a struct; 0 for other fields.
        default: text of the default; `null` if absence has a meaning.
        is_required: whether a buffer without the field is malformed.
        alignment: alignment of a vector's elements in bytes; 0 for their natural alignment.
    """

    name: str
    type: str
    slot: int
    is_vector: bool
    length: int
    default: str
    is_required: bool = False
    alignment: int = 0

    @property
    def is_optional(self) -> bool:
        """Whether a missing scalar is absent rather than the default."""
        return self.default == "null"


class Schema:
    """The declarations of a schema file.

    Attributes:
        enums: enumerators by number.
        unions: names of the members' tables or structs by number; 0 is none.
        structs: fields by struct.
        tables: fields by table, each by name.
    """

    def __init__(self, text: str):
        self.enums: dict[str, dict[int, str]] = {}
        self.unions: dict[str, dict[int, str]] = {}
        self.structs: dict[str, list[SchemaField]] = {}
        self.tables: dict[str, dict[str, SchemaField]] = {}
        for kind, name, body in _BLOCK.findall(_COMMENT.sub("", text)):
            self._declare(kind, name, body)

    def enumerator(self, enum: str, number: int) -> str | None:
        """Returns the name of an enumerator, None if there is none of that number."""
        return self.enums.get(enum, {}).get(number)

    def number(self, enum: str, name: str) -> int | None:
        """Returns the number of an enumerator or union member; upper and lower case are equal."""
        numbers = self.enums.get(enum) or self.unions[enum]
        text = name.casefold()
        return next((key for key, one in numbers.items() if one.casefold() == text), None)

    @cached_property
    def node_types(self) -> list[str]:
        """Returns the names of the kinds of node, in hipDNN's order."""
        return list(self.unions["NodeAttributes"].values())

    def _declare(self, kind: str, name: str, body: str) -> None:
        if kind == "enum":
            pairs = (one.split("=") for one in body.split(",") if one.strip())
            self.enums[name] = {int(number): member.strip() for member, number in pairs}
        elif kind == "union":
            members = [one.strip() for one in body.split(",") if one.strip()]
            self.unions[name] = dict(enumerate(members, 1))
        else:
            fields = self._fields(body)
            self.tables[name] = {field.name: field for field in fields}
            if kind == "struct":
                self.structs[name] = fields
                del self.tables[name]

    def _fields(self, body: str) -> list[SchemaField]:
        fields: list[SchemaField] = []
        slot = 0
        for name, bracket, type_, length, default, attributes in _FIELD.findall(body):
            # A union takes two numbers: one for the member's kind, one for the member.
            slot += type_ in self.unions
            forced = _FORCED.search(attributes)
            fields.append(
                SchemaField(
                    name,
                    type_,
                    slot,
                    bool(bracket),
                    int(length or 0),
                    default,
                    "required" in attributes,
                    int(forced[1]) if forced else 0,
                )
            )
            slot += 1
        return fields


SCHEMA = Schema(files("hipgraft.hipdnn_io").joinpath("hipdnn.fbs").read_text())
"""The schema of hipDNN's graphs, engines and plans."""
