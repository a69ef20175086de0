"""Evaluates extents that are computed from the number of rows that `NonZero` selects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from hipgraft.frontends.onnx.folding import evaluate
from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.mask_forms import cast_element
from hipgraft.frontends.onnx.legalization.row_values import Extents, Rows, Selection, stretched

LARGEST_EXTENT = 1 << 30
"""Numbers from here on are computed from a number of rows, and are no extents."""

_WIDTH = 8  # bytes of the integers that hold sums and multiples of a number of rows
_MOST_KNOWN = 1 << 22  # elements of a value that is computed while the model is read

MOVES = frozenset(
    {"Cast", "Concat", "Gather", "Identity", "Mul", "Reshape", "Slice", "Split", "Squeeze",
     "Transpose", "Unsqueeze", "Where"}
)  # fmt: skip
"""Operators that select extents, or multiply them."""


def are_extents(array: Array, rows: int) -> bool:
    """Whether integers are extents, multiples of a number of rows, or sums of these.

    Truth values of such integers count as extents, too.
    """
    if array.dtype.kind == "b":
        return True
    if array.dtype.kind != "i" or array.dtype.itemsize < np.dtype(np.int32).itemsize:
        return False
    return bool(((np.abs(array) < LARGEST_EXTENT) | (array % rows < LARGEST_EXTENT)).all())


def counts_rows(array: Array) -> bool:
    """Whether any of the extents depends on a number of rows."""
    return array.dtype.kind != "b" and bool((np.abs(array) >= LARGEST_EXTENT).any())


def moved(
    node: NodeProto, values: Mapping[str, Array], selection: Selection, model: onnx.ModelProto
) -> dict[str, Extents] | None:
    """Evaluates a node on extents; None if its results are not extents, or are not all known."""
    if len(values) < len({*node.input} - {""}):
        return None
    if node.op_type in ("Add", "Mul", "Sub") and any(a.itemsize < _WIDTH for a in values.values()):
        return None  # the number that stands for the rows would overflow
    results = evaluate(node, values, model)
    # A number of rows may be zero, which is not known here.
    is_truth = cast_element(node) == TensorProto.BOOL
    arrays = (results or {}).values()
    if results is None or is_truth or not all(are_extents(a, selection.rows) for a in arrays):
        return None
    return {name: Extents(selection, one) for name, one in results.items()}


def takes_all(
    node: NodeProto, found: Mapping[int, Rows | Extents], constants: Mapping[str, Array]
) -> bool:
    """Whether a node is a slice that takes as many rows as there are."""
    rows, ends = found.get(0), found.get(2)
    if node.op_type != "Slice" or not isinstance(rows, Rows) or not isinstance(ends, Extents):
        return False
    known = [constants.get(name) for name in (node.input[1], *node.input[3:])]
    starts, axes, steps = (*known, *[np.arange(ends.array.size), np.ones(1)][len(known) - 1 :])
    if starts is None or starts.any() or axes is None or steps is None or (steps != 1).any():
        return False
    extents = [rows.shape[int(axis)] for axis in axes.reshape(-1)]
    return ends.array.reshape(-1).tolist() == extents


def known_array(selection: Selection, one: Rows | Extents) -> Array | None:
    """Returns the elements of a value for all positions of a selection, if they are known."""
    if isinstance(one, Rows) or one.array.dtype == np.bool_:
        return one.array
    sized = selection.sized([int(n) for n in one.array.reshape(-1)], selection.coordinates)
    return np.array(sized, np.int64).reshape(one.array.shape)


def known_results(
    node: NodeProto,
    values: Mapping[str, Array],
    selection: Selection,
    shapes: Mapping[str, list[int]],
    model: onnx.ModelProto,
) -> dict[str, Array] | None:
    """Evaluates a node for all positions of a selection, unless its results are too large."""
    results = stretched(node, values)
    if results is not None:
        return results
    sizes = [selection.sized(shape, selection.coordinates) for shape in shapes.values()]
    if any(np.prod(size, dtype=float) > _MOST_KNOWN for size in sizes):
        return None
    return evaluate(node, values, model, most_elements=_MOST_KNOWN)


def replace_nodes(graph: onnx.GraphProto, arrays: Mapping[str, Array]) -> bool:
    """Replaces the nodes whose results are all known; returns whether there are any."""
    nodes = [node for node in graph.node if not arrays.keys() >= {*node.output}]
    changed = len(nodes) < len(graph.node)
    if changed:
        del graph.node[:]
        graph.node.extend(nodes)
        graph.initializer.extend(numpy_helper.from_array(one, name) for name, one in arrays.items())
    return changed
