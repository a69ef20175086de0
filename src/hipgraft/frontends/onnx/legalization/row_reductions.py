"""Reductions over the rows that `NonZero` selects."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.row_access import neutral
from hipgraft.frontends.onnx.legalization.row_values import Rows
from hipgraft.frontends.onnx.legalization.writer import Writer

REDUCTIONS = {
    "ReduceL1": "add", "ReduceL2": "add", "ReduceMax": "max", "ReduceMean": "add",
    "ReduceMin": "min", "ReduceProd": "mul", "ReduceSum": "add", "ReduceSumSquare": "add",
}  # fmt: skip
"""Reductions over rows, and how they combine elements: an element that changes nothing stands for
positions that are not selected."""


def reduce_rows(writer: Writer, one: Rows) -> None:
    """Reduces the rows that are selected."""
    selection = one.selection
    shape = [1] * len(one.shape)
    shape[one.axis] = selection.count(selection.coordinates)
    mask = writer.reshape(selection.mask, shape)
    value = neutral(REDUCTIONS[writer.node.op_type], writer.element(writer.node.input[0]))
    rows = one.write(writer, selection.coordinates)
    rows = writer.op("Where", mask, rows, writer.const(value))
    if writer.node.op_type != "ReduceMean":
        writer.again([rows, *writer.node.input[1:]])
        return
    keepdims = bool(writer.attribute("keepdims", 1))
    axes = [one % len(shape) for one in _axes(writer, len(shape))]
    total = writer.reduce("ReduceSum", rows, axes, keepdims=keepdims)
    count = writer.cast(mask, TensorProto.FLOAT)
    count = writer.op(
        "Expand",
        count,
        writer.const(selection.sized(one.shape, selection.coordinates), np.int64),
    )
    count = writer.reduce("ReduceSum", count, axes, keepdims=keepdims)
    count = writer.cast(count, writer.element(writer.node.input[0]))
    writer.result(writer.op("Div", total, count))


def _axes(writer: Writer, rank: int) -> list[int]:
    """Returns the dimensions of a reduction."""
    if writer.has_input(1):
        return writer.ints(1) or list(range(rank))
    return [int(axis) for axis in writer.attribute("axes", range(rank))]
