"""Rewrites sampling at grid points by indices and weights computed for each point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_INT64 = TensorProto.INT64
_CUBIC = -0.75


@dataclass(frozen=True)
class _Tap:
    """One of the elements along a dimension from which a point is interpolated.

    Attributes:
        index: index of the element in the tensor.
        weight: factor of the element, or an empty name for 1.
        inside: whether the index is in the tensor, or an empty name if it always is.
    """

    index: str
    weight: str
    inside: str


class _Samples:
    """`(x, grid)` with `x` [N, C, extents...] and `grid` [N, points..., dimensions]."""

    def __init__(self, writer: Writer):
        self.writer = writer
        self.shape = writer.needed_shape(writer.node.input[0], "of this form")
        self.points = writer.needed_shape(writer.node.input[1], "of this form")[1:-1]
        self.extents = self.shape[2:]
        self.element = writer.element(writer.node.input[0])
        mode = writer.attribute("mode", "linear")
        self.mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
        self.padding = writer.attribute("padding_mode", "zeros")
        self.aligned = bool(writer.attribute("align_corners", 0))

    def write(self) -> None:
        writer = self.writer
        batch, channels = self.shape[:2]
        count = math.prod(self.points)
        flat = writer.reshape(writer.node.input[0], [batch, channels, math.prod(self.extents)])
        taps = [self._taps(dim) for dim in range(len(self.extents))]
        total = ""
        for chosen in itertools.product(*taps):
            value = self._elements(flat, chosen, batch, channels, count)
            total = value if not total else writer.op("Add", total, value)
        writer.result(writer.reshape(total, [batch, channels, *self.points]))

    def _taps(self, dim: int) -> list[_Tap]:
        """Returns the taps of points along a dimension; grids have the last dimension first."""
        writer, extent = self.writer, self.extents[dim]
        batch, rank = self.shape[0], len(self.extents)
        part = writer.take(writer.node.input[1], len(self.points) + 1, [rank - 1 - dim])
        position = writer.reshape(part, [batch, math.prod(self.points)])
        position = writer.cast(position, self.element)
        position = self._unnormalised(position, extent)
        if self.padding != "zeros" and self.mode != "cubic":
            position = self._kept(position, extent)
        if self.mode == "nearest":
            return [self._tap(writer.op("Round", position), "", extent)]
        low = writer.op("Floor", position)
        rest = writer.op("Sub", position, low)
        offsets = range(2) if self.mode == "linear" else range(-1, 3)
        return [
            self._tap(self._moved(low, offset), self._weight(rest, offset), extent)
            for offset in offsets
        ]

    def _number(self, value: float) -> str:
        return self.writer.like(value, self.element)

    def _moved(self, x: str, offset: float) -> str:
        return self.writer.op("Add", x, self._number(offset)) if offset else x

    def _unnormalised(self, position: str, extent: int) -> str:
        """Converts coordinates from -1 to 1 to coordinates of elements."""
        writer = self.writer
        shifted = writer.op("Add", position, self._number(1))
        if self.aligned:
            return writer.op("Mul", shifted, self._number((extent - 1) / 2))
        scaled = writer.op("Mul", shifted, self._number(extent))
        return writer.op("Div", writer.op("Sub", scaled, self._number(1)), self._number(2))

    def _kept(self, position: str, extent: int) -> str:
        """Clamps coordinates to the tensor."""
        writer = self.writer
        if self.padding == "reflection":
            position = self._reflected(position, extent)
        low = writer.op("Max", position, self._number(0))
        return writer.op("Min", low, self._number(extent - 1))

    def _reflected(self, position: str, extent: int) -> str:
        """Reflects coordinates at the first and the last element, or at their outer edges."""
        writer = self.writer
        low, span = (0.0, extent - 1.0) if self.aligned else (-0.5, float(extent))
        if span == 0:
            return writer.op("Mul", position, self._number(0))
        away = writer.op("Abs", self._moved(position, -low))
        turns = writer.op("Floor", writer.op("Div", away, self._number(span)))
        rest = writer.op("Sub", away, writer.op("Mul", turns, self._number(span)))
        halves = writer.op("Floor", writer.op("Div", turns, self._number(2)))
        is_odd = writer.op(
            "Greater", writer.op("Sub", turns, writer.op("Mul", halves, self._number(2))),
            self._number(0.5),
        )  # fmt: skip
        back = writer.op("Sub", self._number(span), rest)
        return self._moved(writer.op("Where", is_odd, back, rest), low)

    def _tap(self, position: str, weight: str, extent: int) -> _Tap:
        writer = self.writer
        if self.padding != "zeros" and self.mode == "cubic":
            position = self._kept(position, extent)
        above = writer.op("GreaterOrEqual", position, self._number(0))
        below = writer.op("LessOrEqual", position, self._number(extent - 1))
        inside = writer.op("And", above, below) if self.padding == "zeros" else ""
        least = writer.op("Max", position, self._number(0))
        bounded = writer.op("Min", least, self._number(extent - 1))
        return _Tap(writer.cast(bounded, _INT64), weight, inside)

    def _weight(self, rest: str, offset: int) -> str:
        """Writes the weight of the element at `offset` from the last one before the point."""
        writer = self.writer
        if self.mode == "linear":
            return rest if offset else writer.op("Sub", self._number(1), rest)
        distance = writer.op("Abs", writer.op("Sub", rest, self._number(offset)))
        if offset in (0, 1):
            factors = (_CUBIC + 2, -(_CUBIC + 3), 0, 1)
        else:
            factors = (_CUBIC, -5 * _CUBIC, 8 * _CUBIC, -4 * _CUBIC)
        return self._polynomial(distance, factors)

    def _polynomial(self, x: str, factors: Sequence[float]) -> str:
        value = self._number(factors[0])
        for factor in factors[1:]:
            value = self._moved(self.writer.op("Mul", value, x), factor)
        return value

    def _elements(
        self, flat: str, taps: Sequence[_Tap], batch: int, channels: int, count: int
    ) -> str:
        """Writes the weighted elements of all channels at one tap of each dimension."""
        writer, index = self.writer, ""
        for tap, extent in zip(taps, self.extents, strict=True):
            scaled = writer.op("Mul", index, writer.like_int(extent)) if index else ""
            index = writer.op("Add", scaled, tap.index) if scaled else tap.index
        whole = writer.op(
            "Expand",
            writer.reshape(index, [batch, 1, count]),
            writer.const(np.array([batch, channels, count], np.int64)),
        )
        value = writer.op("GatherElements", flat, whole, axis=2)
        weight = self._joined([tap.weight for tap in taps], "Mul")
        if weight:
            value = writer.op("Mul", value, writer.reshape(weight, [batch, 1, count]))
        inside = self._joined([tap.inside for tap in taps], "And")
        if inside:
            here = writer.reshape(inside, [batch, 1, count])
            value = writer.op("Where", here, value, self._number(0))
        return value

    def _joined(self, names: Sequence[str], op_type: str) -> str:
        result = ""
        for name in filter(None, names):
            result = self.writer.op(op_type, result, name) if result else name
        return result


def _grid_sample(writer: Writer) -> None:
    if writer.element(writer.node.input[0]) not in (
        TensorProto.FLOAT,
        TensorProto.FLOAT16,
        TensorProto.DOUBLE,
    ):
        raise Refused("of this element type is not supported")
    _Samples(writer).write()


GRIDS: dict[str, Rewrite] = {"GridSample": _grid_sample}
"""The rewrites, by operator."""
