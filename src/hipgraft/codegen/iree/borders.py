"""Lets kernels write a result inside a border of zeros.

A convolution need not mask its image if the image has its padding in memory. IREE 3.13.0 pads in a
kernel of its own, or masks. Here, a kernel is compiled for the result alone; then its stores are
moved to the result's place inside the border, and its work items store the zeros around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import cast

from hipgraft.codegen.iree.border_stores import Border, move_stores
from hipgraft.codegen.iree.entry import find_entry, run_passes
from hipgraft.codegen.iree.schedule import Schedule
from hipgraft.codegen.kernel import Dispatch
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import CodegenError, Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.io import walk
from hipgraft.ir.symbols import symbol_of

_MOST_BYTES = 1 << 31  # offsets have 32 bits
_AMOUNTS = ("static_low", "static_high")


def take_borders(module: ir.Module) -> dict[int, Border]:
    """Makes `@main` return tensors without the zeros around them.

    Args:
        module: the module before the phase `input`.

    Returns:
        The borders that the results had, by result.
    """
    function = find_entry(module)
    *_, terminator = function.regions[0].blocks[0].operations
    values, found = terminator.operation.operands, dict[int, Border]()
    for index, value in enumerate(list(values)):
        pad = defining_op(value)
        border = None if pad is None else _border(pad)
        if pad is None or border is None:
            continue
        found[index] = border
        values[index] = pad.operands[0]
        if next(iter(value.uses), None) is None:
            pad.erase()
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    with module.context:
        kind = ir.FunctionType.get(kind.inputs, [value.type for value in values])
        function.attributes["function_type"] = ir.TypeAttr.get(kind)
    return found


def _border(pad: ir.Operation) -> Border | None:
    """Returns the border that a `tensor.pad` of zeros adds; None for any other op."""
    if pad.name != "tensor.pad" or len(pad.operands) != 1:
        return None
    *_, terminator = pad.regions[0].blocks[0].operations
    value = defining_op(terminator.operation.operands[0])
    if value is None or value.name != "arith.constant" or not _is_zero(value.attributes["value"]):
        return None
    kind = ir.RankedTensorType(pad.operands[0].type)
    width = byte_size((), kind.element_type)
    low, high = (tuple(ir.DenseI64ArrayAttr(pad.attributes[name])) for name in _AMOUNTS)
    if width is None or not kind.has_static_shape:
        return None
    border = Border(tuple(kind.shape), low, high, width)
    return border if border.padded and border.nbytes < _MOST_BYTES else None


def _is_zero(value: ir.Attribute) -> bool:
    """Whether all bits of a number are 0."""
    if isinstance(value, ir.FloatAttr):
        return value.value == 0 and not str(value).startswith("-")
    return isinstance(value, ir.IntegerAttr) and value.value == 0


def write_borders(
    module: ir.Module, schedule: Schedule, operands: int, borders: Mapping[int, Border]
) -> Schedule:
    """Lets the kernels of a module write the borders of results.

    Args:
        module: the module after the phase `executable-targets`.
        schedule: its schedule.
        operands: number of operands of `@main`.
        borders: the borders of its results, by result.

    Returns:
        The schedule with the memory that the kernels bind now.

    Raises:
        Declined: a result has no kernel of its own, or one whose stores cannot be moved. The module
            is then of no use.
    """
    steps = list(schedule.steps)
    for result, border in borders.items():
        number = operands + result
        touched = [index for index, step in enumerate(steps) if number in step.buffers]
        step = steps[touched[0]] if len(touched) == 1 else None
        if not isinstance(step, Dispatch) or _launches(schedule, step.kernel) > 1:
            raise Declined("border", f"result {result} has no kernel of its own")
        steps[touched[0]] = _with_border(module, step, number, border)
    return replace(schedule, steps=tuple(steps))


def _launches(schedule: Schedule, kernel: str) -> int:
    steps = [step for step in schedule.steps if isinstance(step, Dispatch)]
    return sum(step.kernel == kernel for step in steps)


def _with_border(module: ir.Module, step: Dispatch, number: int, border: Border) -> Dispatch:
    """Returns the launch of a kernel that now writes the border of the buffer `number`."""
    bindings = list(step.bindings)
    places = [place for place, one in enumerate(bindings) if one.buffer == number]
    inner = border.width * prod(border.sizes)
    if len(places) != 1 or (bindings[places[0]].offset, bindings[places[0]].length) != (0, inner):
        raise Declined("border", f"kernel '{step.kernel}' does not write one whole result")
    (place,) = places
    bindings[place] = replace(bindings[place], length=border.nbytes)
    body = cast(ir.Operation, _function(module, step.kernel).parent).operation
    run_passes("builtin.module(canonicalize)", body)  # folds what hides the address of a store
    move_stores(_function(module, step.kernel), place, step, border)
    return replace(step, bindings=tuple(bindings))


def _function(module: ir.Module, name: str) -> ir.Operation:
    functions = [op for op in walk(module.operation) if op.name == "llvm.func"]
    found = [op for op in functions if symbol_of(op) == name]
    if len(found) != 1:
        raise CodegenError(f"{len(found)} kernels are called '{name}', expected 1")
    return found[0]
