"""Evaluates extents that are computed from the number of rows that `NonZero` selects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from hipgraft.frontends.onnx.folding import evaluate
from hipgraft.frontends.onnx.legalization.graph_info import Array
from hipgraft.frontends.onnx.legalization.mask_forms import cast_element
from hipgraft.frontends.onnx.legalization.row_values import Extents, Rows, Selection

_LARGEST_EXTENT = 1 << 30  # numbers above are computed from a row count and are not extents

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
    return bool(((np.abs(array) < _LARGEST_EXTENT) | (array % rows < _LARGEST_EXTENT)).all())


def counts_rows(array: Array) -> bool:
    """Whether any of the extents depends on a number of rows."""
    return array.dtype.kind != "b" and bool((np.abs(array) >= _LARGEST_EXTENT).any())


def moved(
    node: NodeProto, values: Mapping[str, Array], selection: Selection, model: onnx.ModelProto
) -> dict[str, Extents] | None:
    """Evaluates a node on extents; None if its results are not extents, or are not all known."""
    if len(values) < len({*node.input} - {""}):
        return None
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
