"""Stores constants in column-major order for products of few rows or of 8-bit floats."""

from __future__ import annotations

from hipgraft.codegen.products import few_rows, sharing_rows
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width, byte_size
from hipgraft.ir.strided_view import StridedView, row_major_strides
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.partition.kindred import PRODUCT
from hipgraft.transforms.recognition.constants import build_constant, stored_elements
from hipgraft.transforms.recognition.values import make_window, readers


def transposable(block: ir.Block, most_bytes: int) -> list[ir.Value]:
    """Returns the row-major constants that multiply few rows each, or hold 8-bit floats.

    Kernels read contiguous columns faster. No other op may read such a constant, because it would
    then be stored twice.
    """
    found: list[ir.Value] = []
    for op in [op.operation for op in block.operations if op.operation.name == PRODUCT]:
        right = op.operands[1]
        if right in found or not is_stored_by_rows(right, most_bytes):
            continue
        if all(_reads_columns(reader, right) for reader in readers(right)):
            found.append(right)
    return found


def _reads_columns(op: ir.Operation, right: ir.Value) -> bool:
    """Whether an op multiplies few rows, or 8-bit floats, by `right`."""
    if op.name != PRODUCT or right not in list(op.operands)[1:2]:
        return False
    bits = bit_width(element_of(right))
    return bits == 8 or sharing_rows(op) <= few_rows(bits)


def is_stored_by_rows(value: ir.Value, most_bytes: int | None = None) -> bool:
    """Whether a value is a constant of float matrices with up to `most_bytes` bytes."""
    made, shape = defining_op(value), shape_of(value)
    if made is None or made.name != "arith.constant" or 1 in shape[-2:]:
        return False
    is_small = most_bytes is None or (byte_size(shape, element_type_of(value)) or 0) <= most_bytes
    return is_small and isinstance(element_type_of(value), ir.FloatType)


def store_transposed(right: ir.Value) -> None:
    """Stores a constant of matrices in column-major order."""
    *batch, rows, columns = shape = shape_of(right)
    made = defining_op(right)
    assert made is not None
    read, elements = readers(right), stored_elements(right)
    with ir.InsertionPoint(made), made.location:
        swapped = elements.swapaxes(-1, -2)
        stored = build_constant(swapped, element_type_of(right), "transposed")
        strides = row_major_strides((*batch, columns, rows))
        strides = (*strides[:-2], 1, rows)
        seen = make_window(stored, StridedView(shape, strides))
    for op in read:
        for number, operand in enumerate(op.operands):
            if operand == right:
                op.operands[number] = seen
