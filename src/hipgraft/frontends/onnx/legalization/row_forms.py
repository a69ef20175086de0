"""Rewrites operators that order, cut, index or suppress the rows that `NonZero` selects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, TensorProto

from hipgraft.frontends.onnx.legalization.row_access import neutral
from hipgraft.frontends.onnx.legalization.row_columns import write_columns
from hipgraft.frontends.onnx.legalization.row_extents import LARGEST_EXTENT
from hipgraft.frontends.onnx.legalization.row_orders import RowOrders, along
from hipgraft.frontends.onnx.legalization.row_values import DEPENDS, Extents, Rows, Selection
from hipgraft.frontends.onnx.legalization.suppression import suppressed
from hipgraft.frontends.onnx.legalization.writer import Refused, Writer, axis_of


@dataclass
class OrderedForms:
    """Rewrites nodes of forms that need the order of rows.

    Args:
        orders: what writes the orders.
        identities: numbers of values; those that are computed in the same way have the same.
        keep: records a value.
        most_read: returns how many rows of a value are read at most; None if that is unknown.
        makers: the node that makes each value.
        numbers: the selection of each value that holds the numbers of its rows.
    """

    orders: RowOrders
    identities: Mapping[str, int]
    keep: Callable[[str, Rows | Extents], None]
    most_read: Callable[[str], int | None]
    makers: Mapping[str, NodeProto]
    numbers: dict[str, Selection] = field(default_factory=dict[str, Selection])

    def rewrite(self, writer: Writer, found: Mapping[int, Rows | Extents]) -> bool:
        """Rewrites a node with operands that are rows or extents, if it is of such a form.

        Returns:
            Whether it is.

        Raises:
            Refused: the form is not supported.
        """
        if found and all(isinstance(one, Extents) for one in found.values()):
            form = _OF_EXTENTS.get(writer.node.op_type)
            return form is not None and form(self, writer, found)
        first, form = found.get(0), _FORMS.get(writer.node.op_type)
        return form is not None and isinstance(first, Rows) and form(self, writer, first, found)

    def result(self, writer: Writer, value: str, like: Rows, selection: Selection) -> None:
        """Writes a result that is like other rows, but of another selection."""
        shape = list(like.shape)
        shape[like.axis] = selection.rows
        element = writer.element(writer.node.input[0])
        self.keep_rows(writer, value, selection, shape, element)

    def keep_rows(
        self,
        writer: Writer,
        value: str,
        selection: Selection,
        shape: list[int],
        element: int,
        index: int = 0,
    ) -> None:
        """Writes a result of rows for all positions."""
        name = writer.node.output[index]
        if name:
            writer.result(value, index)
            writer.graph.elements[name] = element
            self.keep(name, Rows(name, selection, tuple(shape), selection.coordinates))

    def alias(self, writer: Writer, one: Rows) -> None:
        """Makes the result the same rows."""
        name = writer.node.output[0]
        writer.graph.elements[name] = writer.element(writer.node.input[0])
        self.keep(name, one)


_Found = Mapping[int, Rows | Extents]


def _least(forms: OrderedForms, writer: Writer, found: _Found) -> bool:
    """Keeps the minimum of a number of rows and of constants, as of `min(k, scores.shape[0])`."""
    node, numbers = writer.node, list[int]()
    for index, name in enumerate(node.input):
        one = found.get(index)
        array = one.array if isinstance(one, Extents) else writer.graph.constants.get(name)
        if array is None or (node.op_type == "Min" and array.size != 1):
            return False
        numbers += [int(number) for number in array.reshape(-1)]
    selections = {one.selection for one in found.values()}
    selection = selections.pop()
    known = [number for number in numbers if number != selection.rows]
    if selections or not known or any(not 0 < number < LARGEST_EXTENT for number in known):
        return False
    if min(known) < selection.count(selection.coordinates):
        selection = forms.orders.prefix(writer, selection, 0, min(known))
    rank = max(np.ndim(one.array) for one in found.values() if isinstance(one, Extents))
    if node.op_type == "ReduceMin":
        rank = int(writer.attribute("keepdims", 1))
    forms.keep(node.output[0], Extents(selection, np.full([1] * rank, selection.rows, np.int64)))
    return True


def _range(forms: OrderedForms, writer: Writer, found: _Found) -> bool:
    """Keeps the numbers of all rows."""
    start, _, step = (writer.graph.constants.get(name) for name in writer.node.input)
    if list(found) != [1] or start is None or step is None or start.any() or step != 1:
        return False
    selection = found[1].selection
    if (found[1].array != selection.rows).any():
        return False
    element = writer.element(writer.node.input[0])
    numbers = writer.cast(forms.orders.numbers(writer, selection), element)
    forms.keep_rows(writer, numbers, selection, [selection.rows], element)
    forms.numbers[writer.node.output[0]] = selection
    return True


def _concat(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    if len(writer.node.input) == 1:
        forms.alias(writer, one)
    return len(writer.node.input) == 1


def _non_zero(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    """Selects some of the rows, or of their elements: coordinates are row numbers, and indices."""
    selection = forms.orders.chosen(writer, one, forms.identities[writer.node.input[0]])
    shape, rank = list(selection.extents), len(selection.extents)
    parts: list[str] = []
    for axis, extent in enumerate(shape):
        line = [extent if n == axis else 1 for n in range(rank)]
        if axis == one.axis:
            part = writer.reshape(forms.orders.numbers(writer, one.selection), line)
        else:
            part = writer.const(np.arange(extent).reshape(line))
        whole = writer.op("Expand", part, writer.const(shape, np.int64))
        parts.append(writer.reshape(whole, [1, math.prod(shape)]))
    table = writer.op("Concat", *parts, axis=0)
    forms.keep_rows(writer, table, selection, [rank, selection.rows], TensorProto.INT64)
    return True


def _compress(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    mask, own = found.get(1), one.selection
    axis = writer.attribute("axis", 0 if len(one.shape) == 1 else None)
    is_along = axis is not None and axis % len(one.shape) == one.axis
    if not isinstance(mask, Rows) or mask.selection is not own or not is_along:
        raise Refused(f"combines rows{DEPENDS}")
    selection = forms.orders.chosen(writer, mask, forms.identities[writer.node.input[1]])
    forms.result(writer, one.write(writer, own.coordinates), one, selection)
    return True


def _gather(forms: OrderedForms, writer: Writer, data: Rows, found: _Found) -> bool:
    """Reads rows by their numbers, which may be rows of another selection."""
    if axis_of(writer, 0, len(data.shape)) != data.axis:
        return False
    index = found.get(1)
    if isinstance(index, Extents):
        raise Refused(f"computes with a number of rows{DEPENDS}")
    name = writer.node.input[1]
    at = index.write(writer, index.selection.coordinates) if index else name
    at = forms.orders.index(writer, at, data.selection)
    value = writer.op("Gather", forms.orders.ordered(writer, data), at, axis=data.axis)
    if index is None:
        writer.result(value)
        return True
    shape = [*data.shape[: data.axis], *index.shape, *data.shape[data.axis + 1 :]]
    element = writer.element(writer.node.input[0])
    forms.keep_rows(writer, value, index.selection, shape, element)
    return True


def _gather_points(forms: OrderedForms, writer: Writer, data: Rows, found: _Found) -> bool:
    index, selection = found.get(1), data.selection
    if data.axis or not isinstance(index, Rows) or writer.attribute("batch_dims", 0):
        return False
    depth = index.shape[-1]
    if index.axis == len(index.shape) - 1:
        raise Refused(f"combines rows{DEPENDS}")
    extents = np.array(selection.sized(data.shape[:depth], selection.coordinates), np.int64)
    at = writer.cast(index.write(writer, index.selection.coordinates), TensorProto.INT64)
    # Numbers that count from the end count from the last row that there is.
    count = writer.reshape(forms.orders.count(writer, selection), [1])
    ends = writer.op("Concat", count, writer.const(extents[1:]), axis=0) if depth > 1 else count
    is_negative = writer.op("Less", at, writer.like_int(0))
    at = writer.op("Where", is_negative, writer.op("Add", at, ends), at)
    at = writer.op("Min", writer.op("Max", at, writer.like_int(0)), writer.const(extents - 1))
    value = writer.op("GatherND", forms.orders.ordered(writer, data), at)
    shape = [*index.shape[:-1], *data.shape[depth:]]
    element = writer.element(writer.node.input[0])
    forms.keep_rows(writer, value, index.selection, shape, element)
    return True


def _top(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    """Sorts rows. What follows them gets the last value, and has later positions if that occurs."""
    if axis_of(writer, -1, len(one.shape)) != one.axis:
        return False
    size, element = found.get(1), writer.element(writer.node.input[0])
    if isinstance(size, Rows):
        raise Refused(f"combines rows{DEPENDS}")
    last = neutral("max" if writer.attribute("largest", 1) else "min", element)
    values = forms.orders.filled(writer, one, writer.const(last))
    chosen = size.selection if size else None
    if size and size.array.reshape(-1).tolist() != [size.selection.rows]:
        raise Refused(f"computes with a number of rows{DEPENDS}")
    count = chosen.count(chosen.coordinates) if chosen else writer.ints(1)[0]
    if count > one.selection.count(one.selection.coordinates):
        raise Refused(f"takes more rows than there are{DEPENDS}")
    attributes = writer.attributes() | {"axis": one.axis}
    sized = writer.const([count], np.int64)
    results = writer.ops("TopK", values, sized, outputs=2, **attributes)
    shape = list(one.shape)
    shape[one.axis] = chosen.rows if chosen else count
    for index, result in enumerate(results[: len(writer.node.output)]):
        kind = TensorProto.INT64 if index else element
        if chosen:
            placed = forms.orders.placed(writer, result, chosen, one.axis)
            forms.keep_rows(writer, placed, chosen, shape, kind, index)
        else:
            writer.result(result, index)
    return True


def _cumulate(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    axis = writer.graph.constants.get(writer.node.input[1])
    if axis is None or int(axis.reshape(-1)[0]) % len(one.shape) != one.axis:
        return False
    op, element = writer.node.op_type, writer.element(writer.node.input[0])
    unit = writer.const(neutral("mul" if op == "CumProd" else "add", element))
    rows = forms.orders.filled(writer, one, unit)
    sums = writer.op(op, rows, writer.node.input[1], **writer.attributes())
    sums = forms.orders.placed(writer, sums, one.selection, one.axis)
    forms.result(writer, sums, one, one.selection)
    return True


def _slice(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    """Cuts rows between constants."""
    node, constants = writer.node, writer.graph.constants
    if len(found) > 1 or any(name not in constants for name in node.input[1:] if name):
        return False
    starts, ends = writer.ints(1), writer.ints(2)
    axes = writer.ints(3) if writer.has_input(3) else list(range(len(starts)))
    steps = writer.ints(4) if writer.has_input(4) else [1] * len(starts)
    if [axis % len(one.shape) for axis in axes] != [one.axis] or steps != [1]:
        return False
    (start,), (end,) = starts, ends
    if start < 0 or end < 0:
        return False
    if not start and end >= one.selection.count(one.selection.coordinates):
        forms.alias(writer, one)
        return True
    selection = forms.orders.prefix(writer, one.selection, start, end - start)
    size = selection.count(selection.coordinates)
    cut = writer.slice(forms.orders.ordered(writer, one), one.axis, start, start + size)
    forms.result(writer, cut, one, selection)
    return True


def _reshape(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    """Makes several rows of each row."""
    target = writer.graph.constants.get(writer.node.input[1])
    if len(found) > 1 or target is None or one.axis or target.reshape(-1)[:1].tolist() != [-1]:
        return False
    rest = [int(extent) for extent in target.reshape(-1)[1:]]
    own, inner = math.prod(one.shape[1:]), math.prod(rest)
    if inner < 1 or own % inner or own == inner:
        return False
    merged = forms.orders.merged(writer, one.selection, own // inner)
    value = one.write(writer, one.selection.coordinates)
    value = writer.reshape(value, [merged.count(merged.coordinates), *rest])
    element = writer.element(writer.node.input[0])
    forms.keep_rows(writer, value, merged, [merged.rows, *rest], element)
    return True


def _pad(forms: OrderedForms, writer: Writer, one: Rows, found: _Found) -> bool:
    """Adds rows: some, or as many as `pad(rows, (0, 0, 0, k - rows.shape[0]))` adds."""
    amounts, rank = found.get(1), len(one.shape)
    known = writer.graph.constants.get(writer.node.input[1])
    numbers = amounts.array if isinstance(amounts, Extents) else known
    if numbers is None or writer.attribute("mode", "constant") != "constant":
        return False
    axes = [axis % rank for axis in writer.ints(3)] if writer.has_input(3) else list(range(rank))
    pairs = [(int(first), int(last)) for first, last in numbers.reshape(2, -1).T]
    if any(any(pair) for axis, pair in zip(axes, pairs, strict=True) if axis != one.axis):
        return False
    before, after = dict(zip(axes, pairs, strict=True)).get(one.axis, (0, 0))
    value = writer.node.input[2] if writer.has_input(2) else writer.zero(writer.node.input[0])
    value = writer.reshape(value, [])
    whole = forms.orders.filled(writer, one, value)
    if amounts is None:
        if min(before, after) < 0:
            return False
        selection = forms.orders.extended(writer, one.selection, before + after)
        first, last = ([n * (axis == one.axis) for axis in range(rank)] for n in (before, after))
        padded = writer.pad(whole, first, last, value)
        forms.result(writer, padded, one, selection)
        return True
    rows = forms.orders.in_rows_of(one.selection, amounts.selection)
    length = rows + after if rows else 0
    if before or not 0 < length < LARGEST_EXTENT:
        raise Refused(f"pads rows{DEPENDS}, to a number that depends on values")
    size = one.selection.count(one.selection.coordinates)
    if size < length:
        more = [(length - size) * (axis == one.axis) for axis in range(rank)]
        whole = writer.pad(whole, [0] * rank, more, value)
    writer.result(writer.slice(whole, one.axis, 0, length) if size > length else whole)
    return True


def _scatter(forms: OrderedForms, writer: Writer, data: Rows, found: _Found) -> bool:
    """Writes rows into other rows, by row numbers."""
    index, updates, selection = found.get(1), found.get(2), data.selection
    axis = axis_of(writer, 0, len(data.shape))
    if not isinstance(index, Rows) or not isinstance(updates, Rows) or axis != data.axis:
        return False
    chosen, size = index.selection, selection.count(selection.coordinates)
    if chosen is selection:
        return False
    if chosen is not updates.selection or {index.axis, updates.axis} != {axis}:
        raise Refused(f"combines rows{DEPENDS}")
    at = index.write(writer, chosen.coordinates)
    at = forms.orders.index(writer, at, selection)
    at = writer.op("Where", along(writer, chosen.mask, index), at, writer.like_int(size))
    after = [int(n == axis) for n in range(len(data.shape))]
    longer = writer.pad(forms.orders.ordered(writer, data), [0] * len(after), after)
    values = updates.write(writer, chosen.coordinates)
    value = writer.op("ScatterElements", longer, at, values, **writer.attributes())
    value = writer.slice(value, axis, 0, size)
    value = forms.orders.placed(writer, value, selection, axis)
    element = writer.element(writer.node.input[2])
    forms.keep_rows(writer, value, selection, list(data.shape), element)
    return True


def _write_columns(forms: OrderedForms, writer: Writer, data: Rows, found: _Found) -> bool:
    """Writes columns of all rows."""
    written = write_columns(writer, data, found, forms.numbers, forms.makers)
    if written:
        forms.keep(written.name, written)
    return written is not None


def _suppress(forms: OrderedForms, writer: Writer, boxes: Rows, found: _Found) -> bool:
    """Suppresses boxes that are rows; the result has the numbers of the others."""
    scores, name = found.get(1), writer.node.output[0]
    if not isinstance(scores, Rows) or boxes.selection is not scores.selection:
        raise Refused(f"combines rows{DEPENDS}")
    if boxes.axis != 1 or scores.axis != 2:
        raise Refused(f"combines rows{DEPENDS}")
    orders, selection = forms.orders, scores.selection
    shape = selection.sized(scores.shape, selection.coordinates)
    # Boxes of several classes are ordered by class, not by score.
    is_one = math.prod(shape[:2]) == 1
    limit = forms.most_read(name) if is_one else None
    table, mask, rows = suppressed(
        writer,
        orders.ordered(writer, boxes),
        orders.ordered(writer, scores),
        shape,
        orders.exists(writer, selection),
        limit,
    )
    if not mask:
        raise Refused("that selects no boxes is not supported")
    chosen = orders.selection(selection, (rows,), mask, is_prefix=is_one)
    forms.keep_rows(writer, table, chosen, [chosen.rows, 3], TensorProto.INT64)
    return True


_OF_EXTENTS = {"Min": _least, "Range": _range, "ReduceMin": _least}
_FORMS = {
    "Compress": _compress,
    "Concat": _concat,
    "CumProd": _cumulate,
    "CumSum": _cumulate,
    "Gather": _gather,
    "GatherND": _gather_points,
    "NonMaxSuppression": _suppress,
    "NonZero": _non_zero,
    "Pad": _pad,
    "Reshape": _reshape,
    "ScatterElements": _scatter,
    "ScatterND": _write_columns,
    "Slice": _slice,
    "TopK": _top,
}
