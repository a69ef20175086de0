"""Verification of the dialects that are defined in Python, which MLIR cannot verify."""

from __future__ import annotations

from hipgraft.bindings import ir
from hipgraft.diagnostics import VerifyError

_PREFIX = "hipdnn."


def dialect_errors(module: ir.Module) -> list[VerifyError]:
    """Returns what is wrong with the hipdnn ops of a module."""
    if not _holds_hipdnn(module):
        return []
    # Imported only here: a module without such ops does not pay for the dialect.
    from hipgraft.dialects import hipdnn

    return hipdnn.verify(module)


def _holds_hipdnn(module: ir.Module) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = op.name.startswith(_PREFIX)
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
