"""Verification: what follows from an op's declaration, then the op's own rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hipgraft.bindings import ir
from hipgraft.diagnostics import VerifyError
from hipgraft.dialects.hipdnn.fields import Arity, ValueField
from hipgraft.dialects.hipdnn.kinds import Kind
from hipgraft.dialects.hipdnn.op import OPERAND_SEGMENTS, RESULT_SEGMENTS, HipdnnOp, in_order, wrap
from hipgraft.dialects.hipdnn.ops.executable import ExecutableOp


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
            errors = _symbol_errors([wrap(op) for op in found])
    return [error for error in errors if error is not None]


def verify_op(operation: ir.Operation | ir.OpView) -> VerifyError | None:
    """Returns the first error of one hipdnn op, None if it has none; symbols are not looked up."""
    try:
        op = wrap(operation)
        _check_declaration(op)
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


def _symbol_errors(ops: Sequence[HipdnnOp]) -> list[VerifyError | None]:
    executables = {op.sym_name: op for op in ops if isinstance(op, ExecutableOp)}
    return [_symbol_error(op, executables) for op in ops]


def _symbol_error(op: HipdnnOp, executables: Mapping[str, HipdnnOp]) -> VerifyError | None:
    try:
        op.verify_symbol_uses(executables)
    except VerifyError as error:
        return error
    return None


def _check_declaration(op: HipdnnOp) -> None:
    results = op.operation.results
    _check_attributes(op)
    _check_counts(op, "operand", op.operand_fields, OPERAND_SEGMENTS, len(op.operation.operands))
    _check_counts(op, "result", op.result_fields, RESULT_SEGMENTS, len(results))
    if len(op.operation.regions) != op.region_count:
        raise op.error(f"expected {op.region_count} regions, but found {len(op.operation.regions)}")
    for field in op.operand_fields:
        for value in op.operand_values(field):
            op.check_value(field, value)
    for field in op.result_fields:
        for value in op.result_values(field):
            op.check_value(field, value)


def _check_attributes(op: HipdnnOp) -> None:
    fields = {field.name: field for field in op.attribute_fields}
    # Attributes of other tools have a prefix (`tool.name`), as MLIR asks of discardable ones.
    for name in op.operation.attributes:
        if (
            name not in fields
            and name not in (OPERAND_SEGMENTS, RESULT_SEGMENTS)
            and "." not in name
        ):
            raise op.error(f"has no attribute '{name}'")
    for field in fields.values():
        attribute = op.attribute(field.name)
        if attribute is None and field.required:
            raise op.error(f"requires attribute '{field.name}'")
        if attribute is not None and not field.kind.matches(attribute):
            raise op.error(
                f"expected attribute '{field.name}' to be {_kind_text(field.kind)}, "
                f"but found {attribute}"
            )


def _kind_text(kind: Kind[Any]) -> str:
    # The 50 pointwise modes would bury the message.
    return f"one of {', '.join(kind.values)}" if 0 < len(kind.values) < 10 else kind.description


def _check_counts(
    op: HipdnnOp, what: str, fields: Sequence[ValueField], segments: str, total: int
) -> None:
    attribute = op.attribute(segments)
    if attribute is not None and not isinstance(attribute, ir.DenseI32ArrayAttr):
        raise op.error(f"expected attribute '{segments}' to be array<i32>, but found {attribute}")
    counts = in_order(fields, total) if attribute is None else list(attribute)
    if len(counts) != len(fields):
        raise op.error(f"expected {len(fields)} values in '{segments}', but found {len(counts)}")
    if any(count < 0 for count in counts):
        raise op.error(f"expected values of at least 0 in '{segments}'")
    if sum(counts) != total:
        limit = "at most " if attribute is None else ""
        source = "" if attribute is None else f" by '{segments}'"
        raise op.error(f"expected {limit}{sum(counts)} {what}s{source}, but found {total}")
    for field, count in zip(fields, counts, strict=True):
        if field.arity is Arity.ONE and count != 1:
            raise op.error(f"requires {what} '{field.name}'")
        if field.arity is Arity.OPTIONAL and count not in (0, 1):
            raise op.error(f"expected at most one {what} '{field.name}', but found {count}")


def _check_inferred_shapes(op: HipdnnOp) -> None:
    inferred = op.infer()
    for field in op.result_fields:
        for value in op.result_values(field):
            if field.name in inferred:
                op.check_shape(field.name, value, inferred[field.name])
