"""Represents migraphx operations as text, for the reader and the printer.

Attributes and types stay text that MLIR interprets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from hipgraft.dialects.migraphx.cursor import Cursor, one_line, split_list
from hipgraft.dialects.migraphx.types import PREFIX, ShapedType, ShapedTypeError

SEGMENTS = "operandSegmentSizes"

_NAMED_TYPE = re.compile(r"!?[A-Za-z][\w.]*")


@dataclass
class OpText:
    """An operation as text.

    Attributes:
        name: name of the operation with its dialect.
        operands: SSA names.
        operand_types: one per operand, in full.
        result_types: types of the results, in full.
        attributes: text of the values by name; empty for unit attributes.
        region: text of a region with its braces, or empty.
        lines_before_region: line breaks of the source before the region.
    """

    name: str
    operands: list[str] = field(default_factory=list[str])
    operand_types: list[str] = field(default_factory=list[str])
    result_types: list[str] = field(default_factory=list[str])
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    region: str = ""
    lines_before_region: int = 0

    def generic(self) -> str:
        """Returns the form that MLIR itself parses."""
        region = f" ({chr(10) * self.lines_before_region}{self.region})" if self.region else ""
        attributes = f" {attribute_text(self.attributes)}" if self.attributes else ""
        results = ", ".join(self.result_types)
        if len(self.result_types) != 1:
            results = f"({results})"
        return (
            f'"{self.name}"({", ".join(self.operands)}){region}{attributes} : '
            f"({', '.join(self.operand_types)}) -> {results}"
        )


def attribute_text(attributes: dict[str, str]) -> str:
    """Returns a dictionary of attributes."""
    items = [f"{name} = {value}" if value else name for name, value in attributes.items()]
    return f"{{{', '.join(items)}}}"


def read_attributes(cursor: Cursor) -> dict[str, str]:
    """Consumes a dictionary of attributes, if there is one."""
    if cursor.peek() != "{":
        return {}
    attributes: dict[str, str] = {}
    for item in split_list(one_line(cursor.take_balanced())[1:-1]):
        name, _, value = item.partition("=")
        attributes[name.strip()] = value.strip()
    return attributes


def read_generic(cursor: Cursor, name: str, rewrite: Callable[[int], str]) -> OpText:
    """Consumes the rest of an operation in generic form, after its name.

    Properties, which rocMLIR's tools print separately, become attributes.

    Args:
        cursor: position after the quoted name.
        name: name of the operation.
        rewrite: consumes a region up to a position and returns its text.

    Raises:
        HipgraftError: the operation is malformed.
    """
    op = OpText(name)
    start = cursor.position
    op.operands = split_list(cursor.take_balanced()[1:-1])
    if cursor.peek() == "<":
        op.attributes = read_attributes(Cursor(cursor.take_balanced()[1:-1], ""))
    if cursor.take_text("("):
        op.lines_before_region = cursor.text.count("\n", start, cursor.position)
        op.region = take_region(cursor, rewrite)
        cursor.expect(")")
    op.attributes |= read_attributes(cursor)
    cursor.expect(":")
    op.operand_types = read_type_list(cursor)
    cursor.expect("->")
    op.result_types = read_type_list(cursor)
    return op


def take_region(cursor: Cursor, rewrite: Callable[[int], str]) -> str:
    """Consumes a region and returns its text; `rewrite` converts the text up to a position.

    Raises:
        HipgraftError: there is none, or it is not closed.
    """
    if cursor.peek() != "{":
        raise cursor.error("expected '{' to begin a region")
    cursor.skip_blank()
    start = cursor.position
    cursor.take_balanced()
    end, cursor.position = cursor.position, start
    return rewrite(end)


def read_type(cursor: Cursor) -> str:
    """Consumes a type and returns it in full; shaped types may omit their name.

    Raises:
        HipgraftError: there is no type, or it breaks a rule of `!migraphx.shaped`.
    """
    cursor.skip_blank()
    start = cursor.position
    name = "" if cursor.peek() == "<" else cursor.expect_match(_NAMED_TYPE, "a type")
    # A body belongs to the name only if no white space precedes it.
    body = (
        cursor.take_balanced() if cursor.text[cursor.position : cursor.position + 1] == "<" else ""
    )
    if name not in ("", PREFIX):
        return name + one_line(body)
    try:
        return str(ShapedType.parse(one_line(body)))
    except ShapedTypeError as error:
        raise cursor.error(str(error), start) from None


def read_types(cursor: Cursor) -> list[str]:
    """Consumes types with commas between them."""
    types = [read_type(cursor)]
    while cursor.take_text(","):
        types.append(read_type(cursor))
    return types


def read_type_list(cursor: Cursor) -> list[str]:
    """Consumes `(t, t)`, which may be empty, or `t, t` without brackets."""
    if not cursor.take_text("("):
        return read_types(cursor)
    types = [] if cursor.peek() == ")" else read_types(cursor)
    cursor.expect(")")
    return types
