"""What the arguments of a program are called."""

from __future__ import annotations

from hipgraft.ir.bindings import ir


def argument_names(module: ir.Module) -> list[str]:
    """Returns what the locations of the first function's arguments call them, or empty names."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and op.operation.regions[0].blocks:
            return [name_of(argument) for argument in op.operation.regions[0].blocks[0].arguments]
    return []


def name_of(argument: ir.BlockArgument) -> str:
    """Returns what the location of an argument calls it, or an empty name."""
    return argument.location.name_str if isinstance(argument.location, ir.NameLoc) else ""
