"""Rebuilds torch functions as functions on builtin tensors, for the passes that do this."""

from __future__ import annotations

from hipgraft.ir.bindings import func_d, ir
from hipgraft.ir.builders import attributes_of
from hipgraft.ir.diagnostics import Declined, PassFailure
from hipgraft.ir.io import return_of
from hipgraft.ir.symbols import symbol_of
from hipgraft.transforms.torch_to_hipdnn.converter import Converter, builtin_tensor_type


def torch_functions(module: ir.Module) -> list[ir.Operation]:
    """Returns the functions that have torch tensors in their signatures."""
    return [op.operation for op in module.body.operations if _is_torch_function(op.operation)]


def _is_torch_function(operation: ir.Operation) -> bool:
    if operation.name != "func.func" or not operation.regions[0].blocks:
        return False
    types = operation.attributes["function_type"]
    return "!torch.vtensor" in str(types)


def _signature(function: ir.Operation) -> ir.FunctionType:
    """The function's type on builtin tensors."""
    old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    try:
        inputs = [builtin_tensor_type(kind) for kind in old.inputs]
        results = [builtin_tensor_type(kind) for kind in old.results]
    except Declined as reason:
        raise PassFailure(f"'func.func' op {reason}", function) from None
    return ir.FunctionType.get(inputs, results)


def convert_function(function: ir.Operation, converter: Converter) -> ir.Block:
    """Replaces a torch function by one on builtin tensors; returns the block of the new one.

    Raises:
        PassFailure: the function has control flow, or a signature with other than static tensors.
    """
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise PassFailure(
            "'func.func' op expected one block: control flow is not supported", function
        )
    check_regions(blocks[0], converter)
    name = symbol_of(function)
    new = func_d.FuncOp(
        name, _signature(function), ip=ir.InsertionPoint(function), loc=function.location
    )
    for key, value in attributes_of(function).items():
        if key.startswith("hipgraft."):
            new.operation.attributes[key] = value
    entry = new.add_entry_block([argument.location for argument in blocks[0].arguments])
    terminator = return_of(blocks[0])
    with ir.InsertionPoint(entry):
        results = converter.convert_block(blocks[0], list(entry.arguments), terminator)
        func_d.ReturnOp(results, loc=terminator.location)
    function.erase()
    return entry


def check_regions(block: ir.Block, converter: Converter) -> None:
    """Checks that no op of a block has regions, which use values that the conversion replaces.

    Raises:
        PassFailure: an op has regions, and no conversion reads them.
    """
    for op in [each.operation for each in block.operations]:
        if len(op.regions) and not converter.converts(op):
            raise PassFailure(f"'{op.name}' op has regions: control flow is not supported", op)
