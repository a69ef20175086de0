"""Convolutions and matrix products against numpy, in every form that linalg has a name for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lowering_cases import DTYPES, Array, Case, Results, lower_case, tensor_type
from oracle.tensors import conv, conv_gradients

from hipgraft.dialects import hipdnn

# rtol, atol of hipDNN's tests.
CONV = {"f32": (1e-5, 1e-5), "f16": (1e-2, 1e-2), "bf16": (2e-2, 1e-1)}
GRADIENT = {
    "f32": (1e-5, 1e-5),
    "f16": (2e-2, 2e-2),
    "bf16": (2e-2, 2e-2),
    "f8E4M3FN": (7e-2, 2e-2),  # sums are rounded to 3 bits of mantissa
}
MATMUL = {
    "f32": (1e-5, 1e-5),
    "f16": (1e-2, 1e-2),
    "bf16": (1e-2, 1e-2),
    "f8E4M3FN": (1e-5, 1e-5),  # into f32, products of bytes are exact
    "f8E5M2": (1e-5, 1e-5),
}

random = np.random.default_rng(7)


def uniform(shape: Sequence[int], element: str) -> Array:
    return random.uniform(-1, 1, shape).astype(DTYPES[element])


def conv_case(
    name: str,
    x: Sequence[int],
    w: Sequence[int],
    element: str = "f32",
    *,
    pre: Sequence[int] | None = None,
    post: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    channels_last: bool = False,
    filters_last: bool = False,
    flip: bool = False,
) -> Case:
    spatial = len(x) - 2
    window = {
        "pre": pre or [0] * spatial,
        "post": post or pre or [0] * spatial,
        "stride": stride or [1] * spatial,
        "dilation": dilation or [1] * spatial,
    }
    values = [uniform(x, element), uniform(w, element)]
    wide = [value.astype(np.float64) for value in values]
    if flip:
        wide[1] = np.flip(wide[1], axis=tuple(range(2, 2 + spatial)))
    expected = conv(*wide, **window)
    layouts: dict[str, Any] = {}
    shapes = [x, w]
    if channels_last:
        layouts = {
            "arg_strides": [last_strides(x), last_strides(w)],
            "result_strides": [last_strides(expected.shape)],
        }
        values = [np.moveaxis(value, 1, -1) for value in values]
        expected = np.moveaxis(expected, 1, -1)
    elif filters_last:
        layouts = {"arg_strides": [None, last_strides(w)]}
        values[1] = np.moveaxis(values[1], 1, -1)
    logical = expected.shape if not channels_last else np.moveaxis(expected, -1, 1).shape

    def build(gx: Any, gw: Any) -> Any:
        return hipdnn.conv_fprop(
            gx,
            gw,
            pre_padding=window["pre"],
            post_padding=window["post"],
            stride=window["stride"],
            dilation=window["dilation"],
            conv_mode="CONVOLUTION" if flip else None,
            result_type=tensor_type(logical, element),
        )

    rtol, atol = CONV[element]
    atol *= max(1.0, math.sqrt(math.prod(w[1:])) / 8)  # errors of long sums add up
    return Case(
        f"{name}_{element}",
        values,
        build,
        [expected],
        [element],
        rtol,
        atol,
        shapes,
        layouts,
        logical_results=[logical],
    )


def last_strides(shape: Sequence[int]) -> list[int]:
    """Returns the strides of a tensor [N, C, spatial...] that is stored as [N, spatial..., C]."""
    spatial = [int(np.prod(shape[dim + 1 :])) * shape[1] for dim in range(2, len(shape))]
    return [int(np.prod(shape[1:])), 1, *spatial]


def matmul_case(
    name: str,
    a: Sequence[int],
    b: Sequence[int],
    element: str = "f32",
    *,
    transposed: str = "",
    result: str | None = None,
) -> Case:
    """`transposed` names the operands ("a", "b") that are stored with rows and columns swapped."""
    values = [uniform(a, element), uniform(b, element)]
    expected = np.matmul(*(value.astype(np.float64) for value in values))
    strides: list[list[int] | None] = []
    for position, operand in enumerate("ab"):
        shape = values[position].shape
        if operand not in transposed:
            strides.append(None)
            continue
        batch = [int(np.prod(shape[dim + 1 :])) for dim in range(len(shape) - 2)]
        strides.append([*batch, 1, shape[-2]])
        values[position] = np.ascontiguousarray(np.swapaxes(values[position], -1, -2))
    result = result or element

    def build(ga: Any, gb: Any) -> Any:
        return hipdnn.matmul(ga, gb, result_type=tensor_type(expected.shape, result))

    rtol, atol = MATMUL[element]
    layouts = {"arg_strides": strides} if transposed else {}
    name = f"{name}_{element}"
    return Case(name, values, build, [expected], [result], rtol, atol, [a, b], layouts)


def gradient_cases(
    name: str,
    x: Sequence[int],
    w: Sequence[int],
    element: str = "f32",
    *,
    pre: Sequence[int],
    post: Sequence[int] | None = None,
    stride: Sequence[int],
    dilation: Sequence[int],
) -> list[Case]:
    window = {"pre": pre, "post": post or pre, "stride": stride, "dilation": dilation}
    activations, filters = uniform(x, element), uniform(w, element)
    wide = [activations.astype(np.float64), filters.astype(np.float64)]
    dy = uniform(conv(*wide, **window).shape, element)
    dx, dw = conv_gradients(*wide, dy.astype(np.float64), **window)
    attributes = {
        "pre_padding": list(pre),
        "post_padding": list(post or pre),
        "stride": list(stride),
        "dilation": list(dilation),
    }

    def dgrad(gdy: Any, gw: Any) -> Any:
        return hipdnn.conv_dgrad(gdy, gw, result_type=tensor_type(x, element), **attributes)

    def wgrad(gx: Any, gdy: Any) -> Any:
        return hipdnn.conv_wgrad(gx, gdy, result_type=tensor_type(w, element), **attributes)

    rtol, atol = GRADIENT[element]
    return [
        Case(f"dgrad_{name}_{element}", [dy, filters], dgrad, [dx], [element], rtol, atol),
        Case(f"wgrad_{name}_{element}", [activations, dy], wgrad, [dw], [element], rtol, atol),
    ]


def integer_case(element: str, limit: int, result: str) -> Case:
    """i8 operands accumulate in i32, i64 in i64."""
    shapes = ((8, 96), (96, 16))
    a, b = (random.integers(-limit, limit, shape).astype(DTYPES[element]) for shape in shapes)
    expected = a.astype(np.int64) @ b.astype(np.int64)

    def build(ga: Any, gb: Any) -> Any:
        return hipdnn.matmul(ga, gb, result_type=tensor_type([8, 16], result))

    return Case(f"matmul_{element}", [a, b], build, [expected], [result], 0, 0)


def accumulation_case() -> Case:
    """4,096 ones and a 2,048 first: an f16 accumulator would stay at 2,048."""
    a = np.ones((1, 4097), np.float16)
    a[0, 0] = 2048
    b = np.ones((4097, 1), np.float16)

    def build(ga: Any, gb: Any) -> Any:
        return hipdnn.matmul(ga, gb, result_type=tensor_type([1, 1], "f16"))

    return Case("f32_accumulator", [a, b], build, [np.array([[6144.0]])], ["f16"], 0, 0)


def for_cuda(case: Case) -> Case:
    """The same case in the form for CUDA's matrix instructions."""
    return replace(case, name=f"{case.name}_cuda", target="sm_80")


