"""Verifies operations: first the declarations of their classes, then each op's own rules."""

from __future__ import annotations

from hipgraft.dialects.framework.verifier import check_declaration
from hipgraft.dialects.migraphx.operation import is_migraphx, wrap
from hipgraft.dialects.migraphx.types import PREFIX, ShapedType, ShapedTypeError
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError


def verify(module: ir.Module | ir.Operation | ir.OpView) -> list[VerifyError]:
    """Verifies every migraphx op and type in `module`.

    Returns:
        The first error of each op that has one, in the order of the text.
    """
    errors: list[VerifyError | None] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_migraphx(op):
            errors.append(verify_op(op))
        elif op.name == "func.func":
            errors.append(_signature_error(op))
        return ir.WalkResult.ADVANCE

    with module.operation.context:
        module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [error for error in errors if error is not None]


def verify_op(operation: ir.Operation) -> VerifyError | None:
    """Returns the first error of one op, None if it has none."""
    try:
        op = wrap(operation)
        check_declaration(op)
        op.check_agreement()
        op.verify()
    except VerifyError as error:
        return error
    return None


def _signature_error(function: ir.Operation) -> VerifyError | None:
    kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for each in (*kind.inputs, *kind.results):
        if str(each).startswith(PREFIX):
            try:
                ShapedType.of(each)
            except ShapedTypeError as error:
                return VerifyError(str(error), function)
    return None
