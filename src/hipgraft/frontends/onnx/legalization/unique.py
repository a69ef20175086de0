"""Rewrites `Unique`: sorts the elements, and selects the first of equal ones."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_INT64 = TensorProto.INT64
_MOST_PAIRS = 1 << 26  # pairs of elements that are compared


def _unique(writer: Writer) -> None:
    """`(x)` of any number of different elements, in one dimension or without an axis."""
    x, graph = writer.node.input[0], writer.graph
    if all(name in graph.shapes for name in writer.node.output if name):
        raise Declined("supported", "the number of elements is known")
    shape = writer.needed_shape(x, "of unknown elements")
    if writer.attribute("axis") is not None and len(shape) != 1:
        raise Refused("of slices is not supported")
    count = math.prod(shape)
    if not count:
        raise Refused("of no elements is not supported")
    flat = writer.reshape(x, [count])
    found = _Sorted(writer, flat, count)
    if writer.attribute("sorted", 1):
        places, is_first = found.order, found.is_first
        values, counts, inverse = found.values, found.counts, found.groups
    else:
        is_first = writer.cast(found.placed(writer.cast(found.is_first, _INT64)), TensorProto.BOOL)
        places, values = writer.const(np.arange(count)), flat

        def counts() -> str:
            return found.placed(found.counts())

        def inverse() -> str:
            numbers = _running(writer, is_first)
            return writer.op("Gather", numbers, found.firsts())

    selected = [lambda: values, lambda: places, None, counts]
    for index, select in enumerate(selected):
        if not writer.has_output(index):
            continue
        if select is None:
            writer.result(found.placed(inverse()), index)
        else:
            writer.result(writer.op("Compress", select(), is_first, axis=0), index)


class _Sorted:
    """Elements in their order.

    Attributes:
        values: the elements, [count].
        order: where they were.
        is_first: whether an element is the first of equal ones.
    """

    def __init__(self, writer: Writer, flat: str, count: int):
        self._writer, self._count = writer, count
        size = writer.const([count], np.int64)
        self.values, self.order = writer.ops(
            "TopK", flat, size, outputs=2, axis=0, largest=0, sorted=1
        )
        parts = [writer.const(np.ones(1, np.bool_))]
        if count > 1:
            ends = (writer.slice(self.values, 0, n, n + count - 1) for n in (1, 0))
            parts.append(writer.op("Not", writer.op("Equal", *ends)))
        self.is_first = writer.op("Concat", *parts, axis=0)

    def groups(self) -> str:
        """Writes how many smaller elements differ from each other."""
        return _running(self._writer, self.is_first)

    def placed(self, values: str) -> str:
        """Writes integers of the sorted elements in the order of the operand."""
        zeros = self._writer.const(np.zeros(self._count, np.int64))
        return self._writer.op("ScatterElements", zeros, self.order, values, axis=0)

    def counts(self) -> str:
        """Writes how many elements equal each."""
        writer = self._writer
        equal = writer.cast(self._equal(), _INT64)
        return writer.reduce("ReduceSum", equal, [1], keepdims=False)

    def firsts(self) -> str:
        """Writes where the first element was that equals each."""
        writer = self._writer
        own = writer.op("And", self._equal(), self.is_first)
        places = writer.op("Where", own, self.order, writer.like_int(0))
        return writer.reduce("ReduceSum", places, [1], keepdims=False)

    def _equal(self) -> str:
        """Writes which elements are equal, [count, count]."""
        if self._count**2 > _MOST_PAIRS:
            raise Refused(f"of {self._count} elements is not supported")
        groups = self.groups()
        pair = [self._writer.reshape(groups, shape) for shape in ([-1, 1], [1, -1])]
        return self._writer.op("Equal", *pair)


def _running(writer: Writer, flags: str) -> str:
    """Writes how many flags are set before each, and one less where it is not set."""
    sums = writer.op("CumSum", writer.cast(flags, _INT64), writer.like_int(0))
    return writer.op("Sub", sums, writer.like_int(1))


UNIQUE: dict[str, Rewrite] = {"Unique": _unique}
"""The rewrites, by operator."""
