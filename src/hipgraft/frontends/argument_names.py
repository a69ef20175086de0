"""Reads and records the names and the unsigned types of a program's inputs and results."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.entry_points import ELEMENTS, NAMES, functions_of, note_elements, note_names
from hipgraft.ir.torch_dialect import extents_and_element


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


def keep_signs(module: ir.Module) -> None:
    """Stores the types of unsigned inputs and results as attributes: host programs are signless."""
    for function in functions_of(module):
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        tensors = [extents_and_element(one) for one in (*kind.inputs, *kind.results)]
        elements = [tensor[1] if tensor else "" for tensor in tensors]
        unsigned = [element if element.startswith("ui") else "" for element in elements]
        if any(unsigned) and ELEMENTS not in function.attributes:
            note_elements(function, unsigned)
