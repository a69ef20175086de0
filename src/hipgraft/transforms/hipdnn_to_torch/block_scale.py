"""Writes block scaling as ATen ops."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import shape_of
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch


def block_scale_dequantize(t: Torch, op: hipdnn.HipdnnOp) -> Sequence[ir.Value]:
    """Repeats each scale for the elements of its block, and multiplies."""
    assert isinstance(op, hipdnn.BlockScaleDequantizeOp)
    scale = t.read(op.scale)
    if op.is_negative_scale:
        scale = t.unary("exp2", t.unary("neg", scale))
    for dim, (block, extent) in enumerate(zip(op.blocks, shape_of(op.x), strict=True)):
        scale = t.slice(t.repeated(scale, dim, block), dim, 0, extent)
    return [t.mul(t.read(op.x), scale)]