# Windows of one element, and products whose depth matrix instructions do not take.
CUDA_CASES = [
    conv_case("conv_1x1", (2, 16, 7, 6), (8, 16, 1, 1), "f16"),
    conv_case("conv_1x1_padded", (2, 16, 7, 6), (8, 16, 1, 1), "f16", pre=[1, 0]),
    conv_case("conv_1x1_odd", (2, 12, 15, 15), (20, 12, 1, 1), "f16", stride=[2, 2]),
    conv_case("conv_1x1_grouped", (2, 24, 7, 7), (8, 12, 1, 1), "f16"),
    conv_case("conv_1x1_last", (2, 16, 8, 8), (24, 16, 1, 1), "f16", channels_last=True),
    conv_case("conv_1x1_one_position", (3, 12, 1, 1), (24, 12, 1, 1), "f16"),
    *gradient_cases(
        "1x1", (2, 12, 9, 8), (20, 12, 1, 1), "f16", pre=[0, 0], stride=[2, 2], dilation=[1, 1]
    ),
    matmul_case("matmul_odd", (3, 17, 20), (3, 20, 19), "f16"),
    matmul_case("matmul_odd_crossed", (2, 1, 5, 9), (1, 3, 9, 7), "f16", transposed="a"),
]

CASES = [
    conv_case("conv_1d", (2, 8, 20), (6, 8, 3), pre=[1]),
    conv_case("conv_1d_grouped", (2, 8, 20), (6, 4, 3), pre=[1], stride=[2]),
    conv_case("conv_1d_depthwise", (2, 8, 20), (8, 1, 3), pre=[1]),
    conv_case("conv_1d_last", (2, 8, 20), (6, 8, 3), pre=[1], channels_last=True),
    conv_case("conv_2d", (2, 8, 11, 12), (6, 8, 3, 3), pre=[1, 1]),
    conv_case("conv_2d_strided", (2, 8, 11, 12), (6, 8, 3, 2), stride=[2, 3]),
    conv_case("conv_2d_dilated", (2, 8, 11, 12), (6, 8, 3, 2), dilation=[2, 3], pre=[2, 0]),
    conv_case("conv_2d_asymmetric", (1, 4, 9, 9), (6, 4, 3, 3), pre=[1, 0], post=[0, 2]),
    conv_case("conv_whole_image", (3, 4, 5, 6), (7, 4, 5, 6), stride=[4, 4]),
    conv_case("conv_whole_image_last", (1, 8, 4, 4), (8, 8, 4, 4), "f16", channels_last=True),
    conv_case("conv_1x1_strided", (1, 16, 14, 14), (32, 16, 1, 1), stride=[2, 2]),
    conv_case("conv_2d_grouped", (2, 8, 11, 12), (6, 4, 3, 3), pre=[1, 1]),
    conv_case("conv_2d_six_of_group", (2, 8, 9, 10), (12, 4, 3, 3), pre=[1, 1]),
    conv_case("conv_2d_depthwise", (2, 8, 11, 12), (8, 1, 3, 3), pre=[1, 1], stride=[2, 2]),
    conv_case("conv_2d_multiplier", (2, 4, 11, 12), (8, 1, 3, 3), pre=[1, 1]),
    conv_case("conv_2d_last", (2, 8, 11, 12), (6, 8, 3, 3), pre=[1, 1], channels_last=True),
    conv_case("conv_2d_depthwise_last", (2, 8, 9, 9), (8, 1, 3, 3), channels_last=True),
    conv_case("conv_2d_grouped_last", (2, 8, 9, 9), (6, 4, 3, 3), channels_last=True),
    conv_case("conv_one_position", (1, 8, 1, 1), (6, 8, 3, 3), pre=[1, 1]),
    conv_case(
        "conv_one_position_dilated", (2, 4, 2, 3), (6, 4, 3, 3), "f32", pre=[2, 1], dilation=[2, 2]
    ),
    conv_case("conv_one_column", (1, 4, 5, 1), (6, 4, 3, 3), pre=[1, 1], channels_last=True),
    conv_case("conv_2d_flipped", (1, 4, 9, 9), (6, 4, 3, 2), flip=True),
    conv_case("conv_3d", (1, 4, 6, 7, 8), (6, 4, 3, 3, 3), pre=[1, 1, 1], stride=[1, 2, 1]),
    conv_case("conv_3d_grouped", (1, 4, 6, 7, 8), (6, 2, 3, 2, 3), pre=[1, 0, 1]),
    conv_case("conv_3d_depthwise", (1, 4, 6, 7, 8), (4, 1, 3, 3, 3)),
    conv_case("conv_3d_last", (1, 4, 6, 7, 8), (6, 4, 3, 3, 3), channels_last=True),
    conv_case("conv_2d", (2, 8, 11, 12), (6, 8, 3, 3), "f16", pre=[1, 1]),
    conv_case("conv_2d", (2, 8, 11, 12), (6, 8, 3, 3), "bf16", pre=[1, 1]),
    conv_case("conv_2d_last", (2, 8, 11, 12), (6, 8, 3, 3), "f16", pre=[1, 1], channels_last=True),
    conv_case("conv_2d_grouped", (2, 8, 11, 12), (6, 4, 3, 3), "f16", pre=[1, 1]),
    *gradient_cases("1d", (2, 4, 9), (6, 4, 3), pre=[1], stride=[1], dilation=[1]),
    *gradient_cases("2d", (2, 4, 9, 8), (6, 4, 3, 3), pre=[1, 1], stride=[1, 1], dilation=[1, 1]),
    *gradient_cases(
        "2d_strided",
        (2, 4, 9, 8),
        (6, 4, 3, 2),
        pre=[1, 0],
        post=[0, 1],
        stride=[2, 3],
        dilation=[1, 2],
    ),
    *gradient_cases(
        "2d_grouped", (2, 4, 9, 8), (6, 2, 3, 3), pre=[1, 1], stride=[2, 1], dilation=[1, 1]
    ),
    # Windows that do not overlap.
    *gradient_cases("1d_apart", (2, 16, 48), (32, 16, 3), pre=[0], stride=[3], dilation=[1]),
    *gradient_cases(
        "2d_apart",
        (2, 16, 8, 48),
        (16, 16, 2, 3),
        "f16",
        pre=[0, 0],
        stride=[2, 3],
        dilation=[1, 1],
    ),
    *gradient_cases(
        "2d_apart_grouped",
        (2, 32, 8, 4),
        (32, 16, 2, 2),
        pre=[0, 0],
        stride=[2, 2],
        dilation=[1, 1],
    ),
    *gradient_cases(
        "3d_apart",
        (1, 3, 4, 2, 6),
        (5, 3, 2, 1, 2),
        pre=[0] * 3,
        stride=[2, 1, 2],
        dilation=[1] * 3,
    ),
    # All but the last rows.
    *gradient_cases(
        "2d_apart_cropped",
        (1, 16, 9, 8),
        (16, 16, 2, 2),
        pre=[0, 0],
        stride=[2, 2],
        dilation=[1, 1],
    ),
    *gradient_cases(
        "2d_six_of_group",
        (2, 12, 9, 10),
        (12, 6, 3, 3),
        pre=[1, 1],
        stride=[1, 1],
        dilation=[1, 1],
    ),
    *gradient_cases(
        "2d_depthwise", (2, 4, 9, 8), (4, 1, 3, 3), pre=[1, 1], stride=[2, 2], dilation=[1, 1]
    ),
    *(
        case
        for element in ("f16", "bf16")
        for case in gradient_cases(
            "2d", (2, 4, 9, 8), (6, 4, 3, 3), element, pre=[1, 1], stride=[2, 2], dilation=[1, 1]
        )
    ),
    matmul_case("matmul", (17, 24), (24, 19)),
    matmul_case("matmul_row", (1, 1, 1024), (1, 1024, 72)),
    matmul_case("matmul_ta", (17, 24), (24, 19), transposed="a"),
    matmul_case("matmul_tb", (17, 24), (24, 19), transposed="b"),
    matmul_case("matmul_tab", (17, 24), (24, 19), transposed="ab"),
    matmul_case("matmul_batch", (3, 17, 24), (3, 24, 19)),
    matmul_case("matmul_batch_tb", (3, 17, 24), (3, 24, 19), transposed="b"),
    matmul_case("matmul_unit_batch", (1, 3, 17, 24), (1, 3, 24, 19)),
    matmul_case("matmul_2_batches", (2, 3, 17, 24), (2, 3, 24, 19), transposed="b"),
    matmul_case("matmul_folded", (2, 3, 17, 24), (1, 1, 24, 19)),
    matmul_case("matmul_folded_tb", (2, 3, 17, 24), (1, 1, 24, 19), transposed="b"),
    matmul_case("matmul_one_left", (1, 17, 24), (3, 24, 19)),
    matmul_case("matmul_crossed", (2, 1, 5, 24), (1, 3, 24, 7)),
    matmul_case("matmul_wide", (3, 13, 24), (3, 24, 20), transposed="b"),
    matmul_case("matmul_vector", (1, 24), (24, 19)),
    matmul_case("matmul_column", (5, 24), (24, 1)),
    matmul_case("matmul_row", (1, 1, 1024), (1, 1024, 72), "f16"),
    matmul_case("matmul", (17, 24), (24, 19), "f16"),
    matmul_case("matmul", (17, 24), (24, 19), "bf16"),
    matmul_case("matmul_batch_tb", (3, 17, 24), (3, 24, 19), "f16", transposed="b"),
    # Forms that IREE gets wrong on AMDGPU.
    matmul_case("matmul_6_rows", (2, 3, 6, 24), (2, 3, 24, 5)),
    matmul_case("matmul_10_rows", (3, 10, 24), (3, 24, 6), "f16"),
    matmul_case("matmul_transposed_batches", (3, 6, 9), (3, 9, 6), "f16", transposed="a"),
    matmul_case("matmul_transposed_batches", (2, 2, 3, 5), (2, 2, 5, 12), "bf16", transposed="a"),
    matmul_case("matmul_widened", (17, 24), (24, 19), "f16", result="f32"),
    integer_case("i8", 128, "i32"),
    integer_case("i64", 1 << 24, "i64"),
    accumulation_case(),
    *map(for_cuda, CUDA_CASES),
]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_contraction(case: Case, results: Results) -> None:
    case.check(results[case.name])


