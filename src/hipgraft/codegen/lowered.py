"""Stores compiler inputs beside their containers, as `convert-hipdnn-to-linalg` leaves them.

A nested module holds one input. The container refers to its inputs, one for each target.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.plan import Plan
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir
from hipgraft.ir.symbols import symbol_of

LOWERED_FOR = "hipdnn.lowered_for"
"""Attribute of a nested module: the target that the compiler's input is for."""

PLAN = "hipdnn.plan"
"""Attribute of a nested module: the plan by which its container was lowered."""

INPUTS = "hipdnn.inputs"
"""Attribute of a container: the symbols of the nested modules that it was lowered to."""


def attach_input(
    container: ir.Operation, symbol: str, text: str, target: Target, plan: Plan
) -> None:
    """Parses the compiler's input into a nested module that precedes the container's function.

    Args:
        container: the container; this function does not add the symbol to it (see `name_inputs`).
        symbol: symbol of the nested module; no other op may have it.
        text: the input, a module.
        target: target that the input was lowered for.
        plan: plan that the input was lowered by.
    """
    parsed = ir.Module.parse(text, container.context)
    with ir.InsertionPoint(_function_of(container)):
        nested = parsed.operation.clone().operation
    nested.location = container.location
    nested.attributes["sym_name"] = ir.StringAttr.get(symbol)
    nested.attributes[LOWERED_FOR] = ir.StringAttr.get(target.name)
    nested.attributes[PLAN] = ir.StringAttr.get(str(plan))


def name_inputs(container: ir.Operation, names: Sequence[str]) -> None:
    """Makes a container refer to the nested modules that are inputs for it."""
    container.attributes[INPUTS] = ir.ArrayAttr.get(
        [ir.FlatSymbolRefAttr.get(symbol) for symbol in names]
    )


def inputs_in(module: ir.Module) -> dict[str, ir.Operation]:
    """Returns the nested modules that are inputs of the compiler, by their symbols."""
    nested = [op.operation for op in module.body.operations]
    return {symbol_of(op): op for op in nested if LOWERED_FOR in op.attributes}


def input_for(
    container: ir.Operation, inputs: dict[str, ir.Operation], target: Target
) -> str | None:
    """Returns the text of the compiler's input for a target, None if there is none."""
    if INPUTS not in container.attributes:
        return None
    for reference in ir.ArrayAttr(container.attributes[INPUTS]):
        nested = inputs.get(ir.FlatSymbolRefAttr(reference).value)
        if (
            nested is not None
            and ir.StringAttr(nested.attributes[LOWERED_FOR]).value == target.name
        ):
            return _text(nested)
    return None


def _function_of(container: ir.Operation) -> ir.Operation:
    function = container.parent
    assert function is not None, "containers are in functions"
    return function.operation


def _text(nested: ir.Operation) -> str:
    """Prints an input alone with its resources, without the attributes that identify it."""
    copy = nested.clone(ip=False).operation
    for name in ("sym_name", LOWERED_FOR, PLAN):
        del copy.attributes[name]
    try:
        return f"{copy}\n"
    finally:
        copy.erase()
