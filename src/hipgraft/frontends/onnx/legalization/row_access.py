"""Reads tensors at the rows that a `NonZero` selects, and writes such rows into tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.row_values import Extents, Rows, Selection, stretched_once
from hipgraft.frontends.onnx.legalization.writer import Refused, Writer, axis_of

_COMBINED = {
    "add": ("Add", "ReduceSum"),
    "mul": ("Mul", "ReduceProd"),
    "max": ("Max", "ReduceMax"),
    "min": ("Min", "ReduceMin"),
}
"""What combines an element with others, and these with each other, by `reduction`."""


def read_rows(writer: Writer, index: Rows) -> Rows:
    """Writes a `Gather`, `GatherElements` or `GatherND` of a tensor at indices that are rows.

    Returns:
        The rows, without a shape.

    Raises:
        Refused: the form is not supported.
    """
    data = writer.node.input[0]
    extents = writer.needed_shape(data, "of rows that NonZero selects")
    if writer.node.op_type == "GatherND":
        return _read_points(writer, index, extents)
    axis = axis_of(writer, 0, len(extents))
    if writer.node.op_type == "Gather":
        found = _coordinates(index, [extents[axis]], has_parts=False)
        if found is not None:
            shape = index.selection.sized(index.shape, found)
            whole = writer.reshape(data, [*extents[:axis], *shape, *extents[axis + 1 :]])
            return Rows(whole, index.selection, (), tuple(found))
    elif axis != index.axis:
        raise Refused("combines rows, whose number depends on values")
    at = _clamped(writer, index, [extents[axis]])
    return Rows(writer.op(writer.node.op_type, data, at, axis=axis), index.selection, (),
                index.coordinates)  # fmt: skip


def _read_points(writer: Writer, index: Rows, extents: list[int]) -> Rows:
    data, batches = writer.node.input[0], int(writer.attribute("batch_dims", 0))
    depth = index.shape[-1]
    found = _coordinates(index, extents[:depth], has_parts=True) if not batches else None
    if found is None:
        at = _clamped(writer, index, extents[batches : batches + depth])
        whole = writer.op("GatherND", data, at, batch_dims=batches)
        return Rows(whole, index.selection, (), index.coordinates)
    order = sorted(range(depth), key=lambda part: found[part])
    ordered = writer.transpose(data, [*order, *range(depth, len(extents))])
    shape = index.selection.sized(index.shape[:-1], found)
    whole = writer.reshape(ordered, [*shape, *extents[depth:]])
    return Rows(whole, index.selection, (), tuple(sorted(found)))


def _coordinates(index: Rows, extents: Sequence[int], *, has_parts: bool) -> list[int] | None:
    """Returns the coordinates that indices equal, if each takes all values in a dimension.

    Args:
        index: the indices.
        extents: extents of the dimensions that they index.
        has_parts: whether the last dimension of `index` has an index for each of `extents`;
            otherwise there is one index.
    """
    others = [*index.shape[: index.axis], *index.shape[index.axis + 1 :]]
    if index.array is None or math.prod(others) != (len(extents) if has_parts else 1):
        return None
    core = stretched_once(index.array)
    count = index.selection.count(index.selection.coordinates)
    if core.size != count * len(extents):
        return None
    parts = core.reshape(count, len(extents))
    found: list[int] = []
    for part, extent in enumerate(extents):
        one = index.selection.coordinate(parts[:, part])
        if one is None or one in found or index.selection.extents[one] != extent:
            return None
        found.append(one)
    return found


def _clamped(writer: Writer, index: Rows, extents: Sequence[int]) -> str:
    """Writes indices that are valid even for positions that are not selected."""
    return clamped(writer, index.write(writer, index.coordinates), extents)


def clamped(writer: Writer, at: str, extents: Sequence[int]) -> str:
    """Writes indices that are at least `-extent` and less than `extent`.

    Args:
        writer: writer of a node whose second operand has the type of the indices.
        at: the indices, one for each of `extents` in the last dimension if there are several.
        extents: extents of the indexed dimensions.
    """
    bounds = np.array(extents, _dtype(writer))
    at = writer.op("Max", at, writer.const(-bounds))
    return writer.op("Min", at, writer.const(bounds - 1))


def write_rows(writer: Writer, index: Rows, updates: Rows) -> None:
    """Writes a `ScatterElements` or `ScatterND` of rows into a tensor.

    Raises:
        Refused: the form is not supported.
    """
    data = writer.node.input[0]
    extents = writer.needed_shape(data, "of rows that NonZero selects")
    if writer.node.op_type == "ScatterND":
        depth = index.shape[-1]
        found = _coordinates(index, extents[:depth], has_parts=True)
        if found is None:
            _scatter_points(writer, index, updates, extents)
            return
        values = updates.write(writer, index.selection.coordinates)
        writer.result(_written(writer, data, extents, index.selection, found, values))
        return
    axis = axis_of(writer, 0, len(extents))
    if axis != index.axis:
        raise Refused("combines rows, whose number depends on values")
    found = _line(index, extents, axis)
    if found is None:
        _scatter_elements(writer, index, updates, extents, axis)
        return
    order = [axis, *(n for n in range(len(extents)) if n != axis)]
    values = updates.write(writer, index.selection.coordinates)
    result = _written(
        writer,
        writer.transpose(data, order),
        [extents[n] for n in order],
        index.selection,
        found,
        writer.transpose(values, order),
    )
    writer.result(writer.transpose(result, [order.index(n) for n in range(len(extents))]))


def _line(index: Rows, extents: Sequence[int], axis: int) -> list[int] | None:
    """Returns the coordinate that indices equal, if each selects a whole line of a tensor."""
    others = [n for n in range(len(extents)) if n != axis]
    if index.array is None or any(index.shape[n] != extents[n] for n in others):
        return None
    core = stretched_once(index.array)
    if core.size != core.shape[axis]:
        first = core[tuple(slice(None) if n == axis else slice(0, 1) for n in range(core.ndim))]
        if not np.array_equal(core, np.broadcast_to(first, core.shape)):
            return None
        core = first
    count = index.selection.count(index.selection.coordinates)
    if core.size != count:
        return None
    one = index.selection.coordinate(core)
    return None if one is None or index.selection.extents[one] != extents[axis] else [one]


def _written(
    writer: Writer,
    data: str,
    extents: Sequence[int],
    selection: Selection,
    found: Sequence[int],
    values: str,
) -> str:
    """Writes a tensor in which each selected row replaces the one at its coordinates.

    Args:
        writer: writer of the node.
        data: the tensor, [*D, *R], where D are the extents of the coordinates `found`.
        extents: extents of the tensor.
        selection: the selection of the rows.
        found: the coordinates that serve as indices; rows that differ only in other coordinates
        are combined.
        values: the rows of all positions, which reshape to [*selection.extents, *R].
    """
    rest = list(extents[len(found) :])
    element = writer.element(data)
    values = writer.reshape(values, [*selection.extents, *rest])
    mask = writer.reshape(selection.mask, [*selection.extents, *[1] * len(rest)])
    others = [one for one in selection.coordinates if one not in found]
    order = sorted(found)
    back = [*(order.index(one) for one in found), *range(len(found), len(found) + len(rest))]
    reduction = str(writer.attribute("reduction", "none"))
    if reduction == "none":
        if not others:
            parts = [writer.transpose(one, back) for one in (mask, values)]
            return writer.op("Where", *parts, data)
        return _last_written(writer, data, selection, others, back, values, mask)
    combine, reduce = _COMBINED[reduction]
    values = writer.op("Where", mask, values, writer.const(neutral(reduction, element)))
    if others:
        values = writer.reduce(reduce, values, others, keepdims=False)
    return writer.op(combine, data, writer.transpose(values, back))


def _last_written(
    writer: Writer,
    data: str,
    selection: Selection,
    others: Sequence[int],
    back: Sequence[int],
    values: str,
    mask: str,
) -> str:
    """Writes a tensor in which the last of several rows with equal indices remains."""
    line = [extent if n in others else 1 for n, extent in enumerate(selection.extents)]
    rest = len(back) - (len(selection.extents) - len(others))
    number = np.arange(selection.count(others)).reshape([*line, *[1] * rest])
    numbers = writer.op("Where", mask, writer.const(number, np.int64), writer.like_int(-1))
    last = writer.reduce("ReduceMax", numbers, others)
    is_last = writer.op("And", mask, writer.op("Equal", numbers, last))
    element = writer.element(data)
    carried = TensorProto.INT32 if element == TensorProto.BOOL else element
    values = writer.cast(values, carried) if carried != element else values
    zero = writer.like(0, carried)
    kept = writer.reduce(
        "ReduceSum", writer.op("Where", is_last, values, zero), others, keepdims=False
    )
    kept = writer.cast(kept, element) if carried != element else kept
    any_row = writer.op("GreaterOrEqual", last, writer.like_int(0))
    shape = [extent for n, extent in enumerate(selection.extents) if n not in others]
    any_row = writer.reshape(any_row, [*shape, *[1] * rest])
    return writer.op("Where", writer.transpose(any_row, back), writer.transpose(kept, back), data)


def neutral(reduction: str, element: int) -> Array:
    """Returns the neutral element of the reduction, a scalar."""
    dtype = helper.tensor_dtype_to_np_dtype(element)
    if reduction in ("add", "mul"):
        return np.array(int(reduction == "mul")).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        bounds = np.iinfo(dtype)
        return np.array(bounds.min if reduction == "max" else bounds.max, dtype)
    return np.array(-np.inf if reduction == "max" else np.inf).astype(dtype)


def _scatter_elements(
    writer: Writer, index: Rows, updates: Rows, extents: Sequence[int], axis: int
) -> None:
    """Writes rows at computed indices; unselected rows are written beyond the tensor's end."""
    shape = [1] * len(extents)
    shape[axis] = index.selection.count(index.selection.coordinates)
    at = _wrapped(writer, index, [extents[axis]])
    limit = writer.const(np.array(extents[axis], _dtype(writer)))
    at = writer.op("Where", writer.reshape(index.selection.mask, shape), at, limit)
    _scatter(writer, index, updates, extents, axis, at)


