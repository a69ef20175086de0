"""The function of a host program that a device runs, and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError, OpError
from hipgraft.runtime.architectures import fitting
from hipgraft.runtime.dtypes import numpy_dtype

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def symbols(module: ir.Module) -> dict[str, ir.Operation]:
    """Returns the module's ops by symbol."""
    operations = [op.operation for op in module.body.operations]
    named = [op for op in operations if "sym_name" in op.attributes]
    return {ir.StringAttr(op.attributes["sym_name"]).value: op for op in named}


def find_function(module: ir.Module, architecture: str) -> ir.Operation:
    """Returns the public function for an architecture.

    Raises:
        HipgraftError: there is none.
    """
    functions = _entries(module)
    targets = {op: _targets(op) or (architecture,) for op in functions}
    best = fitting(architecture, [name for names in targets.values() for name in names])
    if best is not None:
        return next(op for op in functions if best in targets[op])
    have = sorted({target for names in targets.values() for target in names})
    known = f"; the program is for {', '.join(have)}" if have else ""
    raise HipgraftError(f"the program has no public function for '{architecture}'{known}")


def entry_targets(module: ir.Module) -> list[str]:
    """Returns all architectures that a program is for, sorted."""
    return sorted({target for function in _entries(module) for target in _targets(function)})


def entry_target(function: ir.Operation, architecture: str) -> str:
    """Returns which of a function's targets a device of `architecture` runs."""
    return fitting(architecture, _targets(function)) or architecture


def _entries(module: ir.Module) -> list[ir.Operation]:
    functions = [op.operation for op in module.body.operations]
    return [op for op in functions if op.name == "func.func" and _is_entry(op)]


def _is_entry(function: ir.Operation) -> bool:
    return "sym_visibility" not in function.attributes and bool(function.regions[0].blocks)


def _targets(function: ir.Operation) -> tuple[str, ...]:
    if "hipgraft.targets" not in function.attributes:
        return ()
    targets = ir.ArrayAttr(function.attributes["hipgraft.targets"])
    return tuple(ir.StringAttr(target).value for target in targets)


def result_count(function: ir.Operation, inputs: int) -> int:
    """Returns how many trailing arguments are results.

    A program of another origin does not say it: there, what follows the given inputs.
    """
    if "hipgraft.results" in function.attributes:
        return ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    return max(len(function.regions[0].blocks[0].arguments) - inputs, 0)


def check_inputs(
    function: ir.Operation, arguments: Sequence[ir.Value], inputs: Sequence[Array]
) -> None:
    """Checks that there is an array of the right shape and dtype for each argument.

    Raises:
        OpError: there is not.
    """
    if len(arguments) != len(inputs):
        raise OpError(
            f"'func.func' op takes {len(arguments)} inputs, but {len(inputs)} were given", function
        )
    for position, (argument, array) in enumerate(zip(arguments, inputs, strict=True)):
        memref = ir.MemRefType(argument.type)
        expected = (tuple(memref.shape), numpy_dtype(memref.element_type))
        if (array.shape, array.dtype) != expected:
            raise OpError(
                f"input #{position} has shape {list(array.shape)} and dtype {array.dtype}; "
                f"expected {list(expected[0])} and {expected[1]}",
                function,
            )
