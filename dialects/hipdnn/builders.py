"""Builders of the compute ops; written by tools/gen_dialect_builders.py, not by hand.

Each creates its op at the current insertion point and returns the op's required results.
Result types that are not given are inferred; a class's `build` makes optional results too.
"""

# ruff: noqa: D103, E501

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.bindings import ir
from hipgraft.dialects import hipdnn

__all__ = [
    "conv_dgrad",
    "conv_fprop",
    "conv_wgrad",
    "matmul",
    "pointwise",
    "reduction",
]


def conv_fprop(
    x: ir.Value,
    w: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    conv_mode: str | None = None,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = hipdnn.ConvFpropOp.build(
        x,
        w,
        results={"y": result_type},
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        dilation=dilation,
        conv_mode=conv_mode,
        compute_type=compute_type,
        loc=loc,
    )
    return op.y


def conv_dgrad(
    dy: ir.Value,
    w: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    conv_mode: str | None = None,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = hipdnn.ConvDgradOp.build(
        dy,
        w,
        results={"dx": result_type},
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        dilation=dilation,
        conv_mode=conv_mode,
        compute_type=compute_type,
        loc=loc,
    )
    return op.dx


def conv_wgrad(
    x: ir.Value,
    dy: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    conv_mode: str | None = None,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = hipdnn.ConvWgradOp.build(
        x,
        dy,
        results={"dw": result_type},
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        dilation=dilation,
        conv_mode=conv_mode,
        compute_type=compute_type,
        loc=loc,
    )
    return op.dw


def matmul(
    a: ir.Value,
    b: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = hipdnn.MatmulOp.build(
        a,
        b,
        results={"c": result_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.c


def pointwise(
    in_0: ir.Value,
    in_1: ir.Value | None = None,
    in_2: ir.Value | None = None,
    *,
    mode: str,
    relu_lower_clip: float | None = None,
    relu_upper_clip: float | None = None,
    relu_lower_clip_slope: float | None = None,
    swish_beta: float | None = None,
    elu_alpha: float | None = None,
    softplus_beta: float | None = None,
    axis: int | None = None,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = hipdnn.PointwiseOp.build(
        in_0,
        in_1,
        in_2,
        results={"out_0": result_type},
        mode=mode,
        relu_lower_clip=relu_lower_clip,
        relu_upper_clip=relu_upper_clip,
        relu_lower_clip_slope=relu_lower_clip_slope,
        swish_beta=swish_beta,
        elu_alpha=elu_alpha,
        softplus_beta=softplus_beta,
        axis=axis,
        compute_type=compute_type,
        loc=loc,
    )
    return op.out_0


def reduction(
    in_: ir.Value,
    *,
    mode: str,
    is_deterministic: bool | None = None,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = hipdnn.ReductionOp.build(
        in_,
        results={"out": result_type},
        mode=mode,
        is_deterministic=is_deterministic,
        compute_type=compute_type,
        loc=loc,
    )
    return op.out
