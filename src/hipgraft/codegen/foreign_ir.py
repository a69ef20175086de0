"""IR of another version of the compiler, read without the definitions of its dialects.

Internal dialects change between releases, and text of one does not parse in another. In generic
form, with other names for its dialects, it parses in all of them: operations, attributes and
types are then opaque, and what they hold is found by the names that have stayed.
"""

from __future__ import annotations

import re

from hipgraft.bindings import ir

_PREFIX = "foreign."

# Upstream dialects that hold nothing of the compiler's own, whose operations are evaluated.
_SHARED = r"(?:affine|arith|builtin|cf)\."
_OPERATION = re.compile(rf'"(?!{_SHARED})(\w+\.[\w.]+)"(?=\()')
_ATTRIBUTE_OR_TYPE = re.compile(rf"([#!])(?!{_SHARED})(\w+\.\w)")
# A module in a module, to the line that closes it at the same indentation.
_DEVICE_CODE = re.compile(r'^( +)"builtin\.module"\(\).*?\n\1\}\).*?\n', re.MULTILINE | re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def without_dialects(text: str) -> str:
    """Returns IR in generic form with names that belong to no registered dialect.

    Code for the device is left out.
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
    """Returns an operation's name as the compiler has it."""
    return op.name.removeprefix(_PREFIX)
