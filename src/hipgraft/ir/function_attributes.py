"""Verifies the attributes that hipgraft adds to functions; MLIR itself accepts any value."""

from __future__ import annotations

from collections.abc import Callable

from hipgraft.ir.attributes import attribute_of
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.entry_points import DIMS, ELEMENTS, EXTENTS, NAMES, VARIANT_OF, VARIANTS

RESULTS = "hipgraft.results"


def _is_string(value: ir.Attribute) -> bool:
    return isinstance(value, ir.StringAttr)


def _is_strings(value: ir.Attribute) -> bool:
    return isinstance(value, ir.ArrayAttr) and all(map(_is_string, value))


def _is_extents(value: ir.Attribute) -> bool:
    return isinstance(value, ir.DictAttr) and all(
        isinstance(value[number].attr, ir.IntegerAttr) for number in range(len(value))
    )


_KINDS: dict[str, tuple[str, Callable[[ir.Attribute], bool]]] = {
    RESULTS: ("an integer", lambda value: isinstance(value, ir.IntegerAttr)),
    "hipgraft.targets": ("an array of strings", _is_strings),
    "hipgraft.constants": ("an array of strings", _is_strings),
    VARIANTS: ("an array of strings", _is_strings),
    ELEMENTS: ("an array of strings", _is_strings),
    NAMES: ("an array of strings", _is_strings),
    VARIANT_OF: ("a string", _is_string),
    EXTENTS: ("a string", _is_string),
    DIMS: ("a dictionary of integers", _is_extents),
}


def function_errors(module: ir.Module) -> list[VerifyError]:
    """Returns the first error of each function in the module that has one."""
    found: list[VerifyError] = []
    for op in module.body.operations:
        if op.operation.name == "func.func":
            try:
                check_function(op.operation)
            except VerifyError as error:
                found.append(error)
    return found


def check_function(function: ir.Operation) -> None:
    """Checks the attributes of one function.

    Raises:
        VerifyError: an attribute is malformed.
    """
    for name, (kind, is_kind) in _KINDS.items():
        value = attribute_of(function, name)
        if value is not None and not is_kind(value):
            message = f"'func.func' op expected attribute '{name}' to be {kind}, but found {value}"
            raise VerifyError(message, function)
    if RESULTS in function.attributes:
        kind = ir.TypeAttr(function.attributes["function_type"]).value
        count = ir.IntegerAttr(function.attributes[RESULTS]).value
        arguments = len(ir.FunctionType(kind).inputs)
        if not 0 <= count <= arguments:
            message = f"'func.func' op has {arguments} arguments, but {count} results among them"
            raise VerifyError(message, function)