def _scatter_points(writer: Writer, index: Rows, updates: Rows, extents: Sequence[int]) -> None:
    depth = index.shape[-1]
    shape = [1] * len(index.shape)
    shape[index.axis] = index.selection.count(index.selection.coordinates)
    at = _wrapped(writer, index, extents[:depth])
    outside = np.array([extents[0], *[0] * (depth - 1)], _dtype(writer))
    at = writer.op("Where", writer.reshape(index.selection.mask, shape), at, writer.const(outside))
    _scatter(writer, index, updates, extents, 0, at)


def _scatter(
    writer: Writer, index: Rows, updates: Rows, extents: Sequence[int], axis: int, at: str
) -> None:
    """Writes the node on a tensor that is longer by one along `axis`, and crops the result."""
    after = [int(n == axis) for n in range(len(extents))]
    longer = writer.pad(writer.node.input[0], [0] * len(extents), after)
    values = updates.write(writer, index.selection.coordinates)
    scattered = writer.op(writer.node.op_type, longer, at, values, **writer.attributes())
    writer.result(writer.slice(scattered, axis, 0, extents[axis]))


def _wrapped(writer: Writer, index: Rows, extents: Sequence[int]) -> str:
    at = index.write(writer, index.selection.coordinates)
    dtype = _dtype(writer)
    is_negative = writer.op("Less", at, writer.const(np.zeros([], dtype)))
    from_end = writer.op("Add", at, writer.const(np.array(extents, dtype)))
    return writer.op("Where", is_negative, from_end, at)


def _dtype(writer: Writer) -> np.dtype[Any]:
    """Returns the type of the indices."""
    return helper.tensor_dtype_to_np_dtype(writer.element(writer.node.input[1]))


def joins_rows(writer: Writer, found: Mapping[int, Rows | Extents]) -> bool:
    """Whether a node joins selected rows with other rows, selected or of a tensor."""
    if writer.node.op_type != "Concat":
        return False
    axis = int(writer.attribute("axis"))
    return all(
        isinstance(one, Rows) and axis % len(one.shape) == one.axis for one in found.values()
    )
