"""Rewrites operators that move elements by computed indices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.reductions import non_negative
from hipgraft.frontends.onnx.legalization.writer import (
    Rewrite,
    Writer,
    axis_of,
)
from hipgraft.ir.diagnostics import Declined

_INT64, _INT32, _BOOL = TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL


def _is_known(writer: Writer, *indices: int) -> bool:
    """Whether all present inputs are constant."""
    names = [writer.node.input[index] for index in indices if writer.has_input(index)]
    return all(name in writer.graph.constants for name in names)


def _slice(writer: Writer) -> None:
    """`(x, starts, ends, axes, steps)` whose result has a known shape: gathers by indices."""
    if _is_known(writer, 1, 2, 3, 4):
        _start_inside(writer)
        return
    x = writer.node.input[0]
    shape = writer.shape(x)
    result = writer.needed_shape(writer.node.output[0], "by bounds that are inputs")
    starts = writer.cast(writer.node.input[1], _INT64)
    count = writer.needed_shape(writer.node.input[1], "by bounds that are inputs")[0]
    if writer.has_input(3):
        axes = non_negative(writer, writer.node.input[3], len(shape))
    else:
        axes = writer.const(np.arange(count))
    steps = writer.const(np.ones(count, np.int64))
    if writer.has_input(4):
        steps = writer.cast(writer.node.input[4], _INT64)
    first = _clamped_starts(writer, starts, steps, axes, shape)
    for axis, extent in enumerate(result):
        is_this = writer.op("Equal", axes, writer.like_int(axis))
        start = _sum(writer, writer.op("Where", is_this, first, writer.like_int(0)))
        more = writer.op("Sub", steps, writer.like_int(1))
        step = _sum(writer, writer.op("Where", is_this, more, writer.like_int(0)))
        step = writer.op("Add", step, writer.like_int(1))
        positions = writer.op("Mul", writer.const(np.arange(extent)), step)
        x = writer.op("Gather", x, writer.op("Add", positions, start), axis=axis)
    writer.result(x)


def _start_inside(writer: Writer) -> None:
    """Clamps the start of backward slices to the last element, which torch-mlir does not do."""
    starts = writer.ints(1)
    steps = writer.ints(4) if writer.has_input(4) else [1] * len(starts)
    if not any(start > 0 > step for start, step in zip(starts, steps, strict=True)):
        raise Declined("supported", "it is lowered rightly")
    shape = writer.needed_shape(writer.node.input[0], "backward")
    axes = writer.ints(3) if writer.has_input(3) else range(len(starts))
    inside = [
        min(start, shape[axis] - 1) if step < 0 else start
        for start, step, axis in zip(starts, steps, axes, strict=True)
    ]
    if inside == starts:
        raise Declined("supported", "it is lowered rightly")
    dtype = writer.constant(writer.node.input[1]).dtype  # that of the ends
    writer.again([writer.node.input[0], writer.const(inside, dtype), *writer.node.input[2:]])


def slice_by_mask(writer: Writer) -> None:
    """Takes a number of rows that depends on values as a selection of all rows by a mask."""
    x = writer.node.input[0]
    shape, bounds = writer.shape(x), writer.node.input[1:3]
    if any(writer.shape(name) != [1] for name in bounds) or not _is_known(writer, 3, 4):
        raise Declined("other-form", "it slices several dimensions, or one that is an input")
    if writer.has_input(4) and writer.ints(4) != [1]:
        raise Declined("other-form", "it has steps")
    axis = (writer.ints(3)[0] if writer.has_input(3) else 0) % len(shape)
    start, end = (non_negative(writer, writer.cast(n, _INT64), shape[axis]) for n in bounds)
    rows = writer.const(np.arange(shape[axis]))
    mask = writer.op("And", writer.op("GreaterOrEqual", rows, start), writer.op("Less", rows, end))
    found = writer.reshape(writer.op("NonZero", mask), [-1])
    writer.result(writer.op("Gather", x, found, axis=axis))


def _clamped_starts(writer: Writer, starts: str, steps: str, axes: str, shape: list[int]) -> str:
    zero, one = writer.like_int(0), writer.like_int(1)
    extents = writer.op("Gather", writer.const(np.array(shape, np.int64)), axes)
    below = writer.op("Less", starts, zero)
    starts = writer.op("Where", below, writer.op("Add", starts, extents), starts)
    is_backward = writer.op("Less", steps, zero)
    last = writer.op("Where", is_backward, writer.op("Sub", extents, one), extents)
    return writer.op("Min", writer.op("Max", starts, zero), last)


def _sum(writer: Writer, x: str) -> str:
    return writer.reduce("ReduceSum", x, [0], keepdims=False)


def _reverse_sequence(writer: Writer) -> None:
    x, lengths = writer.node.input
    shape = writer.shape(x)
    batch = axis_of(writer, 1, len(shape), "batch_axis")
    time = axis_of(writer, 0, len(shape), "time_axis")
    aligned = [1] * len(shape)
    aligned[batch] = shape[batch]
    length = writer.reshape(writer.cast(lengths, _INT64), aligned)
    line = [1] * len(shape)
    line[time] = shape[time]
    positions = writer.const(np.arange(shape[time]).reshape(line))
    is_inside = writer.op("Less", positions, length)
    mirrored = writer.op("Sub", writer.op("Sub", length, writer.like_int(1)), positions)
    indices = writer.op("Where", is_inside, mirrored, positions)
    whole = writer.op("Expand", indices, writer.const(np.array(shape, np.int64)))
    writer.result(writer.op("GatherElements", x, whole, axis=time))


def _one_hot(writer: Writer) -> None:
    """`(indices, depth, values)`; an index outside of the depth selects nothing."""
    indices, depth, values = writer.node.input
    shape = writer.shape(indices)
    axis = int(writer.attribute("axis", -1)) % (len(shape) + 1)
    if depth in writer.graph.constants:
        extent = int(writer.constant(depth).reshape(-1)[0])
    else:
        extent = writer.needed_shape(writer.node.output[0], "of a depth that is an input")[axis]
    whole = writer.cast(indices, _INT64)
    wrapped = non_negative(writer, whole, extent)
    column = writer.reshape(wrapped, [*shape[:axis], 1, *shape[axis:]])
    line = [1] * (len(shape) + 1)
    line[axis] = extent
    is_hot = writer.op("Equal", column, writer.const(np.arange(extent).reshape(line)))
    off, on = (writer.reshape(writer.take(values, 0, [index]), []) for index in (0, 1))
    writer.result(writer.op("Where", is_hot, on, off))


def _compress(writer: Writer) -> None:
    """Selects elements for which a condition holds, if their number is known."""
    x, condition = writer.node.input
    shape = writer.shape(x)
    result = writer.needed_shape(writer.node.output[0], "of an unknown number of elements")
    axis = writer.attribute("axis")
    if axis is None:
        x, shape, axis = writer.reshape(x, [math.prod(shape)]), [math.prod(shape)], 0
    axis = int(axis) % len(shape)
    (count,) = writer.needed_shape(condition, "of an unknown number of elements")
    numbers = writer.cast(condition, _INT64)
    before = writer.op("CumSum", numbers, writer.like_int(0))
    # The index of the n-th taken element is the number of positions up to which at most n elements
    # are taken.
    rows = writer.reshape(before, [1, count])
    wanted = writer.const(np.arange(result[axis]).reshape(-1, 1))
    passed = writer.cast(writer.op("LessOrEqual", rows, wanted), _INT64)
    positions = writer.reduce("ReduceSum", passed, [1], keepdims=False)
    writer.result(writer.op("Gather", x, positions, axis=axis))


def _top_k(writer: Writer) -> None:
    """Makes the number constant, and sorts, which is also correct without a requested order."""
    x, k = writer.node.input
    if k in writer.graph.constants and writer.attribute("sorted", 1):
        raise Declined("supported", "it is lowered rightly")
    axis = axis_of(writer, -1, len(writer.shape(x)))
    size = writer.const(np.array([_count_of(writer, axis)], np.int64))
    largest = writer.attribute("largest", 1)
    both = writer.ops("TopK", x, size, outputs=2, axis=axis, largest=largest, sorted=1)
    for index, value in enumerate(both):
        writer.result(value, index)


def _count_of(writer: Writer, axis: int) -> int:
    if writer.node.input[1] in writer.graph.constants:
        return writer.ints(1)[0]
    output = writer.node.output[0] or writer.node.output[1]
    return writer.needed_shape(output, "of a number that is an input")[axis]


def _trilu(writer: Writer) -> None:
    """Rewrites `(x, k)`: keeps the elements on and above a diagonal, or on and below it."""
    x = writer.node.input[0]
    shape = writer.shape(x)
    if writer.has_input(1):
        k = writer.reshape(writer.cast(writer.node.input[1], _INT64), [])
    else:
        k = writer.like_int(0)
    rows, columns = shape[-2:]
    distance = writer.const(np.arange(columns) - np.arange(rows)[:, None])
    order = "GreaterOrEqual" if writer.attribute("upper", 1) else "LessOrEqual"
    writer.result(writer.op("Where", writer.op(order, distance, k), x, writer.zero(x)))


def _range(writer: Writer) -> None:
    """`(start, limit, step)` with a static number of elements; others keep the operator."""
    start, _, step = writer.node.input
    (count,) = writer.shape(writer.node.output[0])
    element = writer.element(start)
    numbers = writer.cast(writer.const(np.arange(count)), element)
    writer.result(writer.op("Add", writer.op("Mul", numbers, step), start))


def _tensor_scatter(writer: Writer) -> None:
    """`(cache, update, starts)`: each sequence's update at its start in the cache."""
    cache, update = writer.node.input[:2]
    shape = writer.needed_shape(cache, "of this form")
    axis = axis_of(writer, -2, len(shape))
    extent, count = shape[axis], writer.needed_shape(update, "of this form")[axis]
    line = [extent if dim == axis else 1 for dim in range(len(shape))]
    distance = writer.const(np.arange(extent).reshape(line))
    if writer.has_input(2):
        starts = writer.cast(writer.node.input[2], _INT64)
        starts = writer.reshape(starts, [shape[0], *[1] * (len(shape) - 1)])
        distance = writer.op("Sub", distance, starts)
        if writer.attribute("mode", "linear") == "circular":
            distance = writer.op("Mod", distance, writer.like_int(extent))
    not_before = writer.op("GreaterOrEqual", distance, writer.like_int(0))
    not_after = writer.op("Less", distance, writer.like_int(count))
    is_new = writer.op("And", not_before, not_after)
    bounded = writer.op("Max", distance, writer.like_int(0))
    bounded = writer.op("Min", bounded, writer.like_int(count - 1))
    whole = writer.op("Expand", bounded, writer.const(np.array(shape, np.int64)))
    moved = writer.op("GatherElements", update, whole, axis=axis)
    writer.result(writer.op("Where", is_new, moved, cache))


def _combine_booleans(writer: Writer) -> None:
    """Scatters booleans as integers, because torch-mlir adds booleans modulo 2."""
    x, indices, updates = writer.node.input
    mode = writer.attribute("reduction", "none")
    if writer.element(x) != _BOOL or mode == "none":
        raise Declined("supported", "it is lowered rightly")
    attributes: dict[str, Any] = writer.attributes()
    attributes["reduction"] = "max" if mode in ("add", "max") else "min"
    numbers = [writer.cast(value, _INT32) for value in (x, updates)]
    found = writer.op(writer.node.op_type, numbers[0], indices, numbers[1], **attributes)
    writer.result(writer.cast(found, _BOOL))


INDEXING: dict[str, Rewrite] = {
    "Compress": _compress,
    "OneHot": _one_hot,
    "Range": _range,
    "ReverseSequence": _reverse_sequence,
    "ScatterElements": _combine_booleans,
    "ScatterND": _combine_booleans,
    "Slice": _slice,
    "TensorScatter": _tensor_scatter,
    "TopK": _top_k,
    "Trilu": _trilu,
}
"""The rewrites, by operator."""
