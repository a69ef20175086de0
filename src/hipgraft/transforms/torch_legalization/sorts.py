"""Rewrites ops that PyTorch defines by the order of a row's elements as sorts."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import constant_bool, constant_int, torch_op, vtensor_type
from hipgraft.transforms.torch_legalization.functions import FLOATS
from hipgraft.transforms.torch_legalization.operands import (
    extent_of,
    int_operand,
    sliced,
    static_shape,
    tensor,
    view,
)


def stable_sort(op: ir.Operation) -> Sequence[ir.Value] | None:
    """Rewrites `sort.stable(x, stable, dim, descending)`: torch-mlir's sorts are stable."""
    return _sorted(op.operands[0], op.operands[2], op.operands[3])


def kth_value(op: ir.Operation) -> Sequence[ir.Value] | None:
    """Rewrites `kthvalue(x, k, dim, keepdim)`."""
    x, dim = op.operands[0], int_operand(op, 2)
    if not tensor(x)[0]:
        return None
    values = _sorted(x, op.operands[2], constant_bool(False))
    return _selected(values, dim, int_operand(op, 1) - 1, op.results)


def median(op: ir.Operation) -> Sequence[ir.Value] | None:
    """Rewrites `median(x)` and `median.dim(x, dim, keepdim)`: the lower of two medians, or NaN."""
    x, dim = op.operands[0], 0
    shape, element = tensor(x)
    if not shape:
        return None
    if len(op.operands) > 1:
        dim = int_operand(op, 1)
        count = extent_of(op, dim)
    else:
        extents = static_shape(shape)
        if extents is None:
            return None
        count = prod(extents)
        x = view(x, [count], element)
    rows = _sorted(x, constant_int(dim), constant_bool(False))
    middle = _selected(rows, dim, (count - 1) // 2, op.results)
    if element not in FLOATS:
        return middle
    last = _selected(rows, dim, count - 1, op.results)  # NaN is the largest
    kind = vtensor_type(tensor(last[0])[0], "i1")
    is_nan = torch_op("aten.ne.Tensor", [last[0], last[0]], [kind]).result
    return [
        torch_op("aten.where.self", [is_nan, *pair], [pair[0].type]).result
        for pair in zip(last, middle, strict=True)
    ]


def _sorted(x: ir.Value, dim: ir.Value, is_descending: ir.Value) -> list[ir.Value]:
    """Sorts rows; returns the elements and their indices."""
    kinds = [x.type, vtensor_type(tensor(x)[0], "si64")]
    return list(torch_op("aten.sort", [x, dim, is_descending], kinds).results)


def _selected(
    rows: Sequence[ir.Value], dim: int, index: int, results: Sequence[ir.Value]
) -> list[ir.Value]:
    """Selects an element of each row, in the form of these results."""
    selected: list[ir.Value] = []
    for row, result in zip(rows, results, strict=False):
        shape, element = tensor(row)
        kept = [1 if one == dim % len(shape) else extent for one, extent in enumerate(shape)]
        value = sliced(row, dim, index, index + 1, vtensor_type(kept, element))
        selected.append(view(value, *tensor(result)))
    return selected
