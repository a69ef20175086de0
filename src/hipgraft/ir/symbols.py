"""Reads and creates symbols, the names of operations in modules."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError

_NOT_IN_SYMBOLS = re.compile(r"[^A-Za-z0-9_.$]")


def symbol_of(op: ir.Operation | ir.OpView) -> str:
    """Returns the name of an op that is a symbol.

    Raises:
        VerifyError: the name is not a string, which MLIR accepts in unregistered dialects.
    """
    name = op.attributes["sym_name"]
    if not isinstance(name, ir.StringAttr):
        raise VerifyError(f"'{op.operation.name}' op has the name {name}, which is no string", op)
    return name.value


def modules_in(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yields a module and its nested modules, outer ones first; files may nest modules."""
    yield module
    for op in list(symbols_of(module)):
        if op.name == "builtin.module":
            yield from modules_in(op)


def symbols_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """Yields the operations directly in a module."""
    for op in module.regions[0].blocks[0].operations:
        yield op.operation


def unique_name(name: str, taken: Collection[str]) -> str:
    """Returns `name`, with a number appended if it is taken."""
    if name not in taken:
        return name
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def symbol_name(text: str, taken: Collection[str]) -> str:
    """Returns a free symbol like `text` that prints without quotes and suits file names."""
    plain = _NOT_IN_SYMBOLS.sub("_", text)
    start = plain if plain[:1].isalpha() or plain[:1] == "_" else f"_{plain}"
    return unique_name(start, taken)
