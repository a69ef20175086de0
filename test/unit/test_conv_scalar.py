"""Convolutions in tiles: of f32 on RDNA, and depthwise ones, which have no matrix instructions."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from emulator import requires_emulator
from lowering_cases import Case, lower_case
from test_alternatives import check_on_gpu_code
from test_lowering_contractions import conv_case, gradient_cases

from hipgraft.codegen.lowering.matmul.scalar_tiles import Loop, tile_info, unrolled, width
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.service.tuning.counted import CountedCostModel

GFX1100 = Target.parse("gfx1100")
ONE, TWO = [1, 1], [2, 2]

# Most instructions that a wave may take for a product of each of its lanes; IREE takes 3.6.
MOST = 2.2
# Likewise; 6 and more of one result each.
MOST_DEPTHWISE = 4.0

_RDNA = [
    conv_case("padded", (1, 16, 16, 16), (16, 16, 3, 3), pre=ONE),
    conv_case("odd", (1, 4, 9, 9), (3, 4, 3, 3), pre=ONE),
    conv_case("images", (2, 6, 7, 7), (16, 6, 3, 3), pre=ONE),
    conv_case("first", (1, 3, 32, 32), (8, 3, 7, 7), pre=[3, 3], stride=TWO),
    conv_case("plane", (2, 1, 9, 12), (4, 1, 3, 4), dilation=[1, 3], flip=True),
    conv_case("strided", (1, 12, 9, 8), (8, 12, 1, 1), stride=TWO),
    conv_case("product", (3, 10, 4, 8), (8, 10, 1, 1)),
    conv_case("line", (2, 5, 20), (6, 5, 3), pre=[1]),
    conv_case("space", (1, 4, 3, 4, 6), (4, 4, 2, 3, 3), pre=[1, 1, 1]),
    conv_case("row", (1, 4, 2, 8), (64, 4, 2, 3)),
    conv_case("wide", (3, 3, 16, 19), (64, 3, 16, 16)),
    *gradient_cases("image", (2, 6, 8, 8), (4, 6, 3, 3), pre=ONE, stride=ONE, dilation=ONE)[:1],
]
CASES = [replace(case, name=f"tiled_{case.name}", target="gfx1100") for case in _RDNA]

_DEPTHWISE = [
    conv_case("padded", (1, 16, 14, 14), (16, 1, 7, 7), "f16", pre=[3, 3]),
    conv_case("images", (2, 6, 9, 10), (6, 1, 5, 5), pre=[2, 2]),
    conv_case("last", (2, 8, 12, 16), (8, 1, 5, 5), "bf16", channels_last=True),
    conv_case("last_line", (2, 24, 70), (24, 1, 15), channels_last=True),
    conv_case("strided", (1, 4, 45, 45), (4, 1, 7, 7), "f16", stride=TWO),
    conv_case("apart", (1, 4, 18, 18), (4, 1, 5, 5), pre=[4, 4], dilation=TWO, flip=True),
    conv_case("line", (2, 8, 40), (8, 1, 31), "f16", pre=[15]),
    conv_case("space", (1, 4, 4, 8, 8), (4, 1, 3, 3, 3), pre=[1, 1, 1]),
]
DEPTHWISE = [replace(case, name=f"depthwise_{case.name}") for case in _DEPTHWISE]

_LAST = [
    conv_case("images", (2, 12, 8, 14), (12, 1, 7, 7), "f16", pre=[3, 3], channels_last=True),
    conv_case("space", (1, 8, 4, 6, 8), (8, 1, 3, 3, 4), pre=[1, 1, 1], channels_last=True),
]
PADDED_LAST = [replace(case, name=f"last_{case.name}") for case in _LAST]


@pytest.mark.sampled(8)
@requires_emulator
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_gpu_code(case: Case) -> None:
    assert "compilation_info" in lower_case(case)
    check_on_gpu_code(case, "gfx1100")


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("case", DEPTHWISE, ids=lambda case: case.name)
def test_depthwise_on_gpu_code(case: Case, architecture: str) -> None:
    assert "compilation_info" in lower_case(replace(case, target=architecture))
    check_on_gpu_code(case, architecture)


@requires_emulator
@pytest.mark.parametrize("case", PADDED_LAST, ids=lambda case: case.name)
def test_channels_last_with_padding_on_gpu_code(case: Case) -> None:
    """A copy with padding for tiles on RDNA; CDNA reads the windows without a copy."""
    assert "compilation_info" not in lower_case(replace(case, target="gfx942"))
    check_on_gpu_code(case, "gfx942")
    assert "compilation_info" in lower_case(replace(case, target="gfx1100"))
    check_on_gpu_code(case, "gfx1100")


@requires_emulator
@pytest.mark.parametrize("case", [CASES[0], DEPTHWISE[0]], ids=lambda case: case.name)
def test_elements_that_are_loaded_are_used_for_several_products(case: Case) -> None:
    kernel = compile_text(lower_case(replace(case, target="gfx1100")), GFX1100)
    work = CountedCostModel().counts(kernel)[-1]
    products = prod(case.inputs[1].shape) * prod(case.expected[0].shape[2:])
    most = MOST_DEPTHWISE if case in DEPTHWISE else MOST
    assert work.instructions <= most * products / GFX1100.wavefront_size
    assert work.loaded <= 4 * products


def test_other_forms_stay_named() -> None:
    odd = conv_case("odd", (1, 4, 11, 13), (4, 4, 1, 1))
    last = conv_case("last", (1, 4, 8, 8), (4, 4, 3, 3), channels_last=True)
    half = conv_case("half", (1, 4, 8, 8), (4, 4, 3, 3), "f16")
    small = conv_case("small", (1, 4, 8, 8), (4, 1, 3, 3), pre=ONE)
    prime = conv_case("prime", (1, 4, 11, 11), (4, 1, 7, 7), pre=[3, 3])
    idle = conv_case("idle", (1, 4, 1, 404), (1, 4, 1, 3), pre=[0, 1])
    for case in (odd, last, half, small, prime, idle):
        assert "compilation_info" not in lower_case(replace(case, target="gfx1100"))
    assert "compilation_info" not in lower_case(replace(CASES[0], target="gfx942"))


@pytest.mark.parametrize(("extent", "window", "results"), [(56, 7, 7), (24, 9, 4)])
def test_channels_last_tiles_are_unrolled(extent: int, window: int, results: int) -> None:
    """LLVM unrolls at most 49 products of a work item; channels first, it has 8 results."""
    for is_last, thread in ((True, [1, results, 1, 0, 0]), (False, [1, 1, 8, 0, 0])):
        shape, pads = (1, 8, extent, extent), [window // 2] * 2
        case = conv_case("x", shape, (8, 1, window, window), pre=pads, channels_last=is_last)
        assert f"thread = {thread}" in lower_case(replace(case, target="gfx1100"))


def test_tiles_divide_their_loops() -> None:
    assert [width(extent) for extent in (56, 14, 9, 13, 1)] == [4, 7, 3, 1, 1]
    assert [unrolled(each) for each in ([64, 3, 3], [64, 1, 1], [3, 7, 7], [4, 16, 16])] == [
        [1, 3, 3],
        [8, 1, 1],
        [1, 1, 7],
        [1, 1, 8],
    ]


def test_a_workgroup_has_at_most_a_wavefront() -> None:
    loops = [
        Loop("k", 64, tile=2),
        Loop("o", 28),
        Loop("p", 28, tile=4),
        Loop("c", 64, "reduction"),
    ]
    info = tile_info(GFX1100, loops)
    assert "reduction = [0, 0, 0, 1], thread = [2, 1, 4, 0], workgroup = [2, 4, 28, 0]" in info
    assert "workgroup_size = [28, 1, 1] subgroup_size = 32" in info