# IREE's GPU pipelines go by the name of the op.
@pytest.mark.parametrize(
    ("name", "op"),
    [
        ("conv_1d_f32", "linalg.conv_1d_ncw_fcw"),
        ("conv_1d_last_f32", "linalg.conv_1d_nwc_wcf"),
        ("conv_2d_f32", "linalg.conv_2d_nchw_fchw"),
        ("conv_1x1_strided_f32", "linalg.conv_2d_nchw_fchw"),
        ("conv_2d_last_f32", "linalg.conv_2d_nhwc_fhwc"),
        ("conv_2d_grouped_f32", "linalg.conv_2d_ngchw_gfchw"),
        ("conv_2d_depthwise_f32", "linalg.depthwise_conv_2d_nchw_chw"),
        ("conv_2d_depthwise_last_f32", "linalg.depthwise_conv_2d_nhwc_hwc"),
        ("conv_3d_f32", "linalg.conv_3d_ncdhw_fcdhw"),
        ("matmul_tb_f32", "linalg.matmul"),
        ("matmul_folded_f32", "linalg.matmul"),
        ("matmul_unit_batch_f32", "linalg.batch_matmul"),
        ("matmul_batch_tb_f32", "linalg.batch_matmul"),
    ],
)
def test_named_op(name: str, op: str) -> None:
    case = next(case for case in CASES if case.name == name)
    assert f"{op} " in lower_case(case) or f"{op}\n" in lower_case(case)


