"""Prepares a host program for lowering to LLVM: one target, constants as arguments.

Upstream's `gpu-to-llvm` leaves a `memref.global` in host memory, where kernels cannot reach it,
and selects one object of a `gpu.binary` by its position. This module therefore makes a copy of the
program that has objects of one architecture only and takes its constants as arguments.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from hipgraft.ir.bindings import ir
from hipgraft.ir.entry_points import entry_target, extents_of, find_functions
from hipgraft.ir.symbols import symbol_of
from hipgraft.runtime.host_program.kernels import objects_by_chip

CONSTANTS = "hipgraft.constants"
"""Attribute of a function: the symbols of the constants that are arguments before its results."""

PARAMETERS = "hipgraft.parameters"
"""Attribute of a module: name of the file in its folder that holds its functions' constants."""

PARAMETERS_DIGEST = "hipgraft.parameters_digest"
"""Attribute of a module: the digest of its constants' file (`write_parameters`)."""


def constants_of(function: ir.Operation) -> list[str]:
    """Returns the names of the constants that a function receives as arguments."""
    if CONSTANTS not in function.attributes:
        return []
    names = ir.ArrayAttr(function.attributes[CONSTANTS])
    return [ir.StringAttr(name).value for name in names]


def select_target(module: ir.Module, architecture: str) -> list[ir.Operation]:
    """Keeps only one architecture's code, and returns its function or those of its variants.

    Raises:
        HipgraftError: the program has no function for the architecture.
    """
    functions = find_functions(module, architecture)
    target = entry_target(functions[0], architecture)
    kept = [*functions, *filter(None, map(extents_of, functions))]
    for op in [op.operation for op in module.body.operations]:
        if op.name == "func.func" and op not in kept:
            op.erase()
    used = {name for function in functions for name in _launched(function)}
    for op in [op.operation for op in module.body.operations if op.operation.name == "gpu.binary"]:
        if symbol_of(op) in used:
            op.attributes["objects"] = ir.ArrayAttr.get([objects_by_chip(op)[target]])
        else:
            op.erase()
    return functions


def externalize_constants(function: ir.Operation, names: Container[str]) -> list[str]:
    """Converts constants of a function to arguments that precede its results.

    Args:
        function: gets the attribute `CONSTANTS`.
        names: symbols of the constants to convert.

    Returns:
        The symbols of the new arguments, in order.
    """
    users = {name: ops for name, ops in _constant_users(function).items() if name in names}
    if users:
        _add_arguments(function, users)
    return list(users)


def globals_of(module: ir.Module) -> dict[str, ir.Operation]:
    """Returns the constants of a module by their symbols."""
    operations = [op.operation for op in module.body.operations]
    return {symbol_of(op): op for op in operations if op.name == "memref.global"}


def _add_arguments(function: ir.Operation, users: dict[str, list[ir.Operation]]) -> None:
    block = function.regions[0].blocks[0]
    results = ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    first_result = len(block.arguments) - results
    for ops in users.values():
        argument = block.add_argument(ops[0].results[0].type, ops[0].location)
        for op in ops:
            op.results[0].replace_all_uses_with(argument)
            op.erase()
    # Arguments can only be appended, so results move after the constants.
    for _ in range(results):
        old = block.arguments[first_result]
        old.replace_all_uses_with(block.add_argument(old.type, old.location))
        block.erase_argument(first_result)
    kinds = [argument.type for argument in block.arguments]
    names = [*constants_of(function), *users]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(kinds, []))
    function.attributes[CONSTANTS] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names])
    _pad_argument_attributes(function, len(users), results)


def _pad_argument_attributes(function: ir.Operation, count: int, results: int) -> None:
    if "arg_attrs" not in function.attributes:
        return
    attributes = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
    position = len(attributes) - results
    attributes[position:position] = [ir.DictAttr.get({})] * count
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)


def _constant_users(function: ir.Operation) -> dict[str, list[ir.Operation]]:
    """Returns the `memref.get_global` ops by symbol, in order of first use."""
    users: dict[str, list[ir.Operation]] = {}
    for op in _body(function):
        if op.name == "memref.get_global":
            name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
            users.setdefault(name, []).append(op)
    return users


def _launched(function: ir.Operation) -> set[str]:
    kernels = (op.attributes["kernel"] for op in _body(function) if op.name == "gpu.launch_func")
    return {ir.SymbolRefAttr(kernel).value[0] for kernel in kernels}


def _body(function: ir.Operation) -> Sequence[ir.Operation]:
    return [op.operation for op in function.regions[0].blocks[0].operations]
