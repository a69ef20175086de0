"""Convolutions and their gradients with reductions as long as in real models."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from emulator import requires_emulator
from lowering_cases import Case, lower_case
from test_alternatives import check_on_gpu_code
from test_lowering_contractions import conv_case, gradient_cases

from hipgraft.codegen.iree.entry import WHOLE_REDUCTIONS

ONE, TWO = [1, 1], [2, 2]

GRADIENTS = [
    *gradient_cases(
        "3x3", (2, 16, 28, 28), (16, 16, 3, 3), "f16", pre=ONE, stride=ONE, dilation=ONE
    ),
    *gradient_cases(
        "by_2", (2, 16, 28, 28), (24, 16, 3, 3), "bf16", pre=ONE, stride=TWO, dilation=ONE
    ),
    *gradient_cases(
        "1x1", (2, 16, 28, 28), (32, 16, 1, 1), "f16", pre=[0, 0], stride=ONE, dilation=ONE
    ),
    *gradient_cases(
        "groups", (2, 32, 28, 28), (32, 2, 3, 3), "f16", pre=ONE, stride=ONE, dilation=ONE
    ),
    *gradient_cases(
        "depthwise", (1, 16, 28, 28), (16, 1, 3, 3), "f16", pre=ONE, stride=ONE, dilation=ONE
    ),
    *gradient_cases(
        "first", (1, 3, 32, 32), (16, 3, 7, 7), "f32", pre=[3, 3], stride=TWO, dilation=ONE
    ),
    *gradient_cases(
        "3x3", (1, 16, 20, 20), (16, 16, 3, 3), "f32", pre=ONE, stride=ONE, dilation=ONE
    ),
]
FEW_POSITIONS = [
    conv_case("groups_of_3", (1, 8, 1, 5), (4, 4, 1, 1), "f32", stride=TWO),
    conv_case("groups_of_12", (1, 48, 3, 4), (12, 12, 1, 1), "f32"),
]
FEW = [
    conv_case("shallow", (1, 16, 9, 9), (3, 16, 3, 3), "f16", pre=ONE),
    conv_case("deep", (1, 128, 9, 9), (8, 128, 3, 3), "f16", pre=ONE),
    conv_case("one", (2, 20, 9, 7), (1, 20, 3, 3), "bf16", stride=TWO),
    conv_case("few", (2, 8, 9, 7), (3, 8, 3, 3), "f32", pre=ONE),
    conv_case("last", (1, 32, 9, 9), (4, 32, 3, 3), "f16", pre=ONE, channels_last=True),
    conv_case("128_products", (1, 16, 9, 9, 9), (8, 16, 2, 2, 2), "f16"),
    conv_case("one_position", (2, 32, 4, 4), (4, 32, 3, 3), "f16", stride=TWO),
    conv_case("1d", (1, 20, 30), (5, 20, 3), "f16", flip=True),
    conv_case("points", (2, 64, 4, 24, 9), (64, 1, 1, 1, 1), "f32", stride=[2, 1, 1]),
    # As PyTorch exports the gradient of filters to ONNX: windows as large as images.
    conv_case("wide", (1, 4, 18, 18), (8, 4, 16, 16), "f32"),
    conv_case("wide_padded", (3, 4, 16, 16), (8, 4, 16, 16), "f32", pre=ONE),
]
# For a batch of one, and for windows over one channel, IREE ignores gaps between rows.
MATERIALIZED = [
    *gradient_cases(
        "one_by_2", (1, 16, 17, 33), (16, 16, 3, 3), "f32", pre=[0, 0], stride=TWO, dilation=ONE
    ),
    *gradient_cases(
        "one_by_2", (1, 3, 32, 32), (16, 3, 7, 7), "f16", pre=[3, 3], stride=TWO, dilation=ONE
    ),
    conv_case("dilated", (1, 1, 36, 36), (16, 1, 8, 8), "f16", pre=ONE, dilation=[1, 4]),
    conv_case("dilated", (1, 2, 30, 30), (32, 1, 4, 4), "f32", dilation=TWO),
]
UNIT_PARTS = conv_case("unit_parts", (1, 2016, 6, 6), (16, 2016, 1, 1), "f16")
F32_PARTS = conv_case("f32_parts", (1, 160, 6, 6), (16, 160, 3, 3), "f32", pre=ONE)
FOUR_PARTS = conv_case("four_parts", (1, 320, 17, 17), (16, 320, 3, 3), "f16", pre=ONE)
LAST_PARTS = conv_case(
    "last_parts", (1, 640, 6, 6), (16, 640, 3, 3), "f16", pre=ONE, channels_last=True
)
IN_PARTS = [
    UNIT_PARTS,
    F32_PARTS,
    FOUR_PARTS,
    LAST_PARTS,
    conv_case("1d_parts", (1, 160, 40), (16, 160, 9), "f32", pre=[4]),
    conv_case("2_images_parts", (2, 320, 9, 9), (16, 320, 3, 3), "f16", stride=TWO, dilation=TWO),
    conv_case("3d_parts", (1, 96, 4, 4, 4), (16, 96, 3, 3, 3), "bf16", pre=[1, 1, 1]),
]
CASES = [
    replace(case, name=f"long_{case.name}")
    for case in (*GRADIENTS, *MATERIALIZED, *IN_PARTS, *FEW_POSITIONS, *FEW)
]


@pytest.mark.sampled(8)
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_gpu_code(case: Case, architecture: str) -> None:
    check_on_gpu_code(case, architecture)


@pytest.mark.slow
def test_convolutions_stay_whole() -> None:
    whole = {case.name: WHOLE_REDUCTIONS in lower_case(case) for case in CASES}
    assert [name for name, is_whole in whole.items() if not is_whole] == [
        "long_wgrad_groups_f16",
        "long_wgrad_depthwise_f16",
    ]


@pytest.mark.parametrize(
    ("case", "forms"),
    [
        (UNIT_PARTS, ("1x16x6x6", "7x36x16", "7x36x16")),
        (F32_PARTS, ("1x8x16x6x6", "6x36x16", "6x36x16")),
        (FOUR_PARTS, ("1x4x16x17x17", "4x289x16", "1x4x16x17x17")),
        (LAST_PARTS, ("1x6x6x16", "8x36x16", "8x36x16")),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_sums_are_divided_where_positions_are_few(case: Case, forms: tuple[str, ...]) -> None:
    """Matrix instructions convolve parts of the channels; other parts are those of a product.

    On CDNA, wavefronts share the sums of a window of one element, and of images that are channels
    last.
    """
    for target, form in zip(("gfx942", "sm_80", "gfx1100"), forms, strict=True):
        assert f"tensor<{form}xf32>" in lower_case(replace(case, target=target))
    whole = lower_case(replace(case, target="cpu"))
    assert not any(f"tensor<{form}xf32>" in whole for form in forms[1:])


PARTS = re.compile(r"<(1x)?8x(16x14x14|16x196|196x16)xf32>")


@pytest.mark.parametrize(
    ("window", "target", "whole"),
    [
        ((512, 3), "gfx942", {True}),
        ((2048, 1), "gfx942", {False, True}),
        ((2048, 1), "gfx1100", {True}),
    ],
)
def test_longer_sums_are_whole(window: tuple[int, int], target: str, whole: set[bool]) -> None:
    """Channels last, elements load faster, and on CDNA wavefronts share sums."""
    channels, size = window
    shape, pads = (16, channels, size, size), [size // 2] * 2
    found = set[bool]()
    for is_last in (False, True):
        case = conv_case(
            "long", (1, channels, 14, 14), shape, "f16", pre=pads, channels_last=is_last
        )
        if not PARTS.search(lower_case(replace(case, target=target))):
            found.add(is_last)
    assert found == whole


def test_padded_sums_that_wavefronts_share_read_a_copy() -> None:
    case = conv_case(
        "long", (1, 640, 14, 14), (16, 640, 3, 3), "f16", pre=[1, 1], channels_last=True
    )
    text = lower_case(replace(case, target="gfx942"))
    assert "tensor<1x16x16x640xf16>" in text
    assert not PARTS.search(text)


@pytest.mark.parametrize("window", [(64, 3), (1024, 1)])
def test_short_sums_are_whole(window: tuple[int, int]) -> None:
    """Whole sums in one launch take as long as parts."""
    channels, size = window
    shape = (16, channels, size, size)
    case = conv_case("short", (1, channels, 14, 14), shape, "f16", pre=[size // 2] * 2)
    assert "tensor<1x16x14x14xf32>" in lower_case(replace(case, target="gfx942"))
    assert "x196x16xf32>" in lower_case(replace(case, target="sm_80"))


def test_k_is_whole_where_wavefronts_share_a_sum() -> None:
    """With 16 positions, each filter has a wavefront or several."""
    case = conv_case("few", (1, 576, 4, 4), (16, 576, 1, 1), "f16")
    for target in ("gfx942", "sm_80"):
        text = lower_case(replace(case, target=target))
        assert "x16x16xf32>" not in text
        assert "tensor<16x16xf32>" in text
