"""Interpolates images."""

from __future__ import annotations

from hipgraft.ir.bindings import ir
from hipgraft.ir.torch_dialect import (
    cast,
    constant_bool,
    constant_none,
    constant_str,
    torch_op,
    vtensor_type,
)
from hipgraft.transforms.torch_legalization.operands import tensor


def upsample_bilinear(op: ir.Operation) -> ir.Value | None:
    """Rewrites `upsample_bilinear2d.vec(x, size, align_corners, scales)` for torch-mlir."""
    x, size, align_corners, scales = op.operands
    none = constant_none()
    mode = constant_str("bilinear")
    options = [size, scales, mode, align_corners, none, constant_bool(False)]
    return _interpolated(x, options, op.result)


def interpolate(op: ir.Operation) -> ir.Value | None:
    """Lets an interpolation of 16-bit floats compute in f32."""
    x, *options = op.operands
    return _interpolated(x, options, op.result) if tensor(x)[1] in ("f16", "bf16") else None


def _interpolated(x: ir.Value, options: list[ir.Value], result: ir.Value) -> ir.Value:
    """Computes in f32, because torch-mlir mixes f32 coordinates with the element type."""
    name = "aten.__interpolate.size_list_scale_list"
    element = tensor(x)[1]
    if element not in ("f16", "bf16"):
        return torch_op(name, [x, *options], [result.type]).result
    wide = vtensor_type(tensor(result)[0], "f32")
    return cast(torch_op(name, [cast(x, "f32"), *options], [wide]).result, element)
