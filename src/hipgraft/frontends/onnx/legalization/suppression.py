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
    """Bounds of boxes [batch, 1, box]: least y and x, largest y and x, and the area."""

    def __init__(self, writer: Writer, boxes: str, batches: int, count: int):
        self._writer, self._batches, self._count = writer, batches, count
        planes = [
            writer.reshape(writer.take(boxes, 2, [index]), [batches, 1, count])
            for index in range(_BOX)
        ]
        if writer.attribute("center_point_box", 0):
            x, y, width, height = planes
            sides = [(y, height), (x, width)]
            halves = [(one, writer.op("Div", two, writer.like(2, _FLOAT))) for one, two in sides]
            lower = [writer.op("Sub", *pair) for pair in halves]
            upper = [writer.op("Add", *pair) for pair in halves]
        else:
            ends = [(planes[index], planes[index + 2]) for index in (0, 1)]
            lower = [writer.op("Min", *pair) for pair in ends]
            upper = [writer.op("Max", *pair) for pair in ends]
        extents = [writer.op("Sub", *pair) for pair in zip(upper, lower, strict=True)]
        self._bounds = [*lower, *upper, writer.op("Mul", *extents)]
        lines = [writer.reshape(one, [batches * count, 1]) for one in self._bounds]
        self._table = writer.op("Concat", *lines, axis=1)

    def overlapping(self, index: str, threshold: str) -> str:
        """Writes which boxes overlap those at `index` [batch, class, 1] by more than a share.

        Boxes without an area overlap none, as the share is 0 or no number.
        """
        writer = self._writer
        if self._batches > 1:
            first = np.arange(self._batches).reshape(-1, 1, 1) * self._count
            index = writer.op("Add", index, writer.const(first))
        rows = writer.op("Gather", self._table, index, axis=0)  # [batch, class, 1, bound]
        chosen = [
            writer.op("Gather", rows, writer.like_int(n), axis=3) for n in range(len(self._bounds))
        ]
        lower = [writer.op("Max", self._bounds[n], chosen[n]) for n in (0, 1)]
        upper = [writer.op("Min", self._bounds[n], chosen[n]) for n in (2, 3)]
        zero = writer.like(0, _FLOAT)
        sides = [
            writer.op("Max", writer.op("Sub", *pair), zero)
            for pair in zip(upper, lower, strict=True)
        ]
        common = writer.op("Mul", *sides)
        areas = writer.op("Add", self._bounds[4], chosen[4])
        share = writer.op("Div", common, writer.op("Sub", areas, common))
        return writer.op("Greater", share, threshold)


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
    bounds = _Boxes(writer, boxes, batches, count)
    positions = writer.const(np.arange(count).reshape(1, 1, count))
    gone, least = writer.like(-np.inf, _FLOAT), writer.like(float(np.finfo(np.float32).min), _FLOAT)
    # The scores of boxes that are gone are less than all others.
    left = writer.op("Max", writer.cast(scores, _FLOAT), least)
    if writer.has_input(_THRESHOLD):
        is_good = writer.op("Greater", scores, _scalar(writer, _THRESHOLD, 0, _FLOAT))
        left = writer.op("Where", is_good, left, gone)
    if valid:
        left = writer.op("Where", valid, left, gone)
    overlap = _scalar(writer, 3, 0, _FLOAT)
    picks: list[str] = []
    bests: list[str] = []
    for step in range(steps):
        picks.append(writer.op("ArgMax", left, axis=2, keepdims=1))
        bests.append(writer.op("GatherElements", left, picks[-1], axis=2))
        if step + 1 < steps:
            is_gone = writer.op("Equal", positions, picks[-1])
            is_gone = writer.op("Or", is_gone, bounds.overlapping(picks[-1], overlap))
            left = writer.op("Where", is_gone, gone, left)
    numbers = writer.const(np.arange(steps).reshape(1, 1, steps))
    taken = writer.op("Greater", writer.op("Concat", *bests, axis=2), gone)
    taken = writer.op("And", taken, writer.op("Less", numbers, most))
    grid = np.indices((batches, classes, steps)).reshape(3, rows)
    named = [writer.const(one.reshape(rows, 1)) for one in grid[:2]]
    chosen = writer.reshape(writer.op("Concat", *picks, axis=2), [rows, 1])
    mask = writer.reshape(taken, [rows])
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
