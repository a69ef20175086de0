"""Rewrites rolled tensors as concatenations."""

from __future__ import annotations

from math import prod

from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.torch_dialect import vtensor_type
from hipgraft.transforms.torch_legalization.operands import (
    concatenated,
    constant,
    extent_of,
    sliced,
    static_shape,
    tensor,
    view,
)


def roll(op: ir.Operation) -> ir.Value | None:
    """Rewrites `roll(x, shifts, dims)`, because torch-mlir's slices of it have no static shape."""
    shifts, dims = constant(op, 1), constant(op, 2)
    if not isinstance(shifts, list) or not isinstance(dims, list):
        return None
    if not dims:
        return _rolled_flat(op, shifts)
    if len(shifts) != len(dims):
        message = f"'aten.roll' expects as many shifts as dimensions, found {len(shifts)}"
        raise PassFailure(f"{message} and {len(dims)}", op)
    x = op.operands[0]
    for shift, dim in zip(shifts, dims, strict=True):
        shape, _ = tensor(x)
        extent = extent_of(op, dim)
        x = _rolled(x, shift % extent if extent else 0, dim % len(shape))
    return x


def _rolled_flat(op: ir.Operation, shifts: list[int]) -> ir.Value | None:
    """Rolls the elements of a tensor in row-major order."""
    shape, element = tensor(op.operands[0])
    extents = static_shape(shape)
    if extents is None or len(shifts) != 1:
        return None
    count = prod(extents)
    flat = view(op.operands[0], [count], element)
    return view(_rolled(flat, shifts[0] % count if count else 0, 0), extents, element)


def _rolled(x: ir.Value, shift: int, dim: int) -> ir.Value:
    """Rolls by `shift`, which is less than the extent."""
    shape, element = tensor(x)
    extent = shape[dim] or 0
    if shift == 0:
        return x
    bounds = [(extent - shift, extent), (0, extent - shift)]
    parts = [
        sliced(
            x,
            dim,
            start,
            stop,
            vtensor_type([*shape[:dim], stop - start, *shape[dim + 1 :]], element),
        )
        for start, stop in bounds
    ]
    return concatenated(parts, dim, x.type)
