"""Reductions over several dims that do not collapse, against double precision."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from hypothesis import given
from hypothesis import strategies as st
from lowering_cases import DTYPES, Case, lower_case, tensor_type
from random_views import rearranged
from test_lowering_reductions import reduction_case

from hipgraft.codegen.iree import block_tiles
from hipgraft.codegen.iree.compilation_info import lowering_config
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import without
from hipgraft.codegen.workarounds.idle_lanes import IDLE_LANES
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.service.tuning.estimated import EstimatedCostModel
from hipgraft.service.tuning.work import GraphWork


def group_norm_case(groups: int, channels: int, positions: int, element: str) -> Case:
    """Normalizes rows of channels and positions; each channel has a scale of its own."""
    random = np.random.default_rng(0)
    x = random.uniform(-1, 3, (groups, channels, positions)).astype(DTYPES[element])
    scale = random.uniform(1, 2, (1, channels, 1)).astype(np.float32)
    wide = x.astype(np.float64)
    mean = wide.mean((1, 2), keepdims=True)
    variance = wide.var((1, 2), keepdims=True)
    expected = (wide - mean) / np.sqrt(variance + 1) * scale

    def build(gx: Any, gscale: Any) -> ir.Value:
        rows = tensor_type(mean.shape, "f32")
        total = hipdnn.reduction(gx, mode="AVG", result_type=rows)
        apart = hipdnn.pointwise(gx, total, mode="sub", result_type=tensor_type(x.shape, "f32"))
        squares = hipdnn.pointwise(apart, apart, mode="mul")
        spread = hipdnn.reduction(squares, mode="AVG", result_type=rows)
        one = ir.Operation.create(
            "arith.constant",
            results=[rows],
            attributes={"value": ir.DenseElementsAttr.get_splat(rows, ir.FloatAttr.get_f32(1.0))},
        ).result
        factor = hipdnn.pointwise(hipdnn.pointwise(spread, one, mode="add"), mode="rsqrt")
        normal = hipdnn.pointwise(apart, factor, mode="mul")
        result = tensor_type(x.shape, element)
        return hipdnn.pointwise(normal, gscale, mode="mul", result_type=result)

    name = f"group_norm_{groups}_{channels}x{positions}_{element}"
    tolerance = 4e-3 if element == "f16" else 1e-5
    return Case(name, [x, scale], build, [expected], [element], tolerance, tolerance)


def compiled(case: Case, architecture: str) -> Kernel:
    return compile_text(lower_case(replace(case, target=architecture)), Target.parse(architecture))


def check(case: Case, architecture: str) -> None:
    forms = [
        (np.shape(one), DTYPES[element])
        for one, element in zip(case.expected, case.elements, strict=True)
    ]
    case.check(run_kernel(compiled(case, architecture), case.inputs, forms))


# Images of 7 x 7 and 14 x 14; wavefronts that share a block; loops over parts of a block.
NORMS = [
    group_norm_case(3, 64, 49, "f32"),
    group_norm_case(2, 16, 196, "f16"),
    group_norm_case(1, 128, 33, "f32"),
    group_norm_case(1, 24, 1000, "f32"),
    group_norm_case(1, 256, 72, "f32"),
    group_norm_case(2, 10, 196, "f16"),
]


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("case", NORMS, ids=lambda each: each.name)
def test_group_norms(case: Case, architecture: str) -> None:
    check(case, architecture)


@requires_emulator
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(64))
def test_random_reductions_of_views(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rank = int(draw.integers(2, 5))
    shape = [int(one) for one in draw.choice([1, 2, 3, 4, 5, 7, 12, 16, 31, 64], rank)]
    count = int(draw.integers(1, rank + 1))
    axes = tuple(sorted(int(one) for one in draw.choice(rank, count, replace=False)))
    mode, element = str(draw.choice(["ADD", "MAX", "NORM2"])), str(draw.choice(["f32", "f16"]))
    case = rearranged(draw, reduction_case(mode, axes, element, shape))
    check(case, ["gfx942", "gfx1100"][seed % 2])


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_all_lanes_take_less_time(architecture: str) -> None:
    case, model = group_norm_case(64, 8, 784, "f32"), EstimatedCostModel()
    ours = compiled(case, architecture)
    with without(IDLE_LANES):
        other = compiled(case, architecture)
    graph = GraphWork(0, 1, 1, 0, frozenset())
    times = [model.cost(kernel, graph).metrics["microseconds"] for kernel in (ours, other)]
    assert times[0] < times[1] / 2


@pytest.mark.slow
@given(
    st.lists(st.integers(1, 5000), min_size=1, max_size=4),
    st.sampled_from([32, 64]),
    st.sampled_from([1, 2, 8, 32]),
)
def test_distributions(extents: list[int], lanes: int, wavefronts: int) -> None:
    loops = block_tiles._distributed(extents, lanes, wavefronts, 32)
    assert prod(one.lanes for one in loops) == lanes
    shared = [one for one in loops if one.wavefronts > 1]
    assert len(shared) <= 1
    assert all(one.wavefronts <= min(one.lanes, wavefronts) for one in shared)
    steps = [one.tile // (one.lanes * one.wavefronts) for one in loops]
    assert 1 <= prod(steps) <= 32
    partial = [extent for one, extent in zip(loops, extents, strict=True) if extent % one.tile]
    assert len(partial) <= 1


@pytest.mark.parametrize(
    ("extents", "wavefronts", "expected"),
    [
        ((16, 4), 1, ([16, 4], [1, 1])),
        ((16, 900), 8, ([1, 64], [1, 8])),
        ((8, 3136), 8, ([8, 8], [1, 8])),
        ((8, 3136), 1, ([1, 64], [1, 1])),
    ],
)
def test_wavefronts_are_preferred_to_whole_tiles(
    extents: tuple[int, ...], wavefronts: int, expected: tuple[list[int], list[int]]
) -> None:
    assert block_tiles._shared(extents, 64, wavefronts) == expected


@pytest.mark.slow
def test_columns_stay_with_work_items() -> None:
    """Lanes that share a column would read elements of different rows."""
    kernel = compiled(reduction_case("ADD", (0,), "f32", (100, 640)), "gfx942")
    assert kernel.dispatches[0].grid == (10, 1, 1)


@pytest.mark.slow
def test_counted_booleans_stay_with_work_items() -> None:
    """LLVM does not finish compiling some of them; see the workaround `counted-booleans`."""
    x = np.random.default_rng(0).random((3, 5, 8)) < 0.5

    def build(gx: Any) -> ir.Value:
        numbers = hipdnn.pointwise(gx, mode="identity", result_type=tensor_type(x.shape, "i32"))
        return hipdnn.reduction(numbers, mode="ADD", result_type=tensor_type((3, 1, 1), "i32"))

    expected = x.sum((1, 2), keepdims=True).astype(np.int32)
    case = Case("counts", [x], build, [expected], ["i32"], 0, 0)
    kernel = compiled(rearranged(np.random.default_rng(0), case), "gfx942")
    assert kernel.dispatches[-1].grid == (1, 1, 1)


@pytest.mark.slow
def test_ops_that_broadcast_a_result_share_blocks_too() -> None:
    kernel = compiled(group_norm_case(64, 10, 196, "f16"), "gfx942")
    assert {one.grid for one in kernel.dispatches} == {(64, 1, 1)}


@pytest.mark.slow
def test_own_tiles_stand_in_for_those_that_do_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    case = group_norm_case(64, 10, 49, "f32")
    assert compiled(case, "gfx942").dispatches[0].grid == (64, 1, 1)
    broken = lowering_config("workgroup = [4, 0, 0]")
    monkeypatch.setattr(block_tiles, "lowering_config", lambda _: broken)
    assert compiled(case, "gfx942").dispatches[0].grid == (1, 1, 1)


@pytest.mark.slow
def test_own_tiles_of_one_dispatch_are_enough_to_try_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    norm = group_norm_case(64, 10, 49, "f32")
    w = np.zeros((64, 49, 32), np.float32)

    def build(gx: Any, gscale: Any, gw: Any) -> ir.Value:
        result = tensor_type((64, 10, 32), "f32")
        return hipdnn.matmul(norm.build(gx, gscale), gw, result_type=result)

    case = replace(norm, inputs=[*norm.inputs, w], build=build, expected=[w[:, :10]])
    names = [one.kernel for one in compiled(case, "gfx942").dispatches]
    assert "reduction" in names[0]
    assert "matmul" in names[-1]
    broken = lowering_config("workgroup = [4, 0, 0]")
    monkeypatch.setattr(block_tiles, "lowering_config", lambda _: broken)
    assert [one.kernel for one in compiled(case, "gfx942").dispatches] == names
