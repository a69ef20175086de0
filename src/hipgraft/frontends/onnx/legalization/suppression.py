"""Unrolls `NonMaxSuppression` to one step for each box that it may select per class."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

_FLOAT, _INT64 = TensorProto.FLOAT, TensorProto.INT64
_MOST_STEPS = 1024
_BOX = 4  # numbers that describe a box
_THRESHOLD = 4  # the index of the input with the score threshold


class _Boxes:
    """Boxes of each class: their bounds [batch, class, box].

    Attributes:
        lower: least y and x.
        upper: largest y and x.
        area: area of each box.
    """

    def __init__(self, writer: Writer, boxes: str, shape: list[int]):
        batches, _, count = shape
        self._writer = writer
        planes = [
            self._of_classes(writer.take(boxes, 2, [index]), [batches, 1, count], shape)
            for index in range(_BOX)
        ]
        if writer.attribute("center_point_box", 0):
            x, y, width, height = planes
            sides = [(y, height), (x, width)]
            halves = [(one, writer.op("Div", two, writer.like(2, _FLOAT))) for one, two in sides]
            self.lower = [writer.op("Sub", *pair) for pair in halves]
            self.upper = [writer.op("Add", *pair) for pair in halves]
        else:
            ends = [(planes[index], planes[index + 2]) for index in (0, 1)]
            self.lower = [writer.op("Min", *pair) for pair in ends]
            self.upper = [writer.op("Max", *pair) for pair in ends]
        self.area = self._extent(self.lower, self.upper)

    def _of_classes(self, plane: str, flat: list[int], shape: list[int]) -> str:
        whole = self._writer.const(shape, np.int64)
        return self._writer.op("Expand", self._writer.reshape(plane, flat), whole)

    def _extent(self, lower: list[str], upper: list[str]) -> str:
        sides = [self._writer.op("Sub", *pair) for pair in zip(upper, lower, strict=True)]
        return self._writer.op("Mul", *sides)

    def overlapping(self, index: str, threshold: str) -> str:
        """Writes which boxes overlap those at `index` [batch, class, 1] by more than a share."""
        writer = self._writer

        def picked(bound: str) -> str:
            return writer.op("GatherElements", bound, index, axis=2)

        zero = writer.like(0, _FLOAT)
        lower = [writer.op("Max", one, picked(one)) for one in self.lower]
        upper = [writer.op("Min", one, picked(one)) for one in self.upper]
        sides = [
            writer.op("Max", writer.op("Sub", *pair), zero)
            for pair in zip(upper, lower, strict=True)
        ]
        common = writer.op("Mul", *sides)
        union = writer.op("Sub", writer.op("Add", self.area, picked(self.area)), common)
        conditions = [
            writer.op("Greater", one, zero) for one in (common, self.area, picked(self.area), union)
        ]
        result = writer.op("Greater", writer.op("Div", common, union), threshold)
        for condition in conditions:
            result = writer.op("And", result, condition)
        return result


def _non_max_suppression(writer: Writer) -> None:
    """`(boxes [B, N, 4], scores [B, C, N], most boxes of a class, overlap, score)`."""
    boxes, scores = writer.node.input[:2]
    form = "on boxes of an unknown number"
    writer.needed_shape(boxes, form)
    shape = writer.needed_shape(scores, form)
    table, mask, _ = suppressed(writer, boxes, scores, shape)
    if not mask:
        writer.result(table)
        return
    writer.result(writer.op("Compress", table, mask, axis=0))


def suppressed(
    writer: Writer,
    boxes: str,
    scores: str,
    shape: list[int],
    valid: str = "",
    limit: int | None = None,
) -> tuple[str, str, int]:
    """Writes a table of the boxes that may be selected, and which of them are.

    Args:
        writer: writer of the node.
        boxes: boxes [B, N, 4].
        scores: scores [B, C, N].
        shape: the shape of the scores.
        valid: booleans [N] of the boxes that exist; by default all do.
        limit: how many boxes of a class are read, at most; by default all.

    Returns:
        The names of the table, [R, 3], and of the mask, [R], and R; no mask if R is 0.
    """
    batches, classes, count = shape
    most = _scalar(writer, 2, 0, _INT64)
    steps = count if limit is None else min(count, limit)
    if most in writer.graph.constants:
        steps = min(steps, max(int(writer.constant(most)), 0))
    if steps > _MOST_STEPS:
        raise Refused(f"of up to {steps} boxes of a class is not supported; {_MOST_STEPS} are")
    rows = batches * classes * steps
    if not rows:
        return writer.const(np.zeros((0, 3), np.int64)), "", 0
    bounds = _Boxes(writer, boxes, shape)
    positions = writer.const(np.arange(count).reshape(1, 1, count))
    if writer.has_input(_THRESHOLD):
        left = writer.op("Greater", scores, _scalar(writer, _THRESHOLD, 0, _FLOAT))
    else:
        left = writer.const(np.ones(shape, np.bool_))
    if valid:
        left = writer.op("And", left, valid)
    least = writer.like(-np.inf, _FLOAT)
    picks: list[str] = []
    taken: list[str] = []
    for step in range(steps):
        flags = writer.cast(left, TensorProto.INT32)
        exists = writer.cast(writer.reduce("ReduceMax", flags, [2]), TensorProto.BOOL)
        rest = writer.op("Where", left, scores, least)
        best = writer.op("ArgMax", rest, axis=2, keepdims=1)
        # Scores may be the least number, too.
        is_left = writer.op("GatherElements", left, best, axis=2)
        first = writer.op("ArgMax", flags, axis=2, keepdims=1)
        best = writer.op("Where", is_left, best, first)
        is_wanted = writer.op("Less", writer.like_int(step), most)
        picks.append(best)
        taken.append(writer.op("And", exists, is_wanted))
        overlaps = bounds.overlapping(best, _scalar(writer, 3, 0, _FLOAT))
        gone = writer.op("Or", overlaps, writer.op("Equal", positions, best))
        left = writer.op("And", left, writer.op("Not", gone))
    grid = np.indices((batches, classes, steps)).reshape(3, rows)
    named = [writer.const(one.reshape(rows, 1)) for one in grid[:2]]
    chosen = writer.reshape(writer.op("Concat", *picks, axis=2), [rows, 1])
    mask = writer.reshape(writer.op("Concat", *taken, axis=2), [rows])
    return writer.op("Concat", *named, chosen, axis=1), mask, rows


def _scalar(writer: Writer, index: int, default: float, element: int) -> str:
    if not writer.has_input(index):
        return writer.like(default, element)
    name = writer.node.input[index]
    if name in writer.graph.constants:
        return writer.const(writer.constant(name).reshape(()))
    return writer.reshape(name, [])


SUPPRESSION: dict[str, Rewrite] = {"NonMaxSuppression": _non_max_suppression}
"""The rewrites, by operator."""
