"""Verifies ops: first the rules of an op's declaration, then the op's own rules."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from hipgraft.dialects.hipdnn.fields import Arity, ValueField
from hipgraft.dialects.hipdnn.kinds import Kind
from hipgraft.dialects.hipdnn.op import (
    OPERAND_SEGMENTS,
    OPS,
    RESULT_SEGMENTS,
    HipdnnOp,
    in_order,
    wrap,
)
from hipgraft.dialects.hipdnn.ops.executable import ExecutableOp
from hipgraft.ir.attributes import attribute_of
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import VerifyError

_SEGMENTS = (OPERAND_SEGMENTS, RESULT_SEGMENTS)


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


def _has_symbols(op: ir.Operation) -> bool:
    """Whether the op is a symbol or uses one, as few ops of a program do."""
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


def _check_declaration(op: HipdnnOp) -> None:
    operation = op.operation
    operands, results = list(operation.operands), list(operation.results)
    _check_attributes(op)
    in_counts = _check_counts(op, "operand", op.operand_fields, OPERAND_SEGMENTS, len(operands))
    out_counts = _check_counts(op, "result", op.result_fields, RESULT_SEGMENTS, len(results))
    if len(operation.regions) != op.region_count:
        raise op.error(f"expected {op.region_count} regions, but found {len(operation.regions)}")
    _check_values(op, op.operand_fields, in_counts, operands)
    _check_values(op, op.result_fields, out_counts, results)


def _check_values(
    op: HipdnnOp, fields: Sequence[ValueField], counts: Sequence[int], values: Sequence[ir.Value]
) -> None:
    """Checks the values of all fields; `counts` has the number of values per field."""
    rest = iter(values)
    for field, count in zip(fields, counts, strict=True):
        for value in islice(rest, count):
            op.check_value(field, value)


def _check_attributes(op: HipdnnOp) -> None:
    present = dict.fromkeys(op.operation.attributes)
    for name in present:
        # Attributes of other tools have a prefix (`tool.name`), as MLIR asks of discardable ones.
        if name not in op.attribute_names and name not in _SEGMENTS and "." not in name:
            raise op.error(f"has no attribute '{name}'")
    for field in op.attribute_fields:
        if field.name not in present:  # usually: a look-up costs ten times as much
            if field.required:
                raise op.error(f"requires attribute '{field.name}'")
            continue
        attribute = attribute_of(op.operation, field.name)
        if attribute is not None and not field.kind.matches(attribute):
            kind, notes = _kind_text(field.kind, str(attribute).strip('"'))
            message = f"expected attribute '{field.name}' to be {kind}, but found {attribute}"
            raise op.error(message, notes=notes)


def _kind_text(kind: Kind[Any], found: str) -> tuple[str, tuple[str, ...]]:
    """Returns the expected kind of an attribute for a message, and notes if it is long."""
    values = ", ".join(kind.values)
    if not values or len(kind.values) < 10:
        return f"one of {values}" if values else kind.description, ()
    # The 50 pointwise modes would bury the message.
    near = difflib.get_close_matches(found, kind.values, n=1)
    guess = f"did you mean '{near[0]}'? " if near else ""
    return kind.description, (f"{guess}expected one of {values}",)


def _check_counts(
    op: HipdnnOp, what: str, fields: Sequence[ValueField], segments: str, total: int
) -> list[int]:
    """Returns how many values each field holds."""
    attribute = attribute_of(op.operation, segments)
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
    return counts


def _check_inferred_shapes(op: HipdnnOp) -> None:
    inferred = op.infer()
    for field in op.result_fields:
        for value in op.result_values(field):
            if field.name in inferred:
                op.check_shape(field.name, value, inferred[field.name])
