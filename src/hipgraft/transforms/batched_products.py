"""Joins products of one matrix with constants, as for q, k and v, to a product with all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hipgraft.codegen.products import MATRIX_ROWS, few_rows
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.ir.element_types import bit_width, byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.partition.kindred import PRODUCT
from hipgraft.transforms.recognition.constants import (
    Array,
    build_constant,
    constant_array,
    is_float_constant,
)
from hipgraft.transforms.recognition.values import make_window, mode_of, readers, window

_CONTRACTIONS = ("hipdnn.matmul", "hipdnn.sdpa", "hipdnn.conv_fprop")

# Limit on the ops visited in the search for one that combines products.
_MOST_OPS = 64

_WAIT = 1
"""The most contractions between two products, so that results do not occupy memory for long."""


@dataclass(frozen=True)
class Member:
    """A product of a matrix with a constant, and a constant that is added to it.

    Attributes:
        op: the product [M, N].
        result: the product, or its sum with the bias.
        bias: the bias, if there is one; it has one element per column.
    """

    op: ir.Operation
    result: ir.Value
    bias: ir.Value | None

    @property
    def columns(self) -> int:
        """The number of columns, N."""
        return shape_of(self.result)[-1]

    @property
    def rows(self) -> int:
        """The number of rows, M."""
        return shape_of(self.result)[0]

    @property
    def form(self) -> tuple[object, ...]:
        """The properties that all joined products have in common."""
        left, right = self.op.operands
        kinds = element_type_of(right), element_type_of(self.result)
        columns = 0 if self.rows == 1 else self.columns
        return (left, columns, *kinds, *attributes_of(self.op).items())

    @property
    def is_viewed(self) -> bool:
        """Whether only views read the result: then no op could share the product's kernel."""
        found = readers(self.result)
        return bool(found) and all(reader.name == hipdnn.ViewOp.OP_NAME for reader in found)


def member_of(op: ir.Operation) -> Member | None:
    """Returns the product `op` with its bias; None if it may not be joined."""
    left, right = (shape_of(value) for value in list(op.operands)[:2])
    if len(left) != 2 or len(right) != 2 or (left[0] > 1 and left[0] % MATRIX_ROWS == 0):
        return None
    if not is_float_constant(op.operands[1]):
        return None
    result, bias = op.results[0], None
    found = readers(result)
    if len(found) == 1 and mode_of(found[0]) == "add" and found[0].results[0].type == result.type:
        others = [value for value in found[0].operands if value != result]
        if len(others) == 1 and _is_bias(others[0], right[1]):
            result, bias = found[0].results[0], others[0]
    return Member(op, result, bias)


def joinable(block: ir.Block, most_bytes: int) -> Iterator[list[Member]]:
    """Yields lists of two or more products that can be joined.

    Args:
        block: block of a function at stage `hipdnn-ops`.
        most_bytes: largest constant to make.
    """
    open_groups: dict[tuple[object, ...], tuple[list[Member], int]] = {}
    contractions = 0
    for op in [op.operation for op in block.operations]:
        contractions += op.name in _CONTRACTIONS
        member = member_of(op) if op.name == PRODUCT else None
        if member is None:
            continue
        group, last = open_groups.get(member.form, ([], 0))
        if group and contractions - last > _WAIT + 1:
            yield from _checked(group, most_bytes)
            group = []
        open_groups[member.form] = ([*group, member], contractions)
    for group, _ in open_groups.values():
        yield from _checked(group, most_bytes)


def _checked(group: Sequence[Member], most_bytes: int) -> Iterator[list[Member]]:
    kept = [each for each in group if each.is_viewed]
    rights = [each.op.operands[1] for each in kept]
    size = sum(map(_nbytes, rights))
    biases = {element_type_of(each.bias) for each in kept if each.bias is not None}
    if len(kept) < 2 or size > most_bytes or len(biases) > 1:
        return
    few = few_rows(bit_width(element_of(rights[0])))
    if kept[0].rows > few or not _are_combined(kept):
        yield kept


def _are_combined(members: Sequence[Member]) -> bool:
    """Whether elementwise ops combine all products, so that they share one graph instead."""
    first, *others = [_computed_from(readers(each.result)) for each in members]
    return bool(first.intersection(*others))


def _computed_from(ops: Sequence[ir.Operation]) -> set[ir.Operation]:
    """Returns the elementwise ops among some ops, and those that read these, also through views."""
    found, waiting, seen = set[ir.Operation](), list(ops), 0
    while waiting and seen < _MOST_OPS:
        op, seen = waiting.pop(0), seen + 1
        if op.name == hipdnn.PointwiseOp.OP_NAME and op not in found:
            found.add(op)
        elif op.name != hipdnn.ViewOp.OP_NAME:
            continue
        waiting += readers(op.results[0])
    return found


def join(members: Sequence[Member]) -> None:
    """Replaces products by one product, whose result concatenates their results.

    The columns of one row are joined; several rows are multiplied by a batch of constants.
    """
    first = members[0]
    axis = 1 if first.rows == 1 else 0
    with ir.InsertionPoint(first.op), first.op.location:
        right = _joined([_elements(each.op.operands[1]) for each in members], axis)
        right = build_constant(right, element_type_of(first.op.operands[1]), "joined")
        shape = (*shape_of(right)[:-2], first.rows, shape_of(right)[-1])
        kind = ir.RankedTensorType.get(shape, element_type_of(first.result))
        left = first.op.operands[0] if axis == 1 else _as_batch(first.op.operands[0])
        product = ir.Operation.create(
            PRODUCT, results=[kind], operands=[left, right], attributes=attributes_of(first.op)
        ).result
        biases = [each.bias for each in members if each.bias is not None]
        if biases:
            element = element_type_of(biases[0])
            rows = [_bias_row(each, numpy_dtype(element)) for each in members]
            bias = build_constant(_joined(rows, axis), element, "joined")
            product = hipdnn.pointwise(product, bias, mode="add", result_type=kind)
    start = 0
    for each in members:
        for reader in readers(each.result):
            seen = window(reader.results[0])[1]
            moved = StridedView(seen.shape, seen.strides, seen.offset + start)
            with ir.InsertionPoint(reader):
                view = make_window(product, moved, reader.location)
            reader.results[0].replace_all_uses_with(view)
        start += each.rows * each.columns


def _joined(matrices: Sequence[Array], axis: int) -> Array:
    return np.concatenate(matrices, 1) if axis == 1 else np.stack(matrices)


def _as_batch(value: ir.Value) -> ir.Value:
    """Views a matrix as a batch of one matrix."""
    base, view = window(value)
    batch = StridedView((1, *view.shape), (0, *view.strides), view.offset)
    if view.covers(shape_of(base)):
        batch = StridedView.of_shape(batch.shape)
    return make_window(base, batch)


def _nbytes(value: ir.Value) -> int:
    return byte_size(shape_of(value), element_type_of(value)) or 0


def _is_bias(value: ir.Value, columns: int) -> bool:
    """Whether a value is a constant with an element for each column."""
    shape = shape_of(value)
    is_row = shape[-1:] == (columns,) and prod(shape) == columns and len(shape) <= 2
    return is_row and is_float_constant(value)


def _elements(value: ir.Value) -> Array:
    elements = constant_array(value)
    assert elements is not None  # callers have checked this
    return elements


def _bias_row(member: Member, kind: np.dtype[Any]) -> Array:
    if member.bias is None:
        return np.zeros((1, member.columns), kind)
    return _elements(member.bias).reshape(1, -1)