@pytest.mark.parametrize(
    ("name", "factors"),
    [
        ("conv_1x1_f16_cuda", "tensor<8x16xf16>, tensor<2x16x42xf16>"),
        ("conv_1x1_odd_f16_cuda", "tensor<20x16xf16>, tensor<2x16x64xf16>"),
        ("conv_1x1_last_f16_cuda", "tensor<2x8x8x16xf16>, tensor<24x1x1x16xf16>"),
        ("wgrad_1x1_f16_cuda", "tensor<2x20x5x4xf16>, tensor<2x12x9x8xf16>"),
        ("matmul_odd_f16_cuda", "tensor<3x17x32xf16>, tensor<3x32x19xf16>"),
    ],
)
def test_factors_on_cuda(name: str, factors: str) -> None:
    """First that with the result's earlier dim; a depth that is multiplied as a whole."""
    text = lower_case(next(case for case in CASES if case.name == name))
    assert f" : {factors})" in text


def test_channels_last_needs_no_transposition() -> None:
    case = next(case for case in CASES if case.name == "conv_2d_last_f32")
    assert "transpose" not in lower_case(case)


def test_channels_last_is_seen_through_strides_of_unit_extents() -> None:
    x, w = (1, 8, 11, 12), (6, 8, 3, 3)
    case = conv_case("last", x, w, channels_last=True)
    case.layouts["arg_strides"][0][0] = 5
    text = lower_case(case)
    assert "linalg.conv_2d_nhwc_fhwc" in text
    assert "transpose" not in text


def test_transposed_operand_needs_no_transposition() -> None:
    case = next(case for case in CASES if case.name == "matmul_tab_f32")
    assert "linalg.transpose" not in lower_case(case)
