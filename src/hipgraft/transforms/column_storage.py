"""Stores constants column by column where products of few rows read them."""

from __future__ import annotations

from math import prod

from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.transforms.partition.kindred import PRODUCT
from hipgraft.transforms.recognition.constants import build_constant, constant_array
from hipgraft.transforms.recognition.values import make_window, readers

ROWS_BY_COLUMNS = 4
"""The most rows for which IREE reads the columns of a single factor faster than its rows."""


def transposable(block: ir.Block, most_bytes: int) -> list[ir.Value]:
    """Returns the constants, stored by rows, that multiply up to four rows each.

    Kernels read columns faster. Nothing else may read such a constant, so that it is stored once.
    """
    found: list[ir.Value] = []
    for op in [op.operation for op in block.operations if op.operation.name == PRODUCT]:
        right = op.operands[1]
        if right in found or not is_stored_by_rows(right, most_bytes):
            continue
        if all(_multiplies_few(reader, right) for reader in readers(right)):
            found.append(right)
    return found


def _multiplies_few(op: ir.Operation, right: ir.Value) -> bool:
    """Whether an op is a product of up to four rows and `right`."""
    if op.name != PRODUCT or right not in list(op.operands)[1:2]:
        return False
    return op.operands[0] != right and prod(shape_of(op.operands[0])[:-1]) <= ROWS_BY_COLUMNS


def is_stored_by_rows(value: ir.Value, most_bytes: int | None = None) -> bool:
    """Whether a value is a constant of floats, a matrix, of up to `most_bytes` bytes."""
    made, shape = defining_op(value), shape_of(value)
    if made is None or made.name != "arith.constant" or len(shape) != 2 or 1 in shape:
        return False
    is_small = most_bytes is None or (byte_size(shape, element_type_of(value)) or 0) <= most_bytes
    return is_small and isinstance(element_type_of(value), ir.FloatType)


def store_transposed(right: ir.Value) -> None:
    """Stores a matrix, a constant, column by column."""
    rows, columns = shape_of(right)
    made = defining_op(right)
    assert made is not None
    read, elements = readers(right), constant_array(right)
    assert elements is not None  # as checked before
    with ir.InsertionPoint(made), made.location:
        stored = build_constant(elements.T, element_type_of(right), "transposed")
        seen = make_window(stored, StridedView((rows, columns), (1, rows)))
    for op in read:
        for number, operand in enumerate(op.operands):
            if operand == right:
                op.operands[number] = seen
