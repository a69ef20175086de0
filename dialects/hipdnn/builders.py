"""Builders of the compute ops; written by `make docs`, not by hand.

Each creates its op at the current insertion point and returns the op's required results.
Result types that are not given are inferred; a class's `build` makes optional results too.
"""

# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.hipdnn.ops.batchnorm import (
    BatchnormBackwardOp,
    BatchnormInferenceOp,
    BatchnormInferenceVarianceExtOp,
    BatchnormOp,
)
from hipgraft.dialects.hipdnn.ops.block_scale import BlockScaleDequantizeOp, BlockScaleQuantizeOp
from hipgraft.dialects.hipdnn.ops.convolution import ConvDgradOp, ConvFpropOp, ConvWgradOp
from hipgraft.dialects.hipdnn.ops.custom import CustomOp
from hipgraft.dialects.hipdnn.ops.matmul import MatmulOp
from hipgraft.dialects.hipdnn.ops.moe import MoeGroupedMatmulBwdOp, MoeGroupedMatmulOp
from hipgraft.dialects.hipdnn.ops.norms import (
    LayernormBackwardOp,
    LayernormOp,
    RmsnormBackwardOp,
    RmsnormOp,
)
from hipgraft.dialects.hipdnn.ops.pointwise import PointwiseOp
from hipgraft.dialects.hipdnn.ops.reduction import ReductionOp
from hipgraft.dialects.hipdnn.ops.resample import ResampleBwdOp, ResampleFwdOp
from hipgraft.dialects.hipdnn.ops.sdpa import SdpaBackwardOp, SdpaOp
from hipgraft.ir.bindings import ir

__all__ = [
    "batchnorm",
    "batchnorm_backward",
    "batchnorm_inference",
    "batchnorm_inference_variance_ext",
    "block_scale_dequantize",
    "block_scale_quantize",
    "conv_dgrad",
    "conv_fprop",
    "conv_wgrad",
    "custom_op",
    "layernorm",
    "layernorm_backward",
    "matmul",
    "moe_grouped_matmul",
    "moe_grouped_matmul_bwd",
    "pointwise",
    "reduction",
    "resample_bwd",
    "resample_fwd",
    "rmsnorm",
    "rmsnorm_backward",
    "sdpa",
    "sdpa_backward",
]


