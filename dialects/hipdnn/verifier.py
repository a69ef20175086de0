"""Verifies ops: first the rules of an op's declaration, then the op's own rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hipgraft.dialects.framework.verifier import check_declaration
from hipgraft.dialects.hipdnn.op import OPS, HipdnnOp, wrap
from hipgraft.dialects.hipdnn.ops.executable import ExecutableOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError


def verify(module: ir.Module | ir.Operation | ir.OpView) -> list[VerifyError]:
    """Verifies every hipdnn op in `module`.

    Returns:
        The first error of each op that has one, in the order of the text.
    """
    root = module.operation
    with root.context, ir.Location.unknown():
        found = _hipdnn_ops(root)
        errors = [verify_op(op) for op in found]
        if not any(errors):
            errors = _symbol_errors([wrap(op) for op in found if _has_symbols(op)])
    return [error for error in errors if error is not None]


def verify_op(operation: ir.Operation | ir.OpView) -> VerifyError | None:
    """Returns the first error of one hipdnn op; None if it has none. Ignores symbols."""
    try:
        op = wrap(operation)
        check_declaration(op)
        op.verify()
        _check_inferred_shapes(op)
    except VerifyError as error:
        return error
    return None


def _hipdnn_ops(root: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("hipdnn."):
            found.append(op)
        return ir.WalkResult.ADVANCE

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _has_symbols(op: ir.Operation) -> bool:
    """Whether the op is a symbol or uses one; few ops of a program do."""
    op_class = OPS[op.name]
    uses = op_class.verify_symbol_uses is not HipdnnOp.verify_symbol_uses
    return uses or op_class is ExecutableOp


def _symbol_errors(ops: Sequence[HipdnnOp]) -> list[VerifyError | None]:
    executables = {op.sym_name: op for op in ops if isinstance(op, ExecutableOp)}
    return [_symbol_error(op, executables) for op in ops]


def _symbol_error(op: HipdnnOp, executables: Mapping[str, HipdnnOp]) -> VerifyError | None:
    try:
        op.verify_symbol_uses(executables)
    except VerifyError as error:
        return error
    return None


def _check_inferred_shapes(op: HipdnnOp) -> None:
    inferred = op.infer()
    for field in op.result_fields:
        for value in op.result_values(field):
            if field.name in inferred:
                op.check_shape(field.name, value, inferred[field.name])
