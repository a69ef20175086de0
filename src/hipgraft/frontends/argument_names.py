"""Reads the names of a program's inputs and results."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.entry_points import NAMES, functions_of, note_names


def argument_names(module: ir.Module) -> list[str]:
    """Returns the names in the locations of the first function's arguments; empty if unknown."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.operation.regions[0].blocks:
            return [name_of(argument) for argument in op.operation.regions[0].blocks[0].arguments]
    return []


def name_of(argument: ir.BlockArgument) -> str:
    """Returns the name in the location of an argument, or an empty text."""
    return argument.location.name_str if isinstance(argument.location, ir.NameLoc) else ""


def keep_names(module: ir.Module) -> None:
    """Stores the names in arguments' locations as attributes, because text omits locations."""
    for function in functions_of(module):
        names = [name_of(argument) for argument in function.regions[0].blocks[0].arguments]
        if any(names) and NAMES not in function.attributes:
            note_names(function, names)
