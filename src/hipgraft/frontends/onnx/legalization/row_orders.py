"""Rewrites operators that order, cut or index the rows that `NonZero` selects, and results of rows.

These need the row numbers. The rows of a selection are therefore moved to the front, in their
order, of a tensor that has a row for each position; what follows them is meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from onnx import NodeProto, TensorProto, helper

from hipgraft.frontends.onnx.legalization.row_access import neutral
from hipgraft.frontends.onnx.legalization.row_values import DEPENDS, Extents, Rows, Selection
from hipgraft.frontends.onnx.legalization.suppression import suppressed
from hipgraft.frontends.onnx.legalization.writer import Refused, Writer, axis_of

_INT64 = TensorProto.INT64
_Found = Rows | Extents


class RowOrders:
    """Writes values that depend on the order of rows; each is written once for a selection.

    Args:
        primes: primes that stand for numbers of rows.
        keep: records a value of rows.
        most_read: returns how many rows of a value are read at most, if that is known.
    """

    def __init__(
        self,
        primes: Iterator[int],
        keep: Callable[[str, _Found], None],
        most_read: Callable[[str], int | None],
    ):
        self._primes = primes
        self._keep = keep
        self._most_read = most_read
        self._counts: dict[Selection, str] = {}
        self._numbers: dict[Selection, str] = {}
        self._positions: dict[Selection, str] = {}
        self._prefixes: dict[tuple[Selection, int, int], Selection] = {}
        self._merged: dict[tuple[Selection, int], Selection] = {}

    def rewrite(self, writer: Writer, found: Mapping[int, _Found]) -> bool:
        """Rewrites a node that reads rows; returns whether it is of a form that is known here.

        Raises:
            Refused: the form is not supported.
        """
        first, second = found.get(0), found.get(1)
        op = writer.node.op_type
        if (
            op in ("ReduceMin", "Min")
            and found
            and all(isinstance(o, Extents) for o in found.values())
        ):
            return self._least(writer, found)
        if op == "Range" and list(found) == [1]:
            return self._range(writer, found[1])
        if op == "NonMaxSuppression" and isinstance(first, Rows) and isinstance(second, Rows):
            self._suppress(writer, first, second)
            return True
        if not isinstance(first, Rows):
            return False
        if op == "Concat" and len(writer.node.input) == 1:
            self._same(writer, first)
            return True
        if op == "ScatterElements" and len(found) == 3:
            self._write(writer, first, found)
            return True
        if op == "Reshape" and len(found) == 1:
            return self._merge(writer, first)
        if op == "Gather" and axis_of(writer, 0, len(first.shape)) == first.axis:
            self._take(writer, first, second)
            return True
        if op == "GatherND" and first.axis == 0 and isinstance(second, Rows):
            self._take_points(writer, first, second)
            return True
        if op == "TopK" and axis_of(writer, -1, len(first.shape)) == first.axis:
            self._top(writer, first, second)
            return True
        return op == "Slice" and len(found) == 1 and self._cut(writer, first)

    def selected(self, writer: Writer, one: Rows, selection: Selection) -> None:
        """Keeps the result of a `NonZero` of rows, whose selection is known."""
        count = one.selection.count(one.selection.coordinates)
        shape = list(selection.extents)
        rank, rows = len(shape), selection.count(selection.coordinates)
        parts: list[str] = []
        for axis, extent in enumerate(shape):
            line = [extent if n == axis else 1 for n in range(rank)]
            if axis == one.axis:
                part = writer.reshape(self.numbers(writer, one.selection), line)
            else:
                part = writer.const(np.arange(extent).reshape(line))
            whole = writer.op("Expand", part, writer.const(shape, np.int64))
            parts.append(writer.reshape(whole, [1, rows]))
        assert shape[one.axis] == count
        name = writer.node.output[0]
        writer.result(writer.op("Concat", *parts, axis=0))
        self._keep(name, Rows(name, selection, (rank, selection.rows), selection.coordinates))

    def chosen(self, writer: Writer, one: Rows) -> Selection:
        """Returns the selection of the true elements of rows."""
        own = one.selection
        extents = own.sized(one.shape, own.coordinates)
        mask = writer.cast(one.write(writer, own.coordinates), TensorProto.BOOL)
        line = [extent if axis == one.axis else 1 for axis, extent in enumerate(extents)]
        exists = writer.reshape(own.mask, line)
        return Selection(
            own.node, tuple(extents), next(self._primes), writer.op("And", mask, exists)
        )

    def count(self, writer: Writer, selection: Selection) -> str:
        """Writes the number of rows, a scalar."""
        if selection not in self._counts:
            flat = writer.cast(writer.reshape(selection.mask, [-1]), _INT64)
            self._counts[selection] = writer.reduce("ReduceSum", flat, [0], keepdims=False)
        return self._counts[selection]

    def numbers(self, writer: Writer, selection: Selection) -> str:
        """Writes the row numbers of all positions, [positions]; any valid one if not selected."""
        if selection not in self._numbers:
            flat = writer.cast(writer.reshape(selection.mask, [-1]), _INT64)
            sums = writer.op("CumSum", flat, writer.like_int(0))
            before = writer.op("Sub", sums, writer.like_int(1))
            self._numbers[selection] = writer.op("Max", before, writer.like_int(0))
        return self._numbers[selection]

    def ordered(self, writer: Writer, one: Rows) -> str:
        """Writes a value of all positions whose first rows are the selected ones."""
        selection = one.selection
        value = one.write(writer, selection.coordinates)
        if selection.is_prefix:
            return value
        if selection not in self._positions:
            count = selection.count(selection.coordinates)
            beyond = writer.like_int(count)
            mask = writer.reshape(selection.mask, [count])
            at = writer.op("Where", mask, self.numbers(writer, selection), beyond)
            zeros = writer.const(np.zeros(count + 1, np.int64))
            numbered = writer.const(np.arange(count))
            scattered = writer.op("ScatterElements", zeros, at, numbered, axis=0)
            self._positions[selection] = writer.slice(scattered, 0, 0, count)
        return writer.op("Gather", value, self._positions[selection], axis=one.axis)

    def result(self, writer: Writer, one: Rows) -> None:
        """Writes a result of the model; the rows after the selected ones are zero."""
        selection = one.selection
        size = selection.count(selection.coordinates)
        value = self.ordered(writer, one)
        line = [size if axis == one.axis else 1 for axis in range(len(one.shape))]
        exists = writer.reshape(self._exists(writer, selection), line)
        writer.result(writer.op("Where", exists, value, writer.zero(one.name or value)))

    def _exists(self, writer: Writer, selection: Selection) -> str:
        size = selection.count(selection.coordinates)
        return writer.op("Less", writer.const(np.arange(size)), self.count(writer, selection))

    def _prefix(self, writer: Writer, selection: Selection, start: int, most: int) -> Selection:
        """Returns the selection of at most `most` rows from `start`."""
        size = min(most, selection.count(selection.coordinates) - start)
        if size <= 0:
            raise Refused(f"cuts rows{DEPENDS}, to none")
        key = (selection, start, size)
        if key not in self._prefixes:
            left = writer.op("Sub", self.count(writer, selection), writer.like_int(start))
            mask = writer.op("Less", writer.const(np.arange(size)), left)
            self._prefixes[key] = Selection(
                selection.node, (size,), next(self._primes), mask, is_prefix=True
            )
        return self._prefixes[key]

    def _least(self, writer: Writer, found: Mapping[int, _Found]) -> bool:
        """Keeps the minimum of a number of rows and of constants."""
        node = writer.node
        numbers: list[int] = []
        for index, name in enumerate(node.input):
            one = found.get(index)
            array = one.array if isinstance(one, Extents) else writer.graph.constants.get(name)
            if array is None:
                return False
            numbers += [int(number) for number in array.reshape(-1)]
        (selection,) = {one.selection for one in found.values()}
        known = [number for number in numbers if number != selection.rows]
        if any(number >= min(selection.rows, 1 << 30) for number in known) or not known:
            return False
        if writer.node.op_type == "Min" and any(
            one.array.size != 1 for one in found.values() if isinstance(one, Extents)
        ):
            return False
        least = min(known)
        if least < selection.count(selection.coordinates):
            selection = self._prefix(writer, selection, 0, least)
        first = next(one for one in found.values() if isinstance(one, Extents))
        keeps = node.op_type == "Min" or bool(writer.attribute("keepdims", 1))
        shape = first.array.shape if node.op_type == "Min" else (1,) * keeps
        self._keep(node.output[0], Extents(selection, np.full(shape, selection.rows, np.int64)))
        return True

    def _index(self, writer: Writer, index: _Found | None, data: Selection) -> str:
        """Writes row numbers that are valid for all positions."""
        if isinstance(index, Extents):
            raise Refused(f"computes with a number of rows{DEPENDS}")
        name = writer.node.input[1]
        at = index.write(writer, index.selection.coordinates) if index else name
        at = writer.cast(at, _INT64)
        is_negative = writer.op("Less", at, writer.like_int(0))
        at = writer.op("Where", is_negative, writer.op("Add", at, self.count(writer, data)), at)
        last = writer.like_int(data.count(data.coordinates) - 1)
        return writer.op("Min", writer.op("Max", at, writer.like_int(0)), last)

    def _take(self, writer: Writer, data: Rows, index: _Found | None) -> None:
        at = self._index(writer, index, data.selection)
        name = writer.node.output[0]
        writer.result(writer.op("Gather", self.ordered(writer, data), at, axis=data.axis))
        writer.graph.elements[name] = writer.element(writer.node.input[0])
        if isinstance(index, Rows):
            shape = (*data.shape[: data.axis], *index.shape, *data.shape[data.axis + 1 :])
            self._keep(name, Rows(name, index.selection, shape, index.selection.coordinates))

    def _take_points(self, writer: Writer, data: Rows, index: Rows) -> None:
        depth = index.shape[-1]
        if writer.attribute("batch_dims", 0) or index.axis == len(index.shape) - 1:
            raise Refused(f"combines rows{DEPENDS}")
        selection = data.selection
        extents = selection.sized(data.shape[:depth], selection.coordinates)
        at = writer.cast(index.write(writer, index.selection.coordinates), _INT64)
        at = writer.op("Max", at, writer.like_int(0))
        at = writer.op("Min", at, writer.const(np.array(extents, np.int64) - 1))
        name = writer.node.output[0]
        writer.result(writer.op("GatherND", self.ordered(writer, data), at))
        writer.graph.elements[name] = writer.element(writer.node.input[0])
        shape = (*index.shape[:-1], *data.shape[depth:])
        self._keep(name, Rows(name, index.selection, shape, index.selection.coordinates))

    def _top(self, writer: Writer, one: Rows, size: _Found | None) -> None:
        """Sorts the rows; the others have the last value and, if it occurs, later positions."""
        node, selection = writer.node, one.selection
        element = writer.element(node.input[0])
        kind = "max" if writer.attribute("largest", 1) else "min"
        last = writer.const(neutral(kind, element))
        line = [1] * len(one.shape)
        line[one.axis] = selection.count(selection.coordinates)
        exists = writer.reshape(self._exists(writer, selection), line)
        values = writer.op("Where", exists, self.ordered(writer, one), last)
        if size is None:
            count = writer.ints(1)[0]
        elif isinstance(size, Extents):
            count = size.selection.count(size.selection.coordinates)
        else:
            raise Refused(f"computes with a number of rows{DEPENDS}")
        attributes = writer.attributes() | {"axis": one.axis}
        sized = writer.const([count], np.int64)
        results = writer.ops("TopK", values, sized, outputs=2, **attributes)
        for index, (name, result) in enumerate(zip(node.output, results, strict=False)):
            if not name:
                continue
            writer.result(result, index)
            writer.graph.elements[name] = _INT64 if index else element
            if isinstance(size, Extents):
                shape = list(one.shape)
                shape[one.axis] = size.selection.rows
                kept = Rows(name, size.selection, tuple(shape), size.selection.coordinates)
                self._keep(name, kept)

    def _cut(self, writer: Writer, one: Rows) -> bool:
        """Rewrites a slice of rows between constants."""
        node, constants = writer.node, writer.graph.constants
        if any(name not in constants for name in node.input[1:] if name):
            return False
        starts, ends = writer.ints(1), writer.ints(2)
        axes = writer.ints(3) if writer.has_input(3) else list(range(len(starts)))
        steps = writer.ints(4) if writer.has_input(4) else [1] * len(starts)
        axes = [axis % len(one.shape) for axis in axes]
        if one.axis not in axes or len(axes) != 1:
            return False
        (start, end, step), name = (starts[0], ends[0], steps[0]), node.output[0]
        if step != 1 or start < 0 or end < 0:
            return False
        if not start and end >= one.selection.count(one.selection.coordinates):
            self._same(writer, one)
            return True
        selection = self._prefix(writer, one.selection, start, end - start)
        size = selection.count(selection.coordinates)
        cut = writer.slice(self.ordered(writer, one), one.axis, start, start + size)
        writer.result(cut)
        writer.graph.elements[name] = writer.element(node.input[0])
        shape = list(one.shape)
        shape[one.axis] = selection.rows
        self._keep(name, Rows(name, selection, tuple(shape), selection.coordinates))
        return True

    def _range(self, writer: Writer, one: _Found) -> bool:
        """Keeps the numbers of all rows."""
        start, _, step = (writer.graph.constants.get(name) for name in writer.node.input)
        is_plain = start is not None and step is not None and not start.any() and (step == 1).all()
        selection, name = one.selection, writer.node.output[0]
        if not isinstance(one, Extents) or (one.array != selection.rows).any() or not is_plain:
            return False
        element = writer.element(writer.node.input[0])
        writer.result(writer.cast(self.numbers(writer, selection), element))
        writer.graph.elements[name] = element
        self._keep(name, Rows(name, selection, (selection.rows,), selection.coordinates))
        return True

    def _same(self, writer: Writer, one: Rows) -> None:
        name = writer.node.output[0]
        writer.graph.elements[name] = writer.element(writer.node.input[0])
        self._keep(name, one)

    def _write(self, writer: Writer, data: Rows, found: Mapping[int, _Found]) -> None:
        """Rewrites a `ScatterElements` of rows into other rows, by row numbers."""
        node, selection, (index, updates) = writer.node, data.selection, (found[1], found[2])
        axis = axis_of(writer, 0, len(data.shape))
        if not isinstance(index, Rows) or not isinstance(updates, Rows) or axis != data.axis:
            raise Refused(f"combines rows{DEPENDS}")
        chosen, size = index.selection, selection.count(selection.coordinates)
        if chosen is not updates.selection or {index.axis, updates.axis} != {axis}:
            raise Refused(f"combines rows{DEPENDS}")
        line = [1] * len(data.shape)
        line[axis] = chosen.count(chosen.coordinates)
        at = self._index(writer, index, selection)
        at = writer.op("Where", writer.reshape(chosen.mask, line), at, writer.like_int(size))
        after = [int(n == axis) for n in range(len(data.shape))]
        longer = writer.pad(self.ordered(writer, data), [0] * len(after), after)
        values = updates.write(writer, chosen.coordinates)
        value = writer.op("ScatterElements", longer, at, values, **writer.attributes())
        value = writer.slice(value, axis, 0, size)
        if not selection.is_prefix:
            value = writer.op("Gather", value, self.numbers(writer, selection), axis=axis)
        writer.result(value)
        name = node.output[0]
        writer.graph.elements[name] = writer.element(node.input[2])
        self._keep(name, Rows(name, selection, data.shape, selection.coordinates))

    def _merge(self, writer: Writer, one: Rows) -> bool:
        """Rewrites a reshape that makes several rows of each row."""
        name, selection = writer.node.output[0], one.selection
        target = writer.graph.constants.get(writer.node.input[1])
        if target is None or one.axis or target.reshape(-1)[:1].tolist() != [-1]:
            return False
        own, inner = math.prod(one.shape[1:]), math.prod(target.reshape(-1)[1:].tolist())
        if inner < 1 or own % inner or own == inner:
            return False
        key = (selection, own // inner)
        if key not in self._merged:
            extents = (*selection.extents, own // inner)
            mask = writer.reshape(selection.mask, [*selection.extents, 1])
            mask = writer.op("Expand", mask, writer.const(extents, np.int64))
            self._merged[key] = Selection(
                selection.node, extents, next(self._primes), mask, selection.is_prefix
            )
        merged = self._merged[key]
        shape = [merged.rows, *(int(extent) for extent in target.reshape(-1)[1:])]
        value = one.write(writer, selection.coordinates)
        writer.result(writer.reshape(value, merged.sized(shape, merged.coordinates)))
        writer.graph.elements[name] = writer.element(writer.node.input[0])
        self._keep(name, Rows(name, merged, tuple(shape), merged.coordinates))
        return True

    def _suppress(self, writer: Writer, boxes: Rows, scores: Rows) -> None:
        """Rewrites `NonMaxSuppression` of boxes that are rows."""
        selection, name = scores.selection, writer.node.output[0]
        if boxes.axis != 1 or scores.axis != 2 or boxes.selection is not selection:
            raise Refused(f"combines rows{DEPENDS}")
        shape = selection.sized(scores.shape, selection.coordinates)
        limit = self._most_read(name) if math.prod(shape[:2]) == 1 else None
        table, mask, rows = suppressed(
            writer,
            self.ordered(writer, boxes),
            self.ordered(writer, scores),
            shape,
            self._exists(writer, selection),
            limit,
        )
        if not mask:
            raise Refused("that selects no boxes is not supported")
        writer.result(table)
        writer.graph.elements[name] = _INT64
        chosen = Selection(
            selection.node, (rows,), next(self._primes), mask, is_prefix=math.prod(shape[:2]) == 1
        )
        self._keep(name, Rows(name, chosen, (chosen.rows, 3), chosen.coordinates))


def identity_of(name: str) -> NodeProto:
    """Makes a node that a writer of a model's result replaces."""
    return helper.make_node("Identity", [name], [name], name=name)
