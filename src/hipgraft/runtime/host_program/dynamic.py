"""Computes the shapes of a host function's arguments from the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, TypeAlias

import numpy as np

from hipgraft.codegen.iree.static_values import StaticValues
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, OpError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.entry_points import (
    EXTENTS,
    extents_of,
    find_functions,
    noted_elements,
    noted_names,
    noted_ranges,
    noted_symbols,
    variant_name,
)
from hipgraft.ir.function_attributes import RESULTS, check_function
from hipgraft.runtime.host_program.form import constants_of
from hipgraft.runtime.host_program.memref import tensor_of
from hipgraft.runtime.recording import Tensor

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

Shape = tuple[int, ...]


def is_dynamic(function: ir.Operation) -> bool:
    """Whether the shapes of a function's results depend on those of its inputs."""
    return EXTENTS in function.attributes


def input_tensors(module: ir.Module, architecture: str) -> dict[str, list[Tensor]]:
    """Returns the inputs of each variant of a program; `DYNAMIC` extents accept any extent.

    Raises:
        HipgraftError: the program is not for this architecture, or does not mark its results.
    """
    return {
        variant_name(function): as_noted(function, [tensor_of(one) for one in inputs_of(function)])
        for function in find_functions(module, architecture)
    }


def result_names(module: ir.Module, architecture: str, count: int) -> list[str]:
    """Returns the names of a program's `count` results; empty text for a result without a name."""
    names = noted_names(find_functions(module, architecture)[0])
    return names[-count:] if len(names) > count else [""] * count


def stored_inputs(module: ir.Module, architecture: str, inputs: Sequence[Array]) -> list[Array]:
    """Returns inputs with their element types changed from the model's to the signature's."""
    function = find_functions(module, architecture)[0]
    stored = [tensor_of(one) for one in inputs_of(function)]
    noted = as_noted(function, stored)
    return [
        array.view(kind.dtype) if array.dtype == own.dtype else array
        for array, kind, own in zip(inputs, stored, noted, strict=True)
    ]


def model_results(module: ir.Module, architecture: str, results: Sequence[Array]) -> list[Array]:
    """Returns results with their element types changed from the signature's to the model's."""
    elements = noted_elements(find_functions(module, architecture)[0])[-len(results) :]
    return [
        array.view(numpy_dtype(element)) if element else array
        for array, element in zip(results, elements or [""] * len(results), strict=True)
    ]


def as_noted(function: ir.Operation, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns tensors with the model's names and element types.

    Args:
        function: function whose attributes hold the names and types.
        tensors: its inputs, or inputs and results.
    """
    names, elements = noted_names(function), noted_elements(function)
    return [
        replace(tensor, name=name or tensor.name, element_type=element or tensor.element_type)
        for tensor, name, element in zip(
            tensors, chain(names, repeat("")), chain(elements, repeat("")), strict=False
        )
    ]


def inputs_of(function: ir.Operation) -> list[ir.BlockArgument]:
    """Returns the arguments of a function that are neither constants nor results.

    Raises:
        HipgraftError: the function does not say which are results, or its attributes are of
            another form.
    """
    check_function(function)
    if RESULTS not in function.attributes:
        raise HipgraftError("the program does not say which of its arguments are results")
    arguments = list(function.regions[0].blocks[0].arguments)
    results = ir.IntegerAttr(function.attributes[RESULTS]).value
    return arguments[: len(arguments) - results - len(constants_of(function))]


def tensors_of(function: ir.Operation, shapes: Sequence[Shape]) -> list[Tensor]:
    """Returns the tensor of each argument of a function, results included.

    Args:
        function: a host function.
        shapes: shapes of the inputs.

    Raises:
        OpError: the inputs do not fit the function or each other.
    """
    arguments = list(function.regions[0].blocks[0].arguments)
    if not is_dynamic(function):
        return [tensor_of(argument) for argument in arguments]
    count = len(inputs_of(function))
    first_result = count + len(constants_of(function))
    _check_shapes(function, arguments[:count], shapes[:count])
    numbers = _extents(function, shapes)
    return [
        *map(_tensor, arguments[:count], shapes),
        *map(tensor_of, arguments[count:first_result]),
        *(_tensor(one, _taken(numbers, one)) for one in arguments[first_result:]),
    ]


def _taken(numbers: Iterator[int], argument: ir.Value) -> Shape:
    return tuple(next(numbers) for _ in range(ir.MemRefType(argument.type).rank))


def _tensor(argument: ir.Value, shape: Shape) -> Tensor:
    return replace(tensor_of(argument), shape=tuple(shape))


def _extents(function: ir.Operation, shapes: Sequence[Shape]) -> Iterator[int]:
    """Evaluates the shape function, which returns the dynamic extents of `function`'s results."""
    extents = extents_of(function)
    if extents is None:
        raise OpError("the function that computes its results' extents is missing", function)
    *body, terminator = [op.operation for op in extents.regions[0].blocks[0].operations]
    known: dict[ir.Value, int] = {}
    constants = StaticValues()
    for op in [op for op in body if op.name == "memref.dim"]:
        argument = ir.BlockArgument(op.operands[0]).arg_number
        known[op.results[0]] = shapes[argument][constants(op.operands[1])]
    numbers = StaticValues(known)
    for op in [op for op in body if op.name == "cf.assert"]:
        check_assertion(op, numbers(op.operands[0]))
    return iter([numbers(operand) for operand in terminator.operands])


def check_assertion(op: ir.Operation, holds: int) -> None:
    """Checks the condition of a `cf.assert`, which compares extents.

    Raises:
        OpError: the condition does not hold.
    """
    if not holds:
        reason = ir.StringAttr(op.attributes["msg"]).value
        raise OpError(f"the shapes of the inputs do not fit one another: {reason}", op)


def _check_shapes(
    function: ir.Operation, inputs: Sequence[ir.Value], shapes: Sequence[Shape]
) -> None:
    if len(inputs) != len(shapes):
        raise OpError(
            f"'func.func' op takes {len(inputs)} inputs, but {len(shapes)} were given", function
        )
    found: dict[str, int] = {}
    ranges = noted_ranges(function)
    names = noted_symbols(function, len(inputs))
    for position, (argument, shape) in enumerate(zip(inputs, shapes, strict=True)):
        _check_shape(function, position, ir.MemRefType(argument.type), shape)
        dynamic = [
            n for dim, n in enumerate(shape) if ir.MemRefType(argument.type).is_dynamic_dim(dim)
        ]
        for name, extent in zip(names[position], dynamic, strict=False):
            least, most = ranges.get(name, (0, extent))
            what = f"input #{position} has extent {extent}" + (f" for '{name}'" if name else "")
            if not least <= extent <= most:
                raise OpError(f"{what}, which must be from {least} to {most}", function)
            if name and found.setdefault(name, extent) != extent:
                raise OpError(f"{what}, which is {found[name]} before", function)


def _check_shape(function: ir.Operation, position: int, kind: ir.MemRefType, shape: Shape) -> None:
    fits = kind.rank == len(shape) and all(
        kind.is_dynamic_dim(dim) or kind.shape[dim] == extent for dim, extent in enumerate(shape)
    )
    if not fits:
        raise OpError(f"input #{position} has shape {list(shape)}; expected {kind}", function)
