"""Registers alternatives to the default lowering of matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, accumulator_type, alternative
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.emit.windows import cropped
from hipgraft.codegen.lowering.matmul.matmul import multiply, operands_of, split_product
from hipgraft.codegen.products import MATRIX_ROWS
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import BlockScaleDequantizeOp, GraphOp, MatmulOp, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.tensors import element_of, shape_of

_PARTS = 8
_BY_ELEMENT = (PointwiseOp.OP_NAME, BlockScaleDequantizeOp.OP_NAME)
_LONGEST_PART = 512


def _rows(op: MatmulOp) -> int:
    """Returns the rows of all left matrices if these share one right matrix, else 0."""
    a, b = shape_of(op.a), shape_of(op.b)
    return math.prod(a[:-1]) if math.prod(b[:-2]) == 1 else 0


def _has_few_rows(op: MatmulOp, _: Target) -> bool:
    depth, columns = shape_of(op.b)[-2:]
    return 1 < _rows(op) < MATRIX_ROWS <= min(depth, columns) and not _reads_columns(op)


def _reads_columns(op: MatmulOp) -> bool:
    """Whether the columns of the right matrix are contiguous, which suits sums of few rows."""
    container, matrix = op.operation.parent, _stored(op.b)
    if matrix is None or container is None:
        return False
    layouts = GraphOp(container.operation).arg_strides or []
    layout = layouts[matrix.arg_number] if layouts else None
    return layout is not None and layout[-2] == 1


def _stored(value: ir.Value) -> ir.BlockArgument | None:
    """Returns the operand of a graph from which a value is computed element by element."""
    op = defining_op(value)
    while op is not None:
        same = [one for one in op.operands if shape_of(one) == shape_of(value)]
        if op.name not in _BY_ELEMENT or not same:
            return None
        value = same[0]
        op = defining_op(value)
    return ir.BlockArgument(value)


def _can_split(op: MatmulOp, _: Target) -> bool:
    a, b, c = (shape_of(value) for value in (op.a, op.b, op.c))
    is_single = math.prod(a[:-2]) == math.prod(b[:-2]) == math.prod(c[:-2]) == 1
    return is_single and a[-1] % _PARTS == 0 and a[-1] // _PARTS >= _LONGEST_PART


@alternative(MatmulOp, "padded-rows", _has_few_rows)
def lower_padded_rows(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Pads the rows to the number that a matrix instruction has, and crops the result."""
    emitter = lowering.emitter
    a, b = operands_of(op, lowering)
    rows, (depth, columns) = _rows(op), b.shape[-2:]
    tall = emitter.reshape(emitter.logical(a), (rows, depth))
    # `padded` does not pad the two outermost dims.
    tall, b = (_of_rank(value, max(b.rank, 4)) for value in (tall, b))
    outer = [0] * (b.rank - 4)
    # Without barriers IREE would cancel the padding against the crop.
    tall = emitter.materialized(
        padded(emitter, tall, [*outer, 0, 0], [*outer, MATRIX_ROWS - rows, 0])
    )
    shape = (*tall.shape[:-1], columns)
    accumulator = accumulator_type(op, a.element, b.element)
    product = emitter.materialized(multiply(emitter, tall, b, shape, accumulator))
    seen = cropped(emitter, product, [*outer, 0, 0], [*outer, rows - MATRIX_ROWS, 0])
    seen = emitter.reshape(emitter.reshape(seen, (rows, columns)), shape_of(op.c))
    return [emitter.cast(seen, element_of(op.c))]


@alternative(MatmulOp, "swapped", lambda _, __: True)
def lower_swapped(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies the transposed matrices in the other order, which changes IREE's tiles."""
    a, b = (_transposed(value) for value in operands_of(op, lowering))
    *batch, rows, columns = shape_of(op.c)
    accumulator = accumulator_type(op, a.element, b.element)
    product = multiply(lowering.emitter, b, a, (*batch, columns, rows), accumulator)
    return [lowering.emitter.cast(_transposed(product), element_of(op.c))]


@alternative(MatmulOp, "split-k", _can_split)
def lower_split(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies parts of K as a batch and adds their products in the accumulator's type."""
    a, b = operands_of(op, lowering)
    total = split_product(op, lowering, a, b, _PARTS)
    return [lowering.emitter.cast(total, element_of(op.c))]


def _of_rank(value: Tensor, rank: int) -> Tensor:
    """Adds outer dims of extent 1 until the rank is `rank`."""
    while value.rank < rank:
        value = value.with_unit_dim(0)
    return value


def _transposed(value: Tensor) -> Tensor:
    """Swaps the matrix dims; the SSA value stays."""
    *batch, row, column = range(value.rank)
    return value.permuted((*batch, column, row))
