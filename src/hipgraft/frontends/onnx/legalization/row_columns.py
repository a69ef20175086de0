"""Writes columns of the rows that `NonZero` selects, as of `boxes[:, :2] = corners`."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from onnx import NodeProto

from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.row_values import Extents, Rows, Selection
from hipgraft.frontends.onnx.legalization.writer import Writer

_VIEWS = frozenset({"Cast", "Expand", "Identity", "Reshape", "Unsqueeze"})


def write_columns(
    writer: Writer,
    data: Rows,
    found: Mapping[int, Rows | Extents],
    numbers: Mapping[str, Selection],
    makers: Mapping[str, NodeProto],
) -> Rows | None:
    """Writes `ScatterND(data, indices, updates)` whose indices are row numbers and columns.

    Args:
        writer: writer of the node.
        data: rows [rows, columns..., rest...].
        found: the operands that are rows; indices [rows, places..., depth] and updates
            [rows, places..., rest...].
        numbers: the selection of each value that holds the numbers of its rows.
        makers: the node that makes each value.

    Returns:
        The written rows; None if the node has another form.
    """
    index, updates, name = found.get(1), found.get(2), writer.node.output[0]
    if not isinstance(index, Rows) or not isinstance(updates, Rows):
        return None
    is_own = {index.selection, updates.selection} == {data.selection}
    axes = {data.axis, index.axis, updates.axis}
    if not is_own or axes != {0} or writer.attribute("reduction", "none") != "none":
        return None
    depth = index.shape[-1]
    extents, rest = data.shape[1:depth], data.shape[depth:]
    columns = _columns(index, extents, _sources(writer.node.input[1], makers), numbers, writer)
    if columns is None:
        return None
    places = np.full(math.prod(extents), -1)
    places[columns] = np.arange(columns.size)
    union = tuple(sorted({*data.coordinates, *updates.coordinates}))
    rows = data.selection.count(union)
    new = writer.reshape(updates.write(writer, union), [rows, columns.size, *rest])
    new = writer.reshape(writer.take(new, 1, np.maximum(places, 0)), [rows, *extents, *rest])
    is_written = writer.const((places >= 0).reshape(1, *extents, *[1] * len(rest)))
    writer.result(writer.op("Where", is_written, new, data.write(writer, union)))
    writer.graph.elements[name] = writer.element(writer.node.input[2])
    return Rows(name, data.selection, data.shape, union)


def _columns(
    index: Rows,
    extents: tuple[int, ...],
    sources: list[str],
    numbers: Mapping[str, Selection],
    writer: Writer,
) -> Array | None:
    """Returns the position of each place in the columns, in row-major order.

    Returns None unless each row addresses itself, in constant columns.
    """
    if len(sources) != index.shape[-1] or numbers.get(sources[0]) is not index.selection:
        return None
    count = math.prod(index.shape[1:-1])
    columns: list[Array] = []
    for source, extent in zip(sources[1:], extents, strict=True):
        array = writer.graph.constants.get(source)
        if array is None or array.size not in (1, count):
            return None
        columns.append(np.broadcast_to(array.reshape(-1) % extent, count))
    return np.ravel_multi_index(columns, extents) if columns else None


def _sources(name: str, makers: Mapping[str, NodeProto]) -> list[str]:
    """Returns the values whose stretched views are joined to a value of indices."""
    maker = makers.get(name)
    if maker is None or maker.op_type != "Concat":
        return []
    sources = list(maker.input)
    for place, source in enumerate(sources):
        while (view := makers.get(source)) is not None and view.op_type in _VIEWS:
            source = view.input[0]
        sources[place] = source
    return sources
