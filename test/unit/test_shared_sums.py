"""Sums that the wavefronts of a workgroup share, against double precision."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, cast

import numpy as np
import pytest
from emulator import requires_emulator
from hypothesis import given
from hypothesis import strategies as st
from lowering_cases import Case, tensor_type
from test_blocks import check, compiled
from test_lowering_attention import forward_case
from test_lowering_contractions import conv_case, matmul_case
from test_matrix_tiles import joined_case, microseconds

from hipgraft.codegen import translation
from hipgraft.codegen.iree import matrix_tiles, shared_sums
from hipgraft.codegen.iree.compilation_info import list_in
from hipgraft.codegen.iree.products import Factor, Product
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir

ARCHITECTURES = ["gfx942", "gfx950", "gfx90a"]
ELEMENTS = ["f16", "bf16", "f32"]
BASES = ("lane_basis", "subgroup_basis", "thread")


def with_epilogue(case: Case, draw: np.random.Generator) -> Case:
    """Adds a bias to the only result, then ReLU or the sum with itself, and maybe transposes it."""
    (result,), (element,) = case.expected, case.elements
    bias = draw.uniform(-1, 1, result.shape[-1:]).astype(case.inputs[0].dtype)
    bias = bias.reshape([1] * (result.ndim - 1) + [-1])
    is_twice, turns = bool(draw.random() < 0.5), bool(draw.random() < 0.5)
    expected = result.astype(np.float64) + bias.astype(np.float64)
    expected = expected * 2 if is_twice else np.maximum(expected, 0)

    def build(*values: Any) -> Any:
        *operands, added = values
        wide, narrow = (tensor_type(result.shape, each) for each in ("f32", element))
        found = hipdnn.pointwise(case.build(*operands), added, mode="add", result_type=wide)
        others, mode = ([found], "add") if is_twice else ([], "relu_fwd")
        return hipdnn.pointwise(found, *others, mode=mode, result_type=narrow)

    layouts = dict(case.layouts)
    if "arg_strides" in layouts:
        layouts["arg_strides"] = [*layouts["arg_strides"], None]
    if turns:
        batch = [int(np.prod(result.shape[dim + 1 :])) for dim in range(result.ndim - 2)]
        layouts["result_strides"] = [[*batch, 1, result.shape[-2]]]
        expected = np.swapaxes(expected, -1, -2)
    shapes = case.shapes or [np.shape(value) for value in case.inputs]
    return replace(
        case,
        inputs=[*case.inputs, bias],
        build=build,
        expected=[expected],
        atol=2 * case.atol,
        shapes=[*shapes, bias.shape],
        layouts=layouts,
        logical_results=[result.shape],
    )


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_products(seed: int) -> None:
    draw = np.random.default_rng(seed)
    batch = [int(one) for one in draw.choice([1, 2, 3], int(draw.integers(1, 3)))]
    m, n = (int(one) for one in draw.choice([7, 9, 14, 16, 20, 31, 48, 49, 100, 197], 2))
    k = int(draw.choice([64, 96, 128, 192, 256, 320, 512, 608, 768, 1024, 1056]))
    transposed = str(draw.choice(["", "a", "b", "ab"]))
    element = str(draw.choice(ELEMENTS))
    case = matmul_case(f"{seed}", (*batch, m, k), (*batch, k, n), element, transposed=transposed)
    check(with_epilogue(case, draw), str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_random_products_of_half_depth(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """K is an odd multiple of 8, half the depth of other matrix instructions."""
    draw = np.random.default_rng(seed)
    batch = [int(one) for one in draw.choice([1, 2, 3], int(draw.integers(1, 3)))]
    m, n = (int(one) for one in draw.choice([40, 48, 49, 64, 96, 100, 197], 2))
    k = int(draw.choice([24, 40, 56, 72, 88, 120, 200, 264]))
    transposed = str(draw.choice(["", "a", "b", "ab"]))
    element, architecture = str(draw.choice(ELEMENTS[:2])), str(draw.choice(ARCHITECTURES))
    case = matmul_case(f"{seed}", (*batch, m, k), (*batch, k, n), element, transposed=transposed)
    formed = formations(monkeypatch)
    check(with_epilogue(case, draw), architecture)
    assert len(formed) == 1


def formations(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Records what dispatches are formed of; twice if they do not compile with changed tiles."""
    formed: list[Any] = []
    form = translation._formed_dispatches
    monkeypatch.setattr(
        translation, "_formed_dispatches", lambda *each: formed.append(each) or form(*each)
    )
    return formed


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_convolutions(seed: int) -> None:
    draw = np.random.default_rng(seed)
    window, step, spread = (int(draw.choice(each)) for each in ([1, 2, 3, 5], [1, 1, 2], [1, 1, 2]))
    size = [int(one) for one in draw.choice([9, 14, 16, 20, 33], 2)]
    channels, filters = (
        int(draw.choice([32, 64, 96, 128, 160, 256])),
        int(draw.choice([16, 20, 32, 48])),
    )
    pad = int(draw.choice([0, 0, window // 2]))
    form = str(draw.choice(["channels", "channels", "filters"]))
    case = conv_case(
        f"{seed}",
        (int(draw.choice([1, 1, 2])), channels, *size),
        (filters, channels, window, window),
        str(draw.choice(ELEMENTS)),
        pre=[pad] * 2,
        stride=[step, step],
        dilation=[spread, spread],
        channels_last=form == "channels",
        filters_last=form == "filters",
    )
    check(case, str(draw.choice(ARCHITECTURES[:2])))  # gfx90a's kernels may spill


@requires_emulator
@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(40))
def test_random_joined_products(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, depth = int(draw.choice([16, 49, 64])), int(draw.choice([128, 192, 256, 512]))
    columns, count = int(draw.choice([16, 32, 48, 96])), int(draw.integers(2, 4))
    case = joined_case(f"{seed}", rows, depth, columns, count, str(draw.choice(ELEMENTS)))
    check(case, str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_random_attention(seed: int) -> None:
    draw = np.random.default_rng(seed)
    heads, queries, keys = (
        int(draw.choice(each))
        for each in ([1, 3, 12], [16, 17, 49, 80, 128], [16, 48, 77, 128, 208, 256])
    )
    depth = int(draw.choice([32, 64, 80, 128]))
    case = forward_case(
        f"{seed}",
        str(draw.choice(ELEMENTS)),
        q=(1, heads, queries, depth),
        k=(1, heads, keys, depth),
    )
    check(case, str(draw.choice(ARCHITECTURES)))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(80))
def test_random_tiles_compile(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """IREE's own tiles, which would stand in for these, take several times as long."""
    draw = np.random.default_rng(seed)
    channels, filters, size = (
        int(draw.choice(each))
        for each in (
            [32, 48, 80, 96, 144, 160, 224, 320, 384],
            [16, 20, 24, 40, 48, 72, 80, 96, 112, 144],
            [5, 6, 7, 9, 10, 13, 16, 22, 30],
        )
    )
    window, step = int(draw.choice([1, 3, 3, 5])), int(draw.choice([1, 1, 2]))
    case = conv_case(
        f"{seed}",
        (1, channels, size, size),
        (filters, channels, window, window),
        str(draw.choice(ELEMENTS)),
        stride=[step, step],
        channels_last=True,
    )
    formed = formations(monkeypatch)
    compiled(case, str(draw.choice(["gfx942", "gfx950"])))
    assert len(formed) == 1


def test_filters_are_innermost() -> None:
    """Of a convolution whose result has the filters first."""
    none = cast("ir.Value", None)
    filters, image = Factor(none, (0, 3, 4), None), Factor(none, (1, 2, 3, 4), (9, 1, 9, 1))
    product = Product((64, 14, 12, 3, 96), 3, 4, 0, 2, filters, (image,), ((0, 1, 2),), "f16")
    ordered = product.in_order
    assert ordered.extents == (14, 12, 64, 3, 96)
    assert (ordered.m, ordered.n, ordered.k, ordered.c) == (2, 1, 4, ((2, 0, 1),))
    assert (ordered.a.loops, ordered.b[0].loops) == ((2, 3, 4), (0, 1, 3, 4))
    assert ordered.in_order == ordered


FASTER = {
    "few rows, long sums": (matmul_case("long", (1, 49, 2048), (1, 2048, 512)), "share_sums", 0.5),
    "half depth": (matmul_case("half", (1, 40, 120), (1, 120, 196), "f16"), "share_sums", 0.7),
    "many parts": (matmul_case("odd", (1, 352, 1056), (1, 1056, 49)), "share_sums", 0.6),
    "joined": (joined_case("qkv", 128, 768, 768, 3, "f32"), "share_sums", 0.7),
    "windows": (
        conv_case("valid", (1, 128, 16, 16), (64, 128, 3, 3), "f16", channels_last=True),
        "share_sums",
        0.8,
    ),
    "strided": (
        conv_case("strided", (1, 256, 28, 28), (128, 256, 1, 1), "f32", stride=[2, 2]),
        "share_sums",
        0.9,
    ),
    "attention": (
        forward_case("bert", q=(1, 12, 128, 64), k=(1, 12, 128, 64)),
        "correct_attention",
        0.7,
    ),
}
"""Cases, what makes them faster, and at least how much: the ratio of estimated times."""


@requires_emulator
@pytest.mark.slow
@pytest.mark.parametrize("name", FASTER)
def test_corrected_kernels_take_less_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, correction, ratio = FASTER[name]
    ours = compiled(case, "gfx942")
    monkeypatch.setattr(matrix_tiles, correction, lambda *_: False)
    theirs = compiled(case, "gfx942")
    assert len(ours.dispatches) == len(theirs.dispatches)
    assert microseconds(ours) < ratio * microseconds(theirs)


@pytest.mark.slow
def test_own_tiles_stand_in_for_parts_that_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    case = matmul_case("tall", (1, 16, 256), (1, 256, 64), "f16")
    monkeypatch.setattr(shared_sums, "_tile", lambda *_: shared_sums._Tile(4, 32, 32))
    assert compiled(case, "gfx942").dispatches


@given(
    st.sampled_from(["f16", "bf16", "f32"]),
    st.tuples(*[st.integers(1, 400)] * 2),
    st.integers(1, 4096),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from(["gfx942", "gfx950", "gfx90a"]),
)
def test_tiles(
    element: str,
    sides: tuple[int, int],
    depth: int,
    is_window: bool,
    results: int,
    architecture: str,
) -> None:
    target = Target.parse(architecture)
    taps = (3, 3) if is_window else ()
    factor = Factor(value=cast("ir.Value", None), loops=(0, 2), strides=None)
    product = Product(
        (*sides, depth, *taps), 2, 2, 0, 1, factor, (factor,) * results, ((0, 1),), element
    )
    chosen = shared_sums._chosen(product, target)
    if chosen is None:
        return
    instruction, tile = chosen
    assert 4 * results * tile.parts * tile.rows * tile.columns <= 48 << 10
    assert 1 <= tile.parts <= 8
    assert depth % (tile.parts * instruction.step) == 0
    config = shared_sums._distribution(product, tile, target)
    counts = zip(
        *(list_in(config, name) for name in BASES), (tile.rows, tile.columns), strict=False
    )
    for lanes, wavefronts, thread, extent in counts:
        assert extent % (lanes * wavefronts * thread) == 0
    assert prod(list_in(config, "lane_basis")) == 64
    assert prod(list_in(config, "subgroup_basis")) == tile.parts * tile.shares
