"""Reads IR of another compiler version without the definitions of its dialects.

The compiler's internal dialects change between releases, so text of one release does not parse in
another. Text in generic form with renamed dialects parses in every release: operations, attributes
and types are then opaque, and readers look up their contents by names that all releases share.
"""

from __future__ import annotations

import re

from hipgraft.ir.bindings import ir

_PREFIX = "foreign."

# Upstream dialects keep their names, because the reader evaluates their operations.
_SHARED = r"(?:affine|arith|builtin|cf)\."
_OPERATION = re.compile(rf'"(?!{_SHARED})(\w+\.[\w.]+)"(?=\()')
_ATTRIBUTE_OR_TYPE = re.compile(rf"([#!])(?!{_SHARED})(\w+\.\w)")
# A nested module, up to the line that closes it at the same indentation.
_DEVICE_CODE = re.compile(r'^( +)"builtin\.module"\(\).*?\n\1\}\).*?\n', re.MULTILINE | re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def without_dialects(text: str) -> str:
    """Renames the dialects of IR in generic form to names that no registered dialect has.

    Device code is dropped.
    """
    text = _DEVICE_CODE.sub("", text)
    pieces: list[str] = []
    position = 0
    for string in _STRING.finditer(text):
        pieces.append(_renamed(text[position : string.start()]))
        is_operation = _OPERATION.match(text, string.start()) is not None
        pieces.append(f'"{_PREFIX}{string[0][1:]}' if is_operation else string[0])
        position = string.end()
    return "".join([*pieces, _renamed(text[position:])])


def _renamed(text: str) -> str:
    return _ATTRIBUTE_OR_TYPE.sub(r"\1foreign_\2", text)


def plain_name(op: ir.Operation) -> str:
    """Returns an operation's name as the compiler spells it."""
    return op.name.removeprefix(_PREFIX)
