"""Writes reductions as ATen ops."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch


def reduction(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Reduces several dimensions; `prod` reduces one at a time."""
    assert isinstance(op, hipdnn.ReductionOp)
    x, axes, mode = t.read(op.in_), op.axes, str(op.mode)
    if not axes:
        return [_of_one(t, x, mode)]
    match mode:
        case "ADD":
            return [t.sum(x, axes)]
        case "NORM1":
            return [t.sum(t.unary("abs", x), axes)]
        case "NORM2":
            return [t.unary("sqrt", t.sum(t.mul(x, x), axes))]
        case "AVG":
            return [t.mean(x, axes)]
        case "MAX":
            return [t.largest(x, axes)]
        case "AMAX":
            return [t.largest(t.unary("abs", x), axes)]
        case "MIN":
            return [t.op("aten.amin", [x, axes, True], t.rows(x, axes))]
        case "MUL":
            return [_multiplied(t, x, axes)]
        case _:  # MUL_NO_ZEROS
            return [_multiplied(t, t.where(t.test("eq", x, 0), 1, x), axes)]


def _of_one(t: Torch, x: ir.Value, mode: str) -> ir.Value:
    if mode in ("NORM1", "NORM2", "AMAX"):
        return t.unary("abs", x)
    return t.where(t.test("eq", x, 0), 1, x) if mode == "MUL_NO_ZEROS" else x


def _multiplied(t: Torch, x: ir.Value, axes: Sequence[int]) -> ir.Value:
    for axis in axes:
        x = t.op("aten.prod.dim_int", [x, axis, True, None], t.rows(x, [axis]))
    return x
