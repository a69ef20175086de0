"""Verifies the dialects that are defined in Python, which MLIR cannot verify."""

from __future__ import annotations

from importlib import import_module

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError
from hipgraft.ir.function_attributes import function_errors

_DIALECTS = ("hipdnn", "migraphx")


def dialect_errors(module: ir.Module) -> list[VerifyError]:
    """Returns the errors in a module's functions and ops of our dialects."""
    errors = function_errors(module)
    for name in sorted(_dialects_in(module)):
        # Imported here, so that a module without such ops does not load the dialect.
        errors += import_module(f"hipgraft.dialects.{name}").verify(module)
    return errors


def _dialects_in(module: ir.Module) -> set[str]:
    found: set[str] = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        dialect = op.name.partition(".")[0]
        if dialect in _DIALECTS:
            found.add(dialect)
        return ir.WalkResult.INTERRUPT if len(found) == len(_DIALECTS) else ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
