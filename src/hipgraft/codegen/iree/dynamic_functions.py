"""Writes the host functions of a kernel with dynamic shapes, as MLIR text.

`@main` takes one memref per operand, then one per result, and launches the kernels that IREE
compiled; its body is empty where the runtime calls the whole module. `@extents` takes the operands
and returns the extents of all results in order, static extents included.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.iree.dynamic_host import Commands, Numbers, write_extents
from hipgraft.codegen.iree.entry import find_entry
from hipgraft.codegen.iree.schedule import Schedule, read_exports
from hipgraft.codegen.kernel import Dispatch
from hipgraft.ir.bindings import asm, ir, make_context

MAIN, EXTENTS, KERNELS = "main", "extents", "kernels"
"""Symbols of the functions, and of the binary that represents the code objects."""

_NO_OBJECT = f'gpu.binary @{KERNELS} [#gpu.object<#nvvm.target, bin = "">]'


def write_host(module: ir.Module, kind: ir.FunctionType) -> tuple[Schedule, str]:
    """Writes the host functions of a kernel that consists of launches.

    Args:
        module: after `executable-targets`.
        kind: type of the module's `@main` before result buffers were added.

    Returns:
        The launches, with empty grids because the host computes these, and the text of the
        functions.

    Raises:
        CodegenError: the schedule needs more than launches, copies and fills, or depends on
            values other than extents.
    """
    with make_context(), ir.Location.unknown():
        host = ir.Module.parse(_NO_OBJECT)
        host.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()
        _write_extents(host, module, kind)
        dispatches = _write_commands(host, module, kind)
        sizes = {name: export.subgroup_size for name, export in read_exports(module)}
        return Schedule(dispatches, 0, sizes), asm(host)


def write_empty_host(module: ir.Module, kind: ir.FunctionType) -> str:
    """Writes the host functions of a module that the runtime calls as a whole; see `write_host`."""
    with make_context(), ir.Location.unknown():
        host = ir.Module.create()
        _write_extents(host, module, kind)
        with ir.InsertionPoint(_create(host, MAIN, _memrefs([*kind.inputs, *kind.results]))):
            ir.Operation.create("func.return")
        return asm(host)


def _write_extents(host: ir.Module, module: ir.Module, kind: ir.FunctionType) -> None:
    block = _create(host, EXTENTS, _memrefs(kind.inputs))
    with ir.InsertionPoint(block):
        extents = write_extents(Numbers(list(block.arguments)), find_entry(module))
        ir.Operation.create("func.return", operands=extents)
    inputs = [argument.type for argument in block.arguments]
    result = ir.FunctionType.get(inputs, [one.type for one in extents])
    block.owner.attributes["function_type"] = ir.TypeAttr.get(result)
    _erase_unused(block)


def _write_commands(
    host: ir.Module, module: ir.Module, kind: ir.FunctionType
) -> tuple[Dispatch, ...]:
    block = _create(host, MAIN, _memrefs([*kind.inputs, *kind.results]))
    with ir.InsertionPoint(block):
        commands = Commands(module, KERNELS, list(block.arguments), len(kind.inputs))
        commands.write_function(find_entry(module))
    _erase_unused(block)
    return tuple(commands.dispatches)


def _create(host: ir.Module, name: str, types: Sequence[ir.Type]) -> ir.Block:
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get(list(types), [])),
    }
    with ir.InsertionPoint(host.body):
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    return function.regions[0].blocks.append(*types)


def _memrefs(tensors: Sequence[ir.Type]) -> list[ir.Type]:
    """Returns memref types of the tensors' shapes, in the current context."""
    return [ir.Type.parse(str(one).replace("tensor", "memref", 1)) for one in tensors]


def _erase_unused(block: ir.Block) -> None:
    """Erases arithmetic without uses, last first, which the copied schedule leaves behind."""
    for op in reversed([op.operation for op in block.operations]):
        is_number = op.name.startswith(("arith.", "affine.", "memref."))
        if is_number and not any(True for result in op.results for _ in result.uses):
            op.erase()
