"""Moves the rows that `NonZero` selects to the front, in their order, and numbers them.

What orders, cuts or indexes rows needs their numbers. A tensor that has a row for each position
then begins with the selected rows; what follows them is meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.row_extents import LARGEST_EXTENT
from hipgraft.frontends.onnx.legalization.row_values import DEPENDS, Extents, Rows, Selection
from hipgraft.frontends.onnx.legalization.writer import Refused, Writer

_INT64 = TensorProto.INT64
_MOST_EXACT = 1 << 24  # sums of ones that f32 holds, which are faster than sums of integers


class RowOrders:
    """Writes what depends on the order of rows, once for each selection.

    Args:
        primes: primes that stand for numbers of rows.
    """

    def __init__(self, primes: Iterator[int]):
        self._primes = primes
        self._counts: dict[Selection, str] = {}
        self._numbers: dict[Selection, str] = {}
        self._positions: dict[Selection, str] = {}
        self._firsts: dict[tuple[Selection, int, int], Selection] = {}
        self._merged: dict[tuple[Selection, int], Selection] = {}
        self._chosen: dict[int, Selection] = {}
        self._origins: dict[Selection, tuple[Selection, int]] = {}

    def count(self, writer: Writer, selection: Selection) -> str:
        """Writes the number of rows, a scalar."""
        if selection not in self._counts:
            total = writer.reduce("ReduceSum", _ones(writer, selection), [0], keepdims=False)
            self._counts[selection] = writer.cast(total, _INT64)
        return self._counts[selection]

    def extents(self, writer: Writer, one: Extents) -> str:
        """Writes extents as a value."""
        if one.array.dtype.kind == "b":
            return writer.const(one.array)
        times, rest = np.divmod(one.array.astype(np.int64), one.selection.rows)
        if max(np.abs(times).max(initial=0), rest.max(initial=0)) >= LARGEST_EXTENT:
            raise Refused(f"computes with several numbers of rows{DEPENDS}")
        counts = writer.op("Mul", self.count(writer, one.selection), writer.const(times))
        value = writer.op("Add", counts, writer.const(rest))
        return writer.cast(value, helper.np_dtype_to_tensor_dtype(one.array.dtype))

    def exists(self, writer: Writer, selection: Selection) -> str:
        """Writes which rows there are if the selected ones come first, [positions]."""
        size = selection.count(selection.coordinates)
        return writer.op("Less", writer.const(np.arange(size)), self.count(writer, selection))

    def numbers(self, writer: Writer, selection: Selection) -> str:
        """Writes the row numbers of all positions, [positions]; any valid one if not selected."""
        if selection not in self._numbers:
            sums = writer.op("CumSum", _ones(writer, selection), writer.like_int(0))
            before = writer.op("Sub", writer.cast(sums, _INT64), writer.like_int(1))
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

    def filled(self, writer: Writer, one: Rows, value: str) -> str:
        """Writes a value of all positions: the selected rows, then `value`, a scalar."""
        exists = along(writer, self.exists(writer, one.selection), one)
        return writer.op("Where", exists, self.ordered(writer, one), value)

    def placed(self, writer: Writer, value: str, selection: Selection, axis: int) -> str:
        """Writes ordered rows at the positions of the selection."""
        if selection.is_prefix:
            return value
        return writer.op("Gather", value, self.numbers(writer, selection), axis=axis)

    def index(self, writer: Writer, at: str, data: Selection) -> str:
        """Writes row numbers, which may count from the end, as valid positions of ordered rows."""
        at = writer.cast(at, _INT64)
        is_negative = writer.op("Less", at, writer.like_int(0))
        at = writer.op("Where", is_negative, writer.op("Add", at, self.count(writer, data)), at)
        last = writer.like_int(data.count(data.coordinates) - 1)
        return writer.op("Min", writer.op("Max", at, writer.like_int(0)), last)

    def prefix(self, writer: Writer, selection: Selection, start: int, most: int) -> Selection:
        """Returns the selection of at most `most` of the ordered rows from `start`."""
        size = min(most, selection.count(selection.coordinates) - start)
        if size <= 0:
            raise Refused(f"cuts rows{DEPENDS}, to none")
        return self._first(writer, selection, size, -start)

    def extended(self, writer: Writer, selection: Selection, more: int) -> Selection:
        """Returns the selection of the ordered rows and of `more` others."""
        size = selection.count(selection.coordinates) + more
        return self._first(writer, selection, size, more)

    def _first(self, writer: Writer, selection: Selection, size: int, more: int) -> Selection:
        """Returns the selection of as many of `size` positions as there are rows, and `more`."""
        key = (selection, size, more)
        if key not in self._firsts:
            total = writer.op("Add", self.count(writer, selection), writer.like_int(more))
            mask = writer.op("Less", writer.const(np.arange(size)), total)
            self._firsts[key] = self.selection(selection, (size,), mask, is_prefix=True)
        return self._firsts[key]

    def merged(self, writer: Writer, selection: Selection, times: int) -> Selection:
        """Returns the selection of `times` rows for each row."""
        key = (selection, times)
        if key not in self._merged:
            extents = (*selection.extents, times)
            mask = writer.reshape(selection.mask, [*selection.extents, 1])
            mask = writer.op("Expand", mask, writer.const(extents, np.int64))
            is_prefix = selection.is_prefix
            self._merged[key] = self.selection(selection, extents, mask, is_prefix=is_prefix)
            self._origins[self._merged[key]] = key
        return self._merged[key]

    def in_rows_of(self, selection: Selection, other: Selection) -> int | None:
        """Returns the number of rows in terms of the rows of `other`, if it is known."""
        if selection is other:
            return selection.rows
        origin, times = self._origins.get(selection, (None, 0))
        return times * other.rows if origin is other else None

    def chosen(self, writer: Writer, one: Rows, identity: int) -> Selection:
        """Returns the selection of the true elements of rows; `identity` numbers equal values."""
        if identity not in self._chosen:
            own = one.selection
            extents = own.sized(one.shape, own.coordinates)
            true = writer.cast(one.write(writer, own.coordinates), TensorProto.BOOL)
            mask = writer.op("And", true, along(writer, own.mask, one))
            self._chosen[identity] = self.selection(own, tuple(extents), mask)
        return self._chosen[identity]

    def selection(
        self, origin: Selection, extents: tuple[int, ...], mask: str, *, is_prefix: bool = False
    ) -> Selection:
        """Returns a new selection."""
        return Selection(origin.node, extents, next(self._primes), mask, is_prefix)


def _ones(writer: Writer, selection: Selection) -> str:
    """Writes 1 for the selected positions and 0 for others, [positions], in a type to sum them."""
    is_small = selection.count(selection.coordinates) <= _MOST_EXACT
    flat = writer.reshape(selection.mask, [-1])
    return writer.cast(flat, TensorProto.FLOAT if is_small else _INT64)


def along(writer: Writer, flags: str, one: Rows) -> str:
    """Views a tensor of all positions so that it broadcasts along the dimension of rows."""
    line = [1] * len(one.shape)
    line[one.axis] = math.prod(one.selection.extents)
    return writer.reshape(flags, line)
