"""Tiles of matrix instructions that fill a GPU, against double precision and IREE's own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator
from hypothesis import given
from hypothesis import strategies as st
from lowering_cases import DTYPES, Case, tensor_type
from test_blocks import check, compiled
from test_lowering_contractions import conv_case, matmul_case

from hipgraft.codegen import translation
from hipgraft.codegen.iree import matrix_tiles
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.objects.resource_stats import kernel_resources
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.service.tuning.estimated import EstimatedCostModel
from hipgraft.service.tuning.work import GraphWork

ARCHITECTURES = ["gfx942", "gfx1100", "gfx950", "gfx1201"]
ELEMENTS = ["f16", "bf16", "f32"]


def microseconds(kernel: Kernel) -> float:
    graph = GraphWork(0, 1, 1, 0, frozenset())
    return EstimatedCostModel().cost(kernel, graph).metrics["microseconds"]


def joined_case(name: str, rows: int, depth: int, columns: int, count: int, element: str) -> Case:
    """Products of one left factor, which one dispatch computes, and their sum."""
    random = np.random.default_rng(0)
    a = random.uniform(-1, 1, (1, rows, depth)).astype(DTYPES[element])
    others = [
        random.uniform(-1, 1, (1, depth, columns)).astype(DTYPES[element]) for _ in range(count)
    ]
    products = [a.astype(np.float64) @ b.astype(np.float64) for b in others]
    expected = [*products, np.sum(products, 0)]

    def build(left: Any, *rights: Any) -> list[ir.Value]:
        wide = tensor_type((1, rows, columns), "f32")
        values = [hipdnn.matmul(left, right, result_type=wide) for right in rights]
        total = values[0]
        for value in values[1:]:
            total = hipdnn.pointwise(total, value, mode="add")
        narrow = tensor_type((1, rows, columns), element)
        return [
            hipdnn.pointwise(value, mode="identity", result_type=narrow)
            for value in (*values, total)
        ]

    close = 1e-4 if element == "f32" else 2e-2
    return Case(name, [a, *others], build, expected, [element] * (count + 1), close, 30 * close)


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_products(seed: int) -> None:
    draw = np.random.default_rng(seed)
    batch = [int(one) for one in draw.choice([1, 2, 3, 5], int(draw.integers(0, 3)))]
    m, n = (int(one) for one in draw.choice([1, 7, 16, 17, 31, 32, 49, 64, 100, 128], 2))
    k = int(draw.choice([8, 16, 31, 64, 96, 100, 128, 260, 512, 768, 1024]))
    transposed = str(draw.choice(["", "a", "b", "ab"]))
    left, right = (*batch, m, k), (*batch, k, n)
    case = matmul_case(f"{seed}", left, right, str(draw.choice(ELEMENTS)), transposed=transposed)
    check(case, str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_convolutions(seed: int) -> None:
    draw = np.random.default_rng(seed)
    window, step = int(draw.choice([2, 3, 5])), int(draw.choice([1, 1, 2]))
    spread, pad = int(draw.choice([1, 1, 2])), int(draw.integers(0, window // 2 + 1))
    size = [int(one) for one in draw.choice([9, 14, 16, 20, 28], 2)]
    channels = int(draw.choice([3, 16, 20, 48, 64, 128, 256]))
    case = conv_case(
        f"{seed}",
        (int(draw.choice([1, 1, 2])), channels, *size),
        (int(draw.choice([16, 24, 32, 64, 100])), channels, window, window),
        str(draw.choice(ELEMENTS)),
        pre=[pad, pad],
        stride=[step, step],
        dilation=[spread, spread],
        channels_last=bool(draw.random() < 0.4),
    )
    check(case, str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_convolutions_with_few_filters(seed: int) -> None:
    draw = np.random.default_rng(seed)
    window, step, spread = (int(draw.choice(each)) for each in ([2, 3, 5], [1, 1, 2], [1, 1, 2]))
    size = [int(one) for one in draw.choice([10, 14, 17, 20, 33], 2)]
    channels = int(draw.choice([3, 4, 8, 17, 32, 64]))
    case = conv_case(
        f"{seed}",
        (int(draw.choice([1, 1, 2])), channels, *size),
        (int(draw.integers(1, 16)), channels, window, window),
        str(draw.choice(ELEMENTS)),
        pre=[window // 2] * 2,
        stride=[step, step],
        dilation=[spread, spread],
        channels_last=bool(draw.random() < 0.4),
    )
    check(case, str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(40))
def test_random_joined_products(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows, depth = int(draw.choice([16, 32, 64])), int(draw.choice([32, 64, 128, 256]))
    columns, count = int(draw.choice([16, 32, 48, 96, 256])), int(draw.integers(2, 4))
    element = str(draw.choice(ELEMENTS))
    case = joined_case(f"{seed}", rows, depth, columns, count, element)
    check(case, str(draw.choice(ARCHITECTURES)))


# Products and convolutions of published models: BERT, ViT, ResNet.
SLOW_TILES = [
    matmul_case("bert", (1, 128, 768), (1, 768, 768), "f16"),
    matmul_case("vit", (1, 197, 768), (1, 768, 768), "f16"),
    conv_case("resnet", (1, 64, 56, 56), (64, 64, 3, 3), "f16", pre=[1, 1]),
    conv_case("small", (1, 64, 28, 28), (64, 64, 3, 3), "f16", pre=[1, 1]),
]


@requires_emulator
@pytest.mark.thorough
@pytest.mark.parametrize("case", SLOW_TILES, ids=lambda each: each.name)
def test_smaller_tiles_take_less_time(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = compiled(case, "gfx942")
    monkeypatch.setattr(translation, "correct_tiles", lambda *_: False)
    theirs = compiled(case, "gfx942")
    assert prod(ours.dispatches[-1].grid) > 2 * prod(theirs.dispatches[-1].grid)
    assert microseconds(ours) < microseconds(theirs) / 2


@requires_emulator
@pytest.mark.slow
@requires_emulator
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("a", "b"), [((2, 1), (1, 2)), ((1, 32, 1), (1, 1, 40))])
def test_outer_products(a: Sequence[int], b: Sequence[int], element: str) -> None:
    """They have no sums, so that IREE drops the loop over K."""
    check(matmul_case("outer", a, b, element), "gfx942")


def test_joined_products_have_smaller_tiles() -> None:
    kernel = compiled(joined_case("kv", 128, 256, 64, 2, "f16"), "gfx942")
    assert kernel.dispatches[0].grid == (16, 1, 1)


# With 8 filters, IREE's own tiles need more LDS than gfx942 has.
FEW_FILTERS = [
    conv_case("rgb", (1, 64, 48, 48), (3, 64, 3, 3), "f32", pre=[1, 1]),
    conv_case("half", (1, 128, 56, 56), (8, 128, 3, 3), "f16", pre=[1, 1]),
]


@requires_emulator
@pytest.mark.slow
@pytest.mark.parametrize("case", FEW_FILTERS, ids=lambda each: each.name)
def test_few_filters_are_multiplied_by_matrix_instructions(case: Case) -> None:
    kernel = compiled(case, "gfx942")
    assert len(kernel.dispatches) == 1
    assert microseconds(kernel) < 20


@pytest.mark.slow
def test_long_products_fit_into_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    case = matmul_case("long", (1, 1024, 1024), (1, 1024, 1024), "f16")
    (ours,) = kernel_resources(compiled(case, "gfx1100"))
    monkeypatch.setattr(translation, "correct_tiles", lambda *_: False)
    (theirs,) = kernel_resources(compiled(case, "gfx1100"))
    assert ours.spills <= 4 < 100 <= theirs.spills


@pytest.mark.slow
def test_own_tiles_stand_in_for_those_that_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_tiles, "share_sums", lambda *_: False)
    case = matmul_case("small", (1, 128, 256), (1, 256, 64), "f16")
    assert compiled(case, "gfx942").dispatches[0].grid == (16, 1, 1)

    def break_tiles(_: ir.Operation, op: ir.Operation, *_more: object) -> None:
        config = str(op.attributes["lowering_config"]).replace("16x16x16_F16", "16x16x4_F32")
        op.attributes["lowering_config"] = ir.Attribute.parse(config)

    monkeypatch.setattr(matrix_tiles, "_set", break_tiles)
    assert compiled(case, "gfx942").dispatches[0].grid == (2, 1, 1)


@given(
    st.lists(st.integers(1, 300), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(1, 8),
)
def test_halved_tiles(extents: Sequence[int], powers: Sequence[int], wavefronts: int) -> None:
    loops = len(extents)
    sides = "m" + "n" * (loops - 1)
    units = (16, *[1] * (loops - 2), 16)
    workgroup = tuple(unit << power for unit, power in zip(units, powers, strict=False))
    tiles = matrix_tiles._Tiles(tuple(extents), sides, units, workgroup, wavefronts, 4)
    while (half := tiles.halved()) is not None:
        assert prod(half.workgroup) * 2 == prod(tiles.workgroup)
        assert half.count >= tiles.count
        tiles = half
    assert all(tile % unit == 0 for tile, unit in zip(tiles.workgroup, units, strict=True))
    assert (
        prod(tiles.workgroup) < 2 * matrix_tiles._FEWEST_RESULTS
        or max(tile // unit for tile, unit in zip(tiles.workgroup, units, strict=True)) == 1
    )
    parts = zip(tiles.workgroup, units, tiles.shares, strict=True)
    assert all(tile % (unit * share) == 0 for tile, unit, share in parts)
    assert prod(tiles.shares) < 2 * wavefronts