def batchnorm(
    x: ir.Value,
    scale: ir.Value,
    bias: ir.Value,
    epsilon: ir.Value,
    prev_running_mean: ir.Value | None = None,
    prev_running_variance: ir.Value | None = None,
    momentum: ir.Value | None = None,
    peer_stats: Sequence[ir.Value] = (),
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = BatchnormOp.build(
        x,
        scale,
        bias,
        epsilon,
        prev_running_mean,
        prev_running_variance,
        momentum,
        peer_stats,
        results={"y": result_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.y


def batchnorm_backward(
    dy: ir.Value,
    x: ir.Value,
    scale: ir.Value,
    mean: ir.Value | None = None,
    inv_variance: ir.Value | None = None,
    peer_stats: Sequence[ir.Value] = (),
    *,
    compute_type: ir.Type | None = None,
    dx_type: ir.Type | None = None,
    dscale_type: ir.Type | None = None,
    dbias_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    op = BatchnormBackwardOp.build(
        dy,
        x,
        scale,
        mean,
        inv_variance,
        peer_stats,
        results={"dx": dx_type, "dscale": dscale_type, "dbias": dbias_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.dx, op.dscale, op.dbias


def batchnorm_inference(
    x: ir.Value,
    mean: ir.Value,
    inv_variance: ir.Value,
    scale: ir.Value,
    bias: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = BatchnormInferenceOp.build(
        x,
        mean,
        inv_variance,
        scale,
        bias,
        results={"y": result_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.y


def batchnorm_inference_variance_ext(
    x: ir.Value,
    mean: ir.Value,
    variance: ir.Value,
    scale: ir.Value,
    bias: ir.Value,
    epsilon: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = BatchnormInferenceVarianceExtOp.build(
        x,
        mean,
        variance,
        scale,
        bias,
        epsilon,
        results={"y": result_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.y


def block_scale_dequantize(
    x: ir.Value,
    scale: ir.Value,
    *,
    block_size: Sequence[int],
    compute_type: ir.Type | None = None,
    is_negative_scale: bool | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = BlockScaleDequantizeOp.build(
        x,
        scale,
        results={"y": result_type},
        compute_type=compute_type,
        block_size=block_size,
        is_negative_scale=is_negative_scale,
        loc=loc,
    )
    return op.y


def block_scale_quantize(
    x: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    block_size: int | None = None,
    axis: int | None = None,
    transpose: bool | None = None,
    y_type: ir.Type | None = None,
    scale_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> tuple[ir.Value, ir.Value]:
    op = BlockScaleQuantizeOp.build(
        x,
        results={"y": y_type, "scale": scale_type},
        compute_type=compute_type,
        block_size=block_size,
        axis=axis,
        transpose=transpose,
        loc=loc,
    )
    return op.y, op.scale


def conv_dgrad(
    dy: ir.Value,
    w: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    compute_type: ir.Type | None = None,
    conv_mode: str | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = ConvDgradOp.build(
        dy,
        w,
        results={"dx": result_type},
        compute_type=compute_type,
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        dilation=dilation,
        conv_mode=conv_mode,
        loc=loc,
    )
    return op.dx


def conv_fprop(
    x: ir.Value,
    w: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    compute_type: ir.Type | None = None,
    conv_mode: str | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = ConvFpropOp.build(
        x,
        w,
        results={"y": result_type},
        compute_type=compute_type,
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        dilation=dilation,
        conv_mode=conv_mode,
        loc=loc,
    )
    return op.y


def conv_wgrad(
    x: ir.Value,
    dy: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    compute_type: ir.Type | None = None,
    conv_mode: str | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = ConvWgradOp.build(
        x,
        dy,
        results={"dw": result_type},
        compute_type=compute_type,
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        dilation=dilation,
        conv_mode=conv_mode,
        loc=loc,
    )
    return op.dw


def custom_op(
    inputs: Sequence[ir.Value] = (),
    *,
    custom_op_id: str,
    compute_type: ir.Type | None = None,
    data: bytes | None = None,
    output_types: Sequence[ir.Type],
    loc: ir.Location | None = None,
) -> list[ir.Value]:
    op = CustomOp.build(
        inputs,
        results={"outputs": output_types},
        compute_type=compute_type,
        custom_op_id=custom_op_id,
        data=data,
        loc=loc,
    )
    return op.outputs


def layernorm(
    x: ir.Value,
    scale: ir.Value,
    bias: ir.Value,
    epsilon: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    forward_phase: str | None = None,
    normalized_dim_count: int | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = LayernormOp.build(
        x,
        scale,
        bias,
        epsilon,
        results={"y": result_type},
        compute_type=compute_type,
        forward_phase=forward_phase,
        normalized_dim_count=normalized_dim_count,
        loc=loc,
    )
    return op.y


def layernorm_backward(
    dy: ir.Value,
    x: ir.Value,
    scale: ir.Value,
    mean: ir.Value | None = None,
    inv_variance: ir.Value | None = None,
    epsilon: ir.Value | None = None,
    *,
    compute_type: ir.Type | None = None,
    normalized_dim_count: int | None = None,
    dx_type: ir.Type | None = None,
    dscale_type: ir.Type | None = None,
    dbias_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    op = LayernormBackwardOp.build(
        dy,
        x,
        scale,
        mean,
        inv_variance,
        epsilon,
        results={"dx": dx_type, "dscale": dscale_type, "dbias": dbias_type},
        compute_type=compute_type,
        normalized_dim_count=normalized_dim_count,
        loc=loc,
    )
    return op.dx, op.dscale, op.dbias


def matmul(
    a: ir.Value,
    b: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = MatmulOp.build(
        a,
        b,
        results={"c": result_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.c


def moe_grouped_matmul(
    token: ir.Value,
    weight: ir.Value,
    first_token_offset: ir.Value,
    token_index: ir.Value | None = None,
    token_ks: ir.Value | None = None,
    *,
    compute_type: ir.Type | None = None,
    mode: str | None = None,
    top_k: int | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = MoeGroupedMatmulOp.build(
        token,
        weight,
        first_token_offset,
        token_index,
        token_ks,
        results={"output": result_type},
        compute_type=compute_type,
        mode=mode,
        top_k=top_k,
        loc=loc,
    )
    return op.output


def moe_grouped_matmul_bwd(
    doutput: ir.Value,
    token: ir.Value,
    first_token_offset: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = MoeGroupedMatmulBwdOp.build(
        doutput,
        token,
        first_token_offset,
        results={"dweight": result_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.dweight


def pointwise(
    in_0: ir.Value,
    in_1: ir.Value | None = None,
    in_2: ir.Value | None = None,
    *,
    mode: str,
    compute_type: ir.Type | None = None,
    relu_lower_clip: float | None = None,
    relu_upper_clip: float | None = None,
    relu_lower_clip_slope: float | None = None,
    swish_beta: float | None = None,
    elu_alpha: float | None = None,
    softplus_beta: float | None = None,
    axis: int | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = PointwiseOp.build(
        in_0,
        in_1,
        in_2,
        results={"out_0": result_type},
        compute_type=compute_type,
        mode=mode,
        relu_lower_clip=relu_lower_clip,
        relu_upper_clip=relu_upper_clip,
        relu_lower_clip_slope=relu_lower_clip_slope,
        swish_beta=swish_beta,
        elu_alpha=elu_alpha,
        softplus_beta=softplus_beta,
        axis=axis,
        loc=loc,
    )
    return op.out_0


def reduction(
    in_: ir.Value,
    *,
    mode: str,
    compute_type: ir.Type | None = None,
    is_deterministic: bool | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = ReductionOp.build(
        in_,
        results={"out": result_type},
        compute_type=compute_type,
        mode=mode,
        is_deterministic=is_deterministic,
        loc=loc,
    )
    return op.out


def resample_bwd(
    dy: ir.Value,
    index: ir.Value | None = None,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    window: Sequence[int],
    resample_mode: str,
    padding_mode: str,
    compute_type: ir.Type | None = None,
    generate_index: bool | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = ResampleBwdOp.build(
        dy,
        index,
        results={"dx": result_type},
        compute_type=compute_type,
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        window=window,
        resample_mode=resample_mode,
        padding_mode=padding_mode,
        generate_index=generate_index,
        loc=loc,
    )
    return op.dx


def resample_fwd(
    x: ir.Value,
    *,
    pre_padding: Sequence[int],
    post_padding: Sequence[int],
    stride: Sequence[int],
    window: Sequence[int],
    resample_mode: str,
    padding_mode: str,
    compute_type: ir.Type | None = None,
    generate_index: bool | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = ResampleFwdOp.build(
        x,
        results={"y": result_type},
        compute_type=compute_type,
        pre_padding=pre_padding,
        post_padding=post_padding,
        stride=stride,
        window=window,
        resample_mode=resample_mode,
        padding_mode=padding_mode,
        generate_index=generate_index,
        loc=loc,
    )
    return op.y


def rmsnorm(
    x: ir.Value,
    scale: ir.Value,
    epsilon: ir.Value,
    bias: ir.Value | None = None,
    *,
    compute_type: ir.Type | None = None,
    forward_phase: str | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = RmsnormOp.build(
        x,
        scale,
        epsilon,
        bias,
        results={"y": result_type},
        compute_type=compute_type,
        forward_phase=forward_phase,
        loc=loc,
    )
    return op.y


def rmsnorm_backward(
    dy: ir.Value,
    x: ir.Value,
    scale: ir.Value,
    inv_rms: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    dx_type: ir.Type | None = None,
    dscale_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> tuple[ir.Value, ir.Value]:
    op = RmsnormBackwardOp.build(
        dy,
        x,
        scale,
        inv_rms,
        results={"dx": dx_type, "dscale": dscale_type},
        compute_type=compute_type,
        loc=loc,
    )
    return op.dx, op.dscale


def sdpa(
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    attn_mask: ir.Value | None = None,
    scale: ir.Value | None = None,
    seq_len_q: ir.Value | None = None,
    seq_len_kv: ir.Value | None = None,
    seed: ir.Value | None = None,
    offset: ir.Value | None = None,
    dropout_mask: ir.Value | None = None,
    dropout_scale: ir.Value | None = None,
    page_table_k: ir.Value | None = None,
    page_table_v: ir.Value | None = None,
    block_mask: ir.Value | None = None,
    sink_token: ir.Value | None = None,
    descale_q: ir.Value | None = None,
    descale_k: ir.Value | None = None,
    descale_v: ir.Value | None = None,
    descale_s: ir.Value | None = None,
    scale_s: ir.Value | None = None,
    scale_o: ir.Value | None = None,
    *,
    compute_type: ir.Type | None = None,
    attn_scale_value: float | None = None,
    alibi_mask: bool | None = None,
    padding_mask: bool | None = None,
    causal_mask: bool | None = None,
    causal_mask_bottom_right: bool | None = None,
    left_bound: int | None = None,
    right_bound: int | None = None,
    diagonal_alignment: str | None = None,
    dropout_probability: float | None = None,
    generate_stats: bool | None = None,
    max_seq_len_kv: int | None = None,
    mma_core_mode: ir.Type | None = None,
    implementation: str | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    op = SdpaOp.build(
        q,
        k,
        v,
        attn_mask,
        scale,
        seq_len_q,
        seq_len_kv,
        seed,
        offset,
        dropout_mask,
        dropout_scale,
        page_table_k,
        page_table_v,
        block_mask,
        sink_token,
        descale_q,
        descale_k,
        descale_v,
        descale_s,
        scale_s,
        scale_o,
        results={"o": result_type},
        compute_type=compute_type,
        attn_scale_value=attn_scale_value,
        alibi_mask=alibi_mask,
        padding_mask=padding_mask,
        causal_mask=causal_mask,
        causal_mask_bottom_right=causal_mask_bottom_right,
        left_bound=left_bound,
        right_bound=right_bound,
        diagonal_alignment=diagonal_alignment,
        dropout_probability=dropout_probability,
        generate_stats=generate_stats,
        max_seq_len_kv=max_seq_len_kv,
        mma_core_mode=mma_core_mode,
        implementation=implementation,
        loc=loc,
    )
    return op.o


def sdpa_backward(
    q: ir.Value,
    k: ir.Value,
    v: ir.Value,
    o: ir.Value,
    do: ir.Value,
    stats: ir.Value,
    scale: ir.Value | None = None,
    attn_mask: ir.Value | None = None,
    seq_len_q: ir.Value | None = None,
    seq_len_kv: ir.Value | None = None,
    seed: ir.Value | None = None,
    offset: ir.Value | None = None,
    dropout_mask: ir.Value | None = None,
    dropout_scale: ir.Value | None = None,
    dropout_scale_inv: ir.Value | None = None,
    *,
    compute_type: ir.Type | None = None,
    attn_scale_value: float | None = None,
    alibi_mask: bool | None = None,
    padding_mask: bool | None = None,
    causal_mask: bool | None = None,
    causal_mask_bottom_right: bool | None = None,
    left_bound: int | None = None,
    right_bound: int | None = None,
    diagonal_alignment: str | None = None,
    dropout_probability: float | None = None,
    dq_type: ir.Type | None = None,
    dk_type: ir.Type | None = None,
    dv_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    op = SdpaBackwardOp.build(
        q,
        k,
        v,
        o,
        do,
        stats,
        scale,
        attn_mask,
        seq_len_q,
        seq_len_kv,
        seed,
        offset,
        dropout_mask,
        dropout_scale,
        dropout_scale_inv,
        results={"dq": dq_type, "dk": dk_type, "dv": dv_type},
        compute_type=compute_type,
        attn_scale_value=attn_scale_value,
        alibi_mask=alibi_mask,
        padding_mask=padding_mask,
        causal_mask=causal_mask,
        causal_mask_bottom_right=causal_mask_bottom_right,
        left_bound=left_bound,
        right_bound=right_bound,
        diagonal_alignment=diagonal_alignment,
        dropout_probability=dropout_probability,
        loc=loc,
    )
    return op.dq, op.dk, op.dv
