"""Verifies ops against their classes' declarations: attributes, counts and types of values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from hipgraft.dialects.framework.fields import Arity, ValueField
from hipgraft.dialects.framework.op import OPERAND_SEGMENTS, RESULT_SEGMENTS, Op, in_order
from hipgraft.ir.attributes import attribute_of
from hipgraft.ir.bindings import ir

_SEGMENTS = (OPERAND_SEGMENTS, RESULT_SEGMENTS)


def check_declaration(op: Op) -> None:
    """Checks an operation against the fields of its class.

    Raises:
        VerifyError: the operation does not match its fields.
    """
    operation = op.operation
    operands, results = list(operation.operands), list(operation.results)
    _check_attributes(op)
    in_counts = _check_counts(op, "operand", op.operand_fields, OPERAND_SEGMENTS, len(operands))
    out_counts = _check_counts(op, "result", op.result_fields, RESULT_SEGMENTS, len(results))
    if len(operation.regions) != op.region_count:
        raise op.error(f"expected {op.region_count} regions, but found {len(operation.regions)}")
    if op.checks_values:
        _check_values(op, op.operand_fields, in_counts, operands)
        _check_values(op, op.result_fields, out_counts, results)


def _check_values(
    op: Op, fields: Sequence[ValueField], counts: Sequence[int], values: Sequence[ir.Value]
) -> None:
    """Checks the values of all fields; `counts` has the number of values per field."""
    rest = iter(values)
    for field, count in zip(fields, counts, strict=True):
        for value in islice(rest, count):
            op.check_value(field, value)


def _check_attributes(op: Op) -> None:
    present = dict.fromkeys(op.operation.attributes)
    for name in () if op.is_open else present:
        # Attributes of other tools have a prefix (`tool.name`), as MLIR asks of discardable ones.
        if name not in op.attribute_names and name not in _SEGMENTS and "." not in name:
            raise op.error(f"has no attribute '{name}'")
    for field in op.attribute_fields:
        if field.name not in present:  # most: an attribute costs ten times as much to look up
            if field.required:
                raise op.error(f"requires attribute '{field.name}'")
            continue
        attribute = attribute_of(op.operation, field.name)
        if attribute is not None and not field.kind.matches(attribute):
            raise op.kind_error(field, attribute)


def _check_counts(
    op: Op, what: str, fields: Sequence[ValueField], segments: str, total: int
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
    if attribute is None and total != len(fields) and all(f.arity is Arity.ONE for f in fields):
        missing = tuple(f"requires {what} '{field.name}'" for field in fields[total:][:1])
        message = f"expected {len(fields)} {what}s, but found {total}"
        raise op.error(message, notes=missing)
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
