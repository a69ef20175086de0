"""Rows whose length is not a multiple of the wavefront size, against double precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from lowering_cases import DTYPES, Case, lower_case, tensor_type
from test_lowering_reductions import layernorm_case, reduction_case, rmsnorm_case

from hipgraft.codegen.iree import row_tiles
from hipgraft.codegen.iree.linalg_loops import generics_of
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.service.tuning.estimated import EstimatedCostModel
from hipgraft.service.tuning.static import StaticCostModel
from hipgraft.service.tuning.work import GraphWork

random = np.random.default_rng(3)


def softmax_case(*shape: int, element: str = "f16", dim: int = -1) -> Case:
    # Without the largest element, which is negative, no weight would be left.
    x = random.uniform(-200, -190, shape).astype(DTYPES[element])
    power = np.exp(x.astype(np.float64) - x.max(dim, keepdims=True))
    expected = power / power.sum(dim, keepdims=True)

    def build(gx: Any) -> ir.Value:
        row, wide = (
            tensor_type(expected.sum(dim, keepdims=True).shape, "f32"),
            tensor_type(shape, "f32"),
        )
        highest = hipdnn.reduction(gx, mode="MAX", result_type=row)
        power = hipdnn.pointwise(gx, highest, mode="sub", result_type=wide)
        power = hipdnn.pointwise(power, mode="exp")
        total = hipdnn.reduction(power, mode="ADD", result_type=row)
        result = tensor_type(shape, element)
        return hipdnn.pointwise(power, total, mode="div", result_type=result)

    name = f"softmax_{'x'.join(map(str, shape))}_{element}"
    return Case(name, [x], build, [expected], [element], 1e-3, 1e-5)


# Few rows, long rows, rows of several wavefronts, and rows in a loop.
CASES = [
    (softmax_case(1, 1000), 1),
    (softmax_case(2, 3, 77, element="f32"), 6),
    (softmax_case(20, 1001), 20),
    (softmax_case(17, 9000, element="f32"), 17),
    (layernorm_case("few", (3, 333), (1, 333), "f16"), 3),
    (layernorm_case("long", (20, 401), (1, 401), "f32", mean=3), 20),
    (layernorm_case("one", (1, 1001), (1, 1001), "f16"), 1),
    (rmsnorm_case("one", (1, 1, 5001), (1, 1, 5001), "f32"), 1),
    (rmsnorm_case("few", (5, 100), (1, 100), "f16"), 5),
    (rmsnorm_case("long", (18, 1500), (1, 1500), "bf16"), 18),
    *(
        (reduction_case(mode, (1,), "f32", (3, 1003)), 3)
        for mode in ("ADD", "AVG", "MAX", "MIN", "AMAX", "NORM1", "NORM2", "MUL_NO_ZEROS")
    ),
    (reduction_case("ADD", (1,), "i32", (7, 333)), 7),
    (reduction_case("MAX", (1,), "i32", (7, 333)), 7),
    (reduction_case("MIN", (1,), "i32", (7, 333)), 7),
    (reduction_case("MIN", (2,), "f16", (1, 2, 30001)), 2),
]


def compiled(case: Case, architecture: str) -> Kernel:
    target = Target.parse(architecture)
    return compile_text(lower_case(replace(case, target=architecture)), target)


def check(case: Case, kernel: Kernel) -> None:
    """Fails if a kernel computes wrong results on the emulator."""
    forms = [
        (np.shape(value), DTYPES[element])
        for value, element in zip(case.expected, case.elements, strict=True)
    ]
    case.check(run_kernel(kernel, list(case.inputs), forms))


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("case", "rows"), CASES, ids=lambda each: getattr(each, "name", ""))
def test_each_row_has_a_workgroup(case: Case, rows: int, architecture: str) -> None:
    kernel = compiled(case, architecture)
    (launch,) = kernel.dispatches
    lanes = Target.parse(architecture).wavefront_size
    assert launch.grid[0] == rows
    assert launch.block[0] % lanes == 0
    check(case, kernel)


# IREE's own code for them takes minutes to compile, or spills thousands of registers.
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["gfx942", "gfx950", "gfx1100"])
def test_long_rows_compile_and_do_not_spill(architecture: str) -> None:
    for case in (
        softmax_case(64, 20001),
        layernorm_case("wide", (64, 5001), (1, 5001), "f16"),
        layernorm_case("split", (1, 4, 1030), (1, 4, 1030), "f16"),
    ):
        cost = StaticCostModel().cost(
            compiled(case, architecture), GraphWork(0, 1, 1, 0, frozenset())
        )
        assert cost.metrics["spills"] == 0


# IREE's own reductions of one row are split, and each part is read by one work item.
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "case",
    [
        softmax_case(1, 10),
        softmax_case(1, 1, 3000),
        softmax_case(1, 4096, element="f32"),
        layernorm_case("wide", (1, 40000), (1, 40000), "f16"),
        rmsnorm_case("wide", (1, 100000), (1, 100000), "f16"),
    ],
    ids=lambda case: case.name,
)
def test_one_row_is_read_by_one_workgroup(case: Case, architecture: str) -> None:
    kernel = compiled(case, architecture)
    assert max(launch.grid[0] for launch in kernel.dispatches if "reduc" in launch.kernel) == 1
    check(case, kernel)


# A copy has the rows contiguous; a row of 60 elements that one op reads takes less time than that.
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    ("case", "launches"),
    [
        (softmax_case(2, 100, 9, dim=1), 2),
        (softmax_case(300, 5, element="f32", dim=0), 2),
        (reduction_case("ADD", (1,), "f32", (2, 300, 9)), 2),
        (reduction_case("MAX", (0, 1), "f16", (20, 17, 5)), 2),
        (reduction_case("AVG", (1,), "f32", (2, 60, 9)), 1),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_rows_that_are_apart(case: Case, launches: int, architecture: str) -> None:
    kernel = compiled(case, architecture)
    assert len(kernel.dispatches) == launches
    check(case, kernel)


# Forms on either side of the numbers of rows from which a work item takes less time for each.
@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize(
    ("case", "architecture", "is_shared"),
    [
        (softmax_case(1024, 197), "gfx942", True),
        (softmax_case(65536, 7), "gfx942", False),
        (layernorm_case("many", (16384, 96), (1, 96), "f32"), "gfx942", True),
        (reduction_case("ADD", (1,), "f32", (65536, 17)), "gfx942", False),
        (softmax_case(1024, 17), "gfx1100", True),
        (reduction_case("ADD", (1,), "f32", (131072, 33)), "gfx1100", False),
        (reduction_case("ADD", (1,), "f32", (16384, 197)), "gfx1100", True),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_what_takes_less_time_decides(
    case: Case, architecture: str, is_shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, model = compiled(case, architecture), EstimatedCostModel()
    graph = GraphWork(0, 1, 1, 0, frozenset())
    assert (ours.dispatches[0].grid[0] == case.inputs[0].shape[0]) == is_shared
    if is_shared:
        monkeypatch.setattr(row_tiles, "SHARED_FROM", {32: 1 << 30, 64: 1 << 30})
        monkeypatch.setattr(row_tiles, "_LEAST_SHARED", 1 << 30)
    else:
        monkeypatch.setattr(row_tiles, "SHARED_FROM", {32: 0, 64: 0})
    other = compiled(case, architecture)
    assert other.dispatches[0].grid != ours.dispatches[0].grid
    times = [model.cost(kernel, graph).metrics["microseconds"] for kernel in (ours, other)]
    assert times[0] < times[1]


@requires_emulator
@pytest.mark.sampled(28)
@pytest.mark.parametrize("seed", range(48))
def test_random_rows(seed: int) -> None:
    draw = np.random.default_rng(seed)
    length = int(draw.choice([draw.integers(5, 64), draw.integers(64, 700)]))
    count, element = int(draw.choice([1, 2, 3, 17, 70])), str(draw.choice(["f32", "f16"]))
    case = [
        softmax_case(2, count, length, element=element),
        layernorm_case("random", (count, length), (1, length), element, mean=3),
        rmsnorm_case("random", (count, length), (1, length), element),
        reduction_case("MAX", (1, 2), "f32", (count, 3, length)),
        reduction_case("NORM2", (1,), "f32", (count, length)),
        reduction_case("ADD", (1,), "i32", (count, length)),
    ][seed % 6]
    check(case, compiled(case, ["gfx942", "gfx950", "gfx1100"][seed % 3]))


_DISPATCH = """
#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: {tensor}, %t: {sums}) -> ({tensor}, {sums}) {{
  %y = linalg.generic {{indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}}
      ins(%x : {tensor}) outs(%x : {tensor}) {{
  ^bb0(%e: f32, %unused: f32):
    %0 = arith.negf %e : f32
    linalg.yield %0 : f32
  }} -> {tensor}
  %s = linalg.generic {{indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%x : {tensor}) outs(%t : {sums}) {{
  ^bb0(%e: f32, %sum: f32):
    %0 = arith.addf %sum, %e : f32
    linalg.yield %0 : f32
  }} -> {sums}
  return %y, %s : {tensor}, {sums}
}}
"""


# Each way to spread rows over wavefronts of 64, and the sizes next to where it ends.
@pytest.mark.parametrize(
    ("rows", "length", "is_lone", "wavefronts", "at_once", "step"),
    [
        (3, 4, True, 0, 0, 0),
        (3, 5, True, 1, 1, 64),
        (3, 100, True, 1, 1, 128),
        (3, 150, True, 1, 2, 256),
        (300, 1000, True, 1, 4, 1024),
        (300, 1030, True, 2, 4, 1536),
        (300, 1030, False, 1, 4, 1280),
        (3, 30001, True, 16, 4, 16384),
        (3, 30001, False, 16, 4, 32768),
        (3, 130001, False, 16, 4, 131072),
        (3, 140001, False, 0, 0, 0),
        (9120, 10, True, 1, 1, 64),
        (9121, 10, True, 0, 0, 0),
        (18240, 10, False, 1, 1, 64),
        (18241, 10, False, 0, 0, 0),
        (1000000, 33, True, 1, 1, 64),
    ],
)
def test_sizes_choose_the_spread(
    rows: int, length: int, is_lone: bool, wavefronts: int, at_once: int, step: int
) -> None:
    text = _DISPATCH.format(tensor=f"tensor<{rows}x{length}xf32>", sums=f"tensor<{rows}xf32>")
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (ops,) = generics_of(module)
        ops = ops[is_lone:]
        assert row_tiles.set_rows_of(ops, Target.parse("gfx942")) == (wavefronts > 0)
        if wavefronts:
            config = str(ops[-1].attributes["compilation_info"])
            assert f"subgroup_basis = {[[1, wavefronts], [0, 1]]}" in config
            assert f"thread = {[0, at_once]}" in config
            assert f"partial_reduction = {[0, step]}" in config


def test_products_are_no_rows() -> None:
    """No operand has all loops."""
    text = """
    func.func @main(%a: tensor<3x100xf32>, %b: tensor<7x100xf32>, %t: tensor<3x7xf32>)
        -> tensor<3x7xf32> {
      %p = linalg.generic {
          indexing_maps = [
            affine_map<(d0, d1, d2) -> (d0, d2)>,
            affine_map<(d0, d1, d2) -> (d1, d2)>,
            affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : tensor<3x100xf32>, tensor<7x100xf32>) outs(%t : tensor<3x7xf32>) {
      ^bb0(%x: f32, %y: f32, %sum: f32):
        %0 = arith.mulf %x, %y : f32
        %1 = arith.addf %sum, %0 : f32
        linalg.yield %1 : f32
      } -> tensor<3x7xf32>
      return %p : tensor<3x7xf32>
    }
    """
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (ops,) = generics_of(module)
        assert not row_tiles.set_rows_of(ops, Target.parse("gfx942"))
