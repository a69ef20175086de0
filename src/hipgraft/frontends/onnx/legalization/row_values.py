"""Values of the rows that a `NonZero` selects, computed for all positions of its operand.

A `NonZero` of an operand with the extents `[d0, d1, …]` selects some of its `d0 · d1 · …`
positions, in row-major order; its result has their coordinates. A value of these rows depends on
some coordinates only: what an expert computes of a token, for example, does not depend on the slot
in which the token chose the expert. Each value is therefore computed for all combinations of the
coordinates on which it depends. Results for positions that are not selected are meaningless, and
are dropped when rows are written.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, numpy_helper

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.independent_rows import axes_of
from hipgraft.frontends.onnx.legalization.writer import Writer

DEPENDS = ", whose number depends on values ('NonZero' selects them)"
"""The end of a message about what depends on a number of rows."""

_FIRST_PRIME = (1 << 31) - 1  # divides no extent of a real tensor


def primes() -> Iterator[int]:
    """Yields primes that stand for numbers of rows."""
    number = _FIRST_PRIME
    while True:
        if all(number % factor for factor in range(3, int(number**0.5) + 1, 2)):
            yield number
        number -= 2


@dataclass(frozen=True, eq=False)
class Selection:
    """The rows that a `NonZero` selects.

    Attributes:
        node: the `NonZero`.
        extents: extents of its operand.
        rows: prime that stands for the number of selected rows in shapes.
        mask: name of a tensor of booleans that marks the selected positions.
        is_prefix: whether the selected positions are the first ones.
    """

    node: NodeProto
    extents: tuple[int, ...]
    rows: int
    mask: str
    is_prefix: bool = False

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The indices of all coordinates."""
        return tuple(range(len(self.extents)))

    def count(self, coordinates: Collection[int]) -> int:
        """Returns the number of combinations of some coordinates."""
        return math.prod(self.extents[one] for one in coordinates)

    def sized(self, shape: Sequence[int], coordinates: Collection[int]) -> list[int]:
        """Returns a shape in which `rows` stands for the combinations of some coordinates."""
        count = self.count(coordinates)
        return [count if extent == self.rows else extent for extent in shape]

    def split(self, shape: Sequence[int], coordinates: Collection[int]) -> list[int]:
        """Returns a shape that has a dimension for each coordinate instead of one for rows.

        The dimensions of coordinates other than `coordinates` have extent 1.
        """
        axis = axes_of(shape, self.rows)[0]
        parts = [extent if n in coordinates else 1 for n, extent in enumerate(self.extents)]
        return [*shape[:axis], *parts, *shape[axis + 1 :]]

    def coordinate(self, numbers: Array) -> int | None:
        """Returns the coordinate of all positions that `numbers` equals; None if it equals none."""
        if numbers.size != self.count(self.coordinates):
            return None
        grid = numbers.reshape(self.extents)
        for one, extent in enumerate(self.extents):
            line = [extent if n == one else 1 for n in self.coordinates]
            if np.array_equal(grid, np.broadcast_to(np.arange(extent).reshape(line), grid.shape)):
                return one
        return None


@dataclass(frozen=True, eq=False)
class Extents:
    """Extents of row values: integers in which `Selection.rows` stands for the number of rows."""

    selection: Selection
    array: Array


@dataclass(frozen=True, eq=False)
class Rows:
    """A value of rows.

    Attributes:
        name: the value; empty if it is known before the model runs.
        selection: the selection of the rows.
        shape: shape of the value, with `Selection.rows` in place of the number of rows.
        coordinates: coordinates on which the value depends, in order.
        array: elements for all positions, if they are known; else None.
    """

    name: str
    selection: Selection
    shape: tuple[int, ...]
    coordinates: tuple[int, ...]
    array: Array | None = None

    @classmethod
    def known(cls, selection: Selection, shape: Sequence[int], array: Array) -> Rows:
        """Makes a value whose elements for all positions are known."""
        core = stretched_once(array)
        core_shape = [n if m != 1 else 1 for n, m in zip(shape, core.shape, strict=True)]
        if not axes_of(core_shape, selection.rows):
            return cls("", selection, tuple(shape), (), array)
        grid = core.reshape(selection.split(core_shape, selection.coordinates))
        axis = axes_of(core_shape, selection.rows)[0]
        varied = tuple(
            one
            for one in selection.coordinates
            if not np.array_equal(grid, np.broadcast_to(grid.take([0], axis + one), grid.shape))
        )
        return cls("", selection, tuple(shape), varied, array)

    @property
    def axis(self) -> int:
        """The dimension of rows."""
        return axes_of(self.shape, self.selection.rows)[0]

    def write(self, writer: Writer, coordinates: Collection[int]) -> str:
        """Writes the value for all combinations of `coordinates`, a superset of its own."""
        whole = self.selection.sized(self.shape, coordinates)
        own = self.coordinates
        name = self.name if self.array is None else self._constant(writer, self.array)
        if tuple(coordinates) == own:
            return name
        parts = writer.reshape(name, self.selection.split(self.shape, own))
        spread = self.selection.split(self.shape, coordinates)
        parts = writer.op("Expand", parts, writer.const(spread, np.int64))
        return writer.reshape(parts, whole)

    def _constant(self, writer: Writer, array: Array) -> str:
        core = stretched_once(array)
        if core.shape[self.axis] > 1:
            shape = list(core.shape)
            shape[self.axis] = self.selection.rows
            core = core.reshape(self.selection.split(shape, self.selection.coordinates))
            for one in self.selection.coordinates:
                if one not in self.coordinates:
                    core = core.take([0], self.axis + one)
            core = core.reshape(self.selection.sized(shape, self.coordinates))
        name = writer.const(np.ascontiguousarray(core))
        shape = self.selection.sized(self.shape, self.coordinates)
        if list(core.shape) == shape:
            return name
        return writer.op("Expand", name, writer.const(shape, np.int64))


def stretched_once(array: Array) -> Array:
    """Returns an array whose broadcast dimensions (stride 0) have extent 1.

    Such arrays have the strides of `np.broadcast_to`'s results.
    """
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]


def stretched(node: NodeProto, values: Mapping[str, Array]) -> dict[str, Array] | None:
    """Evaluates operators that repeat elements, without allocating the repetitions."""
    if node.op_type == "Expand":
        data, shape = (values[name] for name in node.input)
        array = np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(shape.tolist())))
        return {node.output[0]: array}
    if node.op_type == "ConstantOfShape":
        value = next((numpy_helper.to_array(one.t) for one in node.attribute), np.zeros(1, "f4"))
        array = np.broadcast_to(value.reshape(-1)[0], values[node.input[0]].tolist())
        return {node.output[0]: array}
    return None


def joined_selection(writer: Writer, parts: Sequence[Selection | int], rows: int) -> Selection:
    """Returns the selection of joined rows; a number stands for as many rows of a tensor."""
    masks = [
        writer.const(np.ones(one, np.bool_))
        if isinstance(one, int)
        else writer.reshape(one.mask, [-1])
        for one in parts
    ]
    counts = [one if isinstance(one, int) else one.count(one.coordinates) for one in parts]
    node = next(one.node for one in parts if isinstance(one, Selection))
    mask = writer.op("Concat", *masks, axis=0)
    return Selection(node, (sum(counts),), rows, mask)


def least_of(selections: Iterable[Selection]) -> Selection:
    """Returns the selection that represents a sum of row counts."""
    return min(selections, key=lambda one: one.rows)
