"""Builders of the compute ops; written by `make docs`, not by hand.

Each creates its op at the current insertion point and returns the op's required results.
Result types that are not given are inferred; a class's `build` makes optional results too.
"""

# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.dialects.hipdnn.op import build_by_name
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
    return build_by_name(BatchnormOp, locals())


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
    return build_by_name(BatchnormBackwardOp, locals())


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
    return build_by_name(BatchnormInferenceOp, locals())


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
    return build_by_name(BatchnormInferenceVarianceExtOp, locals())


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
    return build_by_name(BlockScaleDequantizeOp, locals())


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
    return build_by_name(BlockScaleQuantizeOp, locals())


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
    return build_by_name(ConvDgradOp, locals())


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
    return build_by_name(ConvFpropOp, locals())


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
    return build_by_name(ConvWgradOp, locals())


def custom_op(
    inputs: Sequence[ir.Value] = (),
    *,
    custom_op_id: str,
    compute_type: ir.Type | None = None,
    data: bytes | None = None,
    output_types: Sequence[ir.Type],
    loc: ir.Location | None = None,
) -> list[ir.Value]:
    return build_by_name(CustomOp, locals())


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
    return build_by_name(LayernormOp, locals())


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
    return build_by_name(LayernormBackwardOp, locals())


def matmul(
    a: ir.Value,
    b: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    return build_by_name(MatmulOp, locals())


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
    return build_by_name(MoeGroupedMatmulOp, locals())


def moe_grouped_matmul_bwd(
    doutput: ir.Value,
    token: ir.Value,
    first_token_offset: ir.Value,
    *,
    compute_type: ir.Type | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    return build_by_name(MoeGroupedMatmulBwdOp, locals())


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
    return build_by_name(PointwiseOp, locals())


def reduction(
    in_: ir.Value,
    *,
    mode: str,
    compute_type: ir.Type | None = None,
    is_deterministic: bool | None = None,
    result_type: ir.Type | None = None,
    loc: ir.Location | None = None,
) -> ir.Value:
    return build_by_name(ReductionOp, locals())


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
    return build_by_name(ResampleBwdOp, locals())


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
    return build_by_name(ResampleFwdOp, locals())


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
    return build_by_name(RmsnormOp, locals())


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
    return build_by_name(RmsnormBackwardOp, locals())


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
    return build_by_name(SdpaOp, locals())


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
    return build_by_name(SdpaBackwardOp, locals())
