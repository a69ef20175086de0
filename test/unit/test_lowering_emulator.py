"""Lowered graphs as GPU code, executed instruction by instruction."""

from __future__ import annotations

from dataclasses import replace

import pytest
import test_layout
import test_lowering_attention
import test_lowering_block_scale
import test_lowering_contractions
import test_lowering_gradients
import test_lowering_moe
import test_lowering_pointwise
import test_lowering_ragged
import test_lowering_reductions
import test_lowering_resample
from emulator import requires_emulator
from lowering_cases import Case, run_case

pytestmark = [pytest.mark.slow, requires_emulator]

_ALL = {
    case.name: case
    for cases in (
        test_layout.READS,
        test_layout.WRITES,
        test_lowering_attention.CASES,
        test_lowering_block_scale.CASES,
        test_lowering_contractions.CASES,
        test_lowering_gradients.CASES,
        test_lowering_moe.CASES,
        test_lowering_pointwise.CASES,
        test_lowering_ragged.CASES,
        test_lowering_reductions.CASES,
        test_lowering_resample.CASES,
    )
    for case in cases
}
NAMES = (
    "heads_of_packed_qkv",
    "columns_of_a_transposed_tensor",
    "starts_inside_a_row",
    "overlapping_windows",
    "broadcast_inner",
    "write_channels_last",
    "conv_2d_f16",
    "conv_2d_last_f16",
    "conv_2d_asymmetric_f32",
    "conv_whole_image_f32",
    "conv_whole_image_last_f16",
    "conv_1x1_strided_f32",
    "conv_2d_depthwise_f32",
    "conv_2d_grouped_f16",
    "dgrad_2d_strided_f32",
    "wgrad_2d_f32",
    "conv_2d_six_of_group_f32",
    "dgrad_2d_six_of_group_f32",
    "wgrad_2d_six_of_group_f32",
    "matmul_f16",
    "matmul_row_f16",
    "matmul_row_f32",
    "matmul_tab_f32",
    "matmul_2_batches_f32",
    "matmul_folded_f32",
    "matmul_wide_f32",
    "matmul_i8",
    "gelu_fwd_f16",
    "erf_f32",
    "binary_select_f16",
    "max_op_nan",
    "min_op_nan",
    "relu_nan",
    "relu_fwd_f32_attributes",
    "max_012_f32",
    "norm2_012_f32",
    "avg_0_f32",
    "ln_f16",
    "ln_one_row_f32",
    "ln_long_row_f16",
    "rms_one_row_f16",
    "rms_bf16",
    "batchnorm_training_4d_f32",
    "maxpool_f32",
    "avgpool_valid_f32",
    "softmax",
    "sdpa_f16",
    "sdpa_gqa_f16",
    "odd_keys_f16",
    "odd_keys_f32",
    "sdpa_rows_without_keys_f32",
    "sdpa_bool_f32",
    "fused_f16",
    "fused_gqa_bf16",
    "fused_causal_f16",
    "fused_bias_causal_f16",
    "causal_f32",
    "alibi_f32",
    "fp8_f8E4M3FN",
    "fused_bool_f16",
    "ln_gradient_f32",
    "bn_gradient_f16",
    "alibi_6_heads_f32",
    "paged_f16",
    "backward_plain_f16",
    "every_code_f8E4M3FN",
    "rounding_f8E5M2",
    "quantize_f32_f8E4M3FN_f8E8M0FNU_last",
    "quantize_f32_f4E2M1FN_f8E8M0FNU_last",
    "mx_matmul_f8E4M3FN",
    "scatter_f32",
    "gather_f16",
    "tiles_f16",
    "tiles_gather_bf16",
    "tiles_scatter_f16",
    "maxpool_nan",
    "MAXPOOL_NEG_INF_PAD_flat_f32",
    "backward_MAXPOOL_flat_f16",
    "max_nan",
    "min_nan",
    "amax_nan",
    "conv_one_position_f32",
    "matmul_6_rows_f32",
    "matmul_10_rows_f16",
    "matmul_transposed_batches_f16",
    "matmul_transposed_batches_bf16",
    "write_steps_that_do_not_nest",
    "random_dropout_f16",
    "blocks_f32",
    "last_in_use_f32",
    "packed_f16",
    "backward_ragged_f16",
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("name", NAMES)
def test_on_gpu_code(name: str, architecture: str) -> None:
    case: Case = replace(_ALL[name], target=architecture)
    case.check(run_case(case))


@pytest.mark.parametrize("architecture", ["gfx942", "gfx950"])
def test_gradients_of_bytes(architecture: str) -> None:
    window = {"pre": [0, 0], "stride": [1, 1], "dilation": [1, 1]}
    cases = test_lowering_contractions.gradient_cases(
        "bytes", (2, 20, 6, 6), (6, 10, 1, 1), "f8E4M3FN", **window
    )
    for case in cases:
        on_gpu = replace(case, target=architecture)
        on_gpu.check(run_case(on_gpu))


UNCOMPILED = {
    "rounding_f4E2M1FN",  # stores of a few elements of 4 bits
    *("last_aligned_f32", "packed_f32", "partly_packed_f32", "statistics_f32"),  # buffer-pointers
}
"""Cases that IREE does not compile, or crashes on, without the service's second attempt."""


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1100"])
@pytest.mark.parametrize("name", sorted(_ALL.keys() - UNCOMPILED))
def test_all_on_gpu_code(name: str, architecture: str) -> None:
    case: Case = replace(_ALL[name], target=architecture)
    case.check(run_case(case))
