"""Splits products by columns, as of an LSTM's gates, so that one kernel combines the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.products import few_rows
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import attributes_of
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_of, element_type_of, shape_of
from hipgraft.transforms.column_storage import is_stored_by_rows, store_transposed
from hipgraft.transforms.partition.kindred import PRODUCT, why_alone
from hipgraft.transforms.partition.rules import MOST_PRODUCTS
from hipgraft.transforms.recognition.values import make_window, mode_of, readers, window


@dataclass(frozen=True)
class PartedProduct:
    """A product [M, N] whose columns elementwise ops read in equal parts.

    Attributes:
        op: the product.
        chain: the elementwise ops between the product and the views, in order.
        views: the views of parts, each with the number of its part.
        count: the number of parts.
    """

    op: ir.Operation
    chain: tuple[ir.Operation, ...]
    views: tuple[tuple[int, ir.Operation], ...]
    count: int


def parted_products(block: ir.Block, most_bytes: int) -> list[PartedProduct]:
    """Returns the products whose parts one kernel can compute and combine.

    With few rows, the columns of the right factor must be contiguous, or it must be a constant that
    only such products read. With more rows, its elements must have 16 bits.

    Args:
        block: block of a function at stage `hipdnn-ops`.
        most_bytes: largest constant to store column by column.
    """
    ops = [op.operation for op in block.operations if op.operation.name == PRODUCT]
    found = [each for op in ops if (each := _parted(op)) is not None]
    parted = [each.op for each in found]
    return [each for each in found if _is_readable(each.op, parted, most_bytes)]


def split(product: PartedProduct) -> None:
    """Replaces a product by one for each part of its columns."""
    left, right = list(product.op.operands)
    rows, columns = shape_of(product.op.results[0])
    if rows <= _most_rows(right) and is_stored_by_rows(right):
        store_transposed(right)
        right = product.op.operands[1]
    width = columns // product.count
    parts: list[ir.Value] = []
    for number in range(product.count):
        with ir.InsertionPoint((product.op, *product.chain)[-1]):
            part = _clone(product.op, [left, _columns(right, number, width)], width)
            before = product.op.results[0]
            for op in product.chain:
                operands = [
                    part if value == before else _columns(value, number, width)
                    for value in op.operands
                ]
                part, before = _clone(op, operands, width), op.results[0]
            parts.append(part)
    for number, view in product.views:
        with ir.InsertionPoint(view):
            seen = _within_part(window(view.results[0])[1], columns, width)
            made = make_window(parts[number], seen, view.location)
        view.results[0].replace_all_uses_with(made)


def _parted(op: ir.Operation) -> PartedProduct | None:
    """Returns a product with its parts; None if elementwise ops do not read it in parts."""
    shapes = [shape_of(value) for value in (*op.operands, *op.results)]
    if any(len(shape) != 2 for shape in shapes) or len(shapes) != 3:
        return None
    shape, value, chain = shapes[-1], op.results[0], list[ir.Operation]()
    while (reader := _only_pointwise(value)) is not None:
        if not _is_by_column(reader, shape):
            return None
        chain.append(reader)
        value = reader.results[0]
    views = readers(value)
    widths = {_width(view, shape[1]) for view in views}
    width = widths.pop() if len(widths) == 1 else 0
    count = shape[1] // width if width else 0
    if not 1 < count <= MOST_PRODUCTS:
        return None
    numbered = [(window(view.results[0])[1].offset % shape[1] // width, view) for view in views]
    parts = [[view for number, view in numbered if number == part] for part in range(count)]
    if not all(map(_are_elementwise, parts)):
        return None
    return PartedProduct(op, tuple(chain), tuple(numbered), count)


def _only_pointwise(value: ir.Value) -> ir.Operation | None:
    """Returns the elementwise op that is a value's only reader; None if there is no such op."""
    found = readers(value)
    return found[0] if len(found) == 1 and mode_of(found[0]) is not None else None


def _is_by_column(op: ir.Operation, shape: tuple[int, ...]) -> bool:
    """Whether an elementwise op computes each column from the same column of its operands."""
    if op.name != hipdnn.PointwiseOp.OP_NAME or mode_of(op) == "gen_index":
        return False
    is_matrix = all(len(shape_of(value)) == 2 for value in op.operands)
    return is_matrix and shape_of(op.results[0]) == shape


def _width(view: ir.Operation, columns: int) -> int:
    """Returns how many whole columns a view of a row-major matrix shows; 0 for other views."""
    if view.name != hipdnn.ViewOp.OP_NAME:
        return 0
    seen = window(view.results[0])[1]
    steps = [
        (extent, step) for extent, step in zip(seen.shape, seen.strides, strict=True) if extent > 1
    ]
    inner = [extent for extent, step in steps if step == 1]
    is_of_rows = all(step % columns == 0 for _, step in steps if step != 1)
    is_at_part = len(inner) == 1 and seen.offset % inner[0] == 0
    return inner[0] if is_of_rows and is_at_part and columns % inner[0] == 0 else 0


def _within_part(seen: StridedView, columns: int, width: int) -> StridedView:
    """Converts a window on all columns to a window on the part that contains it."""
    strides = tuple(step // columns * width if step >= columns else step for step in seen.strides)
    return StridedView(seen.shape, strides, seen.offset // columns * width)


def _are_elementwise(views: Sequence[ir.Operation]) -> bool:
    """Whether only elementwise ops read the views' elements, without repeating them."""
    shown = [(view.results[0], op) for view in views for op in readers(view.results[0])]
    return bool(shown) and all(
        op.name == hipdnn.PointwiseOp.OP_NAME and shape_of(op.results[0]) == shape_of(value)
        for value, op in shown
    )


def _is_readable(op: ir.Operation, parted: Sequence[ir.Operation], most_bytes: int) -> bool:
    """Whether one kernel multiplies parts of the columns of a product's right factor."""
    right, rows = op.operands[1], shape_of(op.results[0])[0]
    is_few = rows <= _most_rows(right)
    if is_few and is_stored_by_rows(right, most_bytes):
        return all(reader in parted for reader in readers(right))
    is_fast = is_few or bit_width(element_of(right)) == 16
    return is_fast and why_alone(op) is None


def _most_rows(right: ir.Value) -> int:
    return few_rows(bit_width(element_of(right)))


def _columns(value: ir.Value, number: int, width: int) -> ir.Value:
    """Returns one part of a matrix's columns, or its only column."""
    base, view = window(value)
    if view.shape[1] == 1:
        return value
    return make_window(base, view.slice(1, number * width, (number + 1) * width))


def _clone(op: ir.Operation, operands: Sequence[ir.Value], columns: int) -> ir.Value:
    result = op.results[0]
    kind = ir.RankedTensorType.get((shape_of(result)[0], columns), element_type_of(result))
    with op.location:
        return ir.Operation.create(
            op.name, results=[kind], operands=list(operands), attributes=attributes_of(op)
        ).result
