"""Partitions by cost: against all partitions of small programs, and on the CPU against NumPy."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import run_passes
from random_partitions import (
    cheapest_by_trying,
    exchanging_branches,
    is_acyclic,
    is_kernel,
    permuted,
    random_program,
)

import hipgraft
from hipgraft.codegen.chips import GPUS, find_gpu, product_of
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.passmanager.base import PassState
from hipgraft.passmanager.registry import pass_class
from hipgraft.transforms.partition.calibration import read_calibration
from hipgraft.transforms.partition.cost import Roofline, added
from hipgraft.transforms.partition.merging import merged_partition
from hipgraft.transforms.partition.program import Facts, Program, Role
from hipgraft.transforms.partition.regions import Partitioner
from hipgraft.transforms.partition.rules import group_declined, walks_declined

COST = Roofline(GPUS["mi300x"])


def twins(program: Program) -> list[int]:
    """Maps each op to the first equal one, ignoring the names of operands."""
    kinds: dict[object, int] = {}
    found: list[int] = []
    for op, facts in enumerate(program.ops):
        reads = [
            (found[program.producer[one]], 0)
            if program.producer[one] >= 0
            else (-1, program.bytes_of[one])
            for one in program.reads[op]
        ]
        made = [(program.bytes_of[one], program.exported[one]) for one in program.made[op]]
        found.append(kinds.setdefault((facts, tuple(reads), tuple(made)), op))
    return found


def seconds(program: Program, groups: list[tuple[int, ...]]) -> float:
    return sum(COST.time(program, set(group)).seconds for group in groups)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("products", [0, 3])
def test_small_programs_have_the_least_cost(seed: int, products: int) -> None:
    program = random_program(seed, most=9 - products, products=products)
    groups = Partitioner(COST).partition(program)
    assert is_acyclic(program, [list(group) for group in groups])
    assert all(is_kernel(program, frozenset(group)) for group in groups)
    free = [op for op, facts in enumerate(program.ops) if facts.role is not Role.FIXED]
    assert sorted(op for group in groups for op in group) == free
    # Times are compared in quanta; each group may lose half a quantum.
    assert seconds(program, groups) <= 1.005 * cheapest_by_trying(program, COST)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("most_exact", [0, 14])
def test_the_order_of_ops_has_no_influence(seed: int, most_exact: int) -> None:
    program = random_program(seed, least=6, most=20, products=seed % 4)
    other, order = permuted(program, seed)
    groups = Partitioner(COST, most_exact).partition(program)
    again = Partitioner(COST, most_exact).partition(other)
    kinds = twins(program)
    assert sorted(sorted(kinds[op] for op in group) for group in groups) == sorted(
        sorted(kinds[order[op]] for op in group) for group in again
    )


@pytest.mark.slow
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(20))
def test_large_programs_have_legal_groups(seed: int) -> None:
    program = random_program(seed, least=100, most=200, products=seed % 5)
    groups = Partitioner(COST).partition(program)
    assert is_acyclic(program, [list(group) for group in groups])
    assert all(is_kernel(program, frozenset(group)) for group in groups)
    alone = [(op,) for op, facts in enumerate(program.ops) if facts.role is not Role.FIXED]
    assert seconds(program, groups) < seconds(program, alone)


@pytest.mark.slow
@pytest.mark.sampled(12)
@pytest.mark.parametrize("most_exact", [2, 14])
@pytest.mark.parametrize("seed", range(40))
def test_branches_that_read_each_other_make_no_cycle(seed: int, most_exact: int) -> None:
    """A path from a group may lead through another group to ops with lower numbers."""
    program = exchanging_branches(seed)
    groups = Partitioner(COST, most_exact, most_window=14).partition(program)
    assert is_acyclic(program, [list(group) for group in groups])


@pytest.mark.parametrize("seed", range(40))
def test_merging_branches_that_read_each_other_makes_no_cycle(seed: int) -> None:
    program = exchanging_branches(seed)
    groups = merged_partition(program, COST)
    assert is_acyclic(program, [list(group) for group in groups])


def test_two_sums_around_a_product_make_no_cycle() -> None:
    # q reads p, so a graph of p, x and y would depend on itself.
    program = Program()
    a, b = program.value(1 << 20), program.value(1 << 20)
    product = Facts("matmul", Role.ANCHOR, (512, 512), (512, 512), 1e-6, 64)
    total = Facts("add", Role.ELEMENTWISE, (512, 512), (512, 512), 1e-9, 256)
    p = program.op(product, [a, b], [1 << 20])
    q = program.op(product, [program.made[p][0], b], [1 << 20])
    r = program.op(product, [b], [1 << 20])
    x = program.op(total, [program.made[p][0], program.made[r][0]], [1 << 20])
    y = program.op(total, [program.made[x][0], program.made[q][0]], [1 << 20])
    program.exported[program.made[y][0]] = True
    groups = Partitioner(COST).partition(program)
    assert is_acyclic(program, [list(group) for group in groups])
    assert len(groups) == 3
    assert not any({p, y} <= set(group) for group in groups)


def test_a_slower_graph_stays_apart() -> None:
    # Fused, one workgroup would evaluate the function; in a separate kernel, all compute units do.
    def program(cost: float) -> Program:
        made = Program()
        x = made.value(1 << 12)
        heavy = Facts("erf", Role.ELEMENTWISE, (8, 1024), (8, 1024), cost, 512)
        total = Facts("sum", Role.REDUCTION, (8, 1), (8, 1024), 1e-9, 8)
        first = made.op(heavy, [x], [1 << 14])
        last = made.op(total, made.made[first], [32])
        made.exported[made.made[last][0]] = True
        return made

    assert len(Partitioner(COST).partition(program(1e-9))) == 1
    assert len(Partitioner(COST).partition(program(1e-6))) == 2


def column_and_sum(scale: float, *, is_read_elsewhere: bool = False) -> Program:
    """A function of a column, whose result a sum of two matrices reads."""
    made = Program()
    column, matrix = made.value(4 * 512), made.value(4 << 19)
    small = Facts("exp", Role.ELEMENTWISE, (512, 1), (512, 1), scale, 8)
    large = Facts("add", Role.ELEMENTWISE, (512, 1024), (512, 1024), 1e-9, 512)
    first = made.op(small, [column], [4 * 512])
    last = made.op(large, [matrix, *made.made[first]], [4 << 19])
    made.exported[made.made[last][0]] = True
    made.exported[made.made[first][0]] = is_read_elsewhere
    return made


@pytest.mark.parametrize(
    ("scale", "is_read_elsewhere", "groups"),
    [
        (1e-12, False, 1),
        (1e-7, False, 2),  # each element of a column is computed 1,024 times
        (1e-12, True, 2),  # the loops over the matrix cannot store the column
    ],
)
def test_broadcast_elements_are_computed_again(
    scale: float, groups: int, *, is_read_elsewhere: bool
) -> None:
    program = column_and_sum(scale, is_read_elsewhere=is_read_elsewhere)
    assert len(Partitioner(COST).partition(program)) == groups


def test_a_norm_computes_what_it_broadcasts_twice() -> None:
    def compute(seconds: float) -> float:
        program = Program()
        column = Facts("exp", Role.ELEMENTWISE, (512, 1), (512, 1), seconds, 8)
        sums = Facts("add", Role.ELEMENTWISE, (512, 1024), (512, 1024), 1e-9, 512)
        norm = Facts("norm", Role.NORM, (512, 1024), (512, 1024), 1e-9, 512)
        first = program.op(column, [program.value(2048)], [2048])
        second = program.op(sums, [program.value(4 << 19), *program.made[first]], [4 << 19])
        program.op(norm, program.made[second], [4 << 19])
        return COST.time(program, {0, 1, 2}).compute

    assert compute(2e-9) - compute(1e-9) == pytest.approx(2 * 1024 * 1e-9)


def test_an_anchor_decides_what_is_smaller_than_the_loops() -> None:
    program = Program()
    row = Facts("exp", Role.ELEMENTWISE, (1, 1024), (1, 1024), 1e-12, 1)
    norm = Facts("norm", Role.NORM, (512, 1024), (512, 1024), 1e-8, 512)
    scale = program.op(row, [program.value(4096)], [4096])
    program.op(norm, [program.value(4 << 19), *program.made[scale]], [4 << 19])
    assert group_declined(program, {0, 1}) is None
    program.exported[program.made[scale][0]] = True
    assert "smaller than its kernel walks" in str(group_declined(program, {0, 1}))


@pytest.mark.parametrize(
    ("shapes", "declined"),
    [
        ([(2, 1), (1, 3), (2, 3)], False),
        ([(2, 1), (1, 3)], False),
        ([(2, 3), (4, 3)], True),
        ([(2, 3), (3,)], True),
    ],
)
def test_elementwise_ops_of_shapes_that_broadcast(
    shapes: list[tuple[int, ...]], *, declined: bool
) -> None:
    program = Program()
    for shape in shapes:
        program.op(Facts("exp", Role.ELEMENTWISE, shape, shape), [program.value(4)], [4])
    assert (walks_declined(program, range(len(shapes))) is not None) == declined


Array = Any
OPS: dict[str, Callable[..., Array]] = {
    "add": np.add,
    "mul": np.multiply,
    "tanh_fwd": np.tanh,
    "matmul": np.matmul,
    "reduction": partial(np.sum, axis=-1, keepdims=True),
}


def random_module(seed: int) -> tuple[str, list[tuple[str, list[int]]]]:
    """A module of a few ops on 16x16 and 16x1 tensors, and of each op the values that it reads."""
    draw = random.Random(seed)
    shapes, lines = ["16x16", "16x16"], list[str]()
    steps: list[tuple[str, list[int]]] = []
    for number in range(2, 11):
        name = draw.choice([*OPS, "add", "mul"])
        full = [index for index, shape in enumerate(shapes) if shape == "16x16"]
        first = draw.choice(full[-3:])
        shape = "16x1" if name == "reduction" else "16x16"
        reads = [first]
        if name in ("add", "mul"):
            reads.append(draw.randrange(len(shapes)))
        elif name == "matmul":
            reads.append(draw.choice(full))
        kinds = ", ".join(f"tensor<{shapes[index]}xf32>" for index in reads)
        values = ", ".join(f"%v{index}" for index in reads)
        op = name if name in ("matmul", "reduction") else "pointwise"
        mode = "" if name == "matmul" else f' {{mode = "{"ADD" if op == "reduction" else name}"}}'
        lines.append(
            f'%v{number} = "hipdnn.{op}"({values}){mode} : ({kinds}) -> tensor<{shape}xf32>'
        )
        shapes.append(shape)
        steps.append((name, reads))
    read = {index for _, reads in steps for index in reads}
    results = [index for index in range(2, 11) if index not in read or draw.random() < 0.2]
    kinds = ", ".join(f"tensor<{shapes[index]}xf32>" for index in results)
    text = (
        f"func.func @main(%v0: tensor<16x16xf32>, %v1: tensor<16x16xf32>) -> ({kinds}) {{\n  "
        + "\n  ".join(lines)
        + f"\n  return {', '.join(f'%v{index}' for index in results)} : {kinds}\n}}\n"
    )
    return text, [*steps, ("results", results)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(4))
def test_groups_compute_what_the_ops_do(seed: int, tmp_path: Path) -> None:
    text, steps = random_module(seed)
    path = tmp_path / "model.mlir"
    path.write_text(text)
    generator = np.random.default_rng(seed)
    values = [0.25 * generator.standard_normal((16, 16)).astype(np.float32) for _ in range(2)]
    with hipgraft.compile(path, target="cpu") as program:
        found = program.run(values, device="cpu")
    exact: list[Array] = [value.astype(np.float64) for value in values]
    for name, reads in steps[:-1]:
        exact.append(OPS[name](*(exact[index] for index in reads)))
    for index, result in zip(steps[-1][1], found, strict=True):
        limit = 2e-5 * max(1.0, np.abs(exact[index]).max())
        np.testing.assert_allclose(result, exact[index], rtol=0, atol=limit)


def outlined(text: str, **options: object) -> PassState:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        (state,) = run_passes(module, pass_class("hipdnn-outline")(**options))
    return state


PRODUCT = """func.func @f(%a: tensor<64x4096xf16>, %b: tensor<4096x64xf16>) -> tensor<64x64xf16> {
  %p = "hipdnn.matmul"(%a, %b) : (tensor<64x4096xf16>, tensor<4096x64xf16>) -> tensor<64x64xf16>
  %r = "hipdnn.pointwise"(%p) {mode = "relu_fwd"} : (tensor<64x64xf16>) -> tensor<64x64xf16>
  return %r : tensor<64x64xf16>
}"""


def test_graphs_read_and_write_as_many_tensors_as_a_kernel_may() -> None:
    """All sums of a chain are results, so that one graph would write as many as it reads."""
    count = 24
    kind = "tensor<8xf32>"
    lines = [
        f'%s{at} = "hipdnn.pointwise"(%{f"s{at - 1}" if at > 1 else "x0"}, %x{at}) '
        f'{{mode = "add"}} : ({kind}, {kind}) -> {kind}'
        for at in range(1, count)
    ]
    arguments = ", ".join(f"%x{at}: {kind}" for at in range(count))
    results = ", ".join(f"%s{at}" for at in range(1, count))
    kinds = ", ".join([kind] * (count - 1))
    lines = [
        f"func.func @f({arguments}) -> ({kinds}) {{",
        *lines,
        f"return {results} : {kinds}",
        "}",
    ]
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse("\n".join(lines), context)
        pass_class("hipdnn-outline")().run(module, PassState("hipdnn-outline"))
        block = module.body.operations[0].operation.regions[0].blocks[0]
        graphs = [op.operation for op in block.operations if op.operation.name == "hipdnn.graph"]
        sizes = [len(graph.operands) + len(graph.results) for graph in graphs]
    assert len(sizes) > 1
    assert max(sizes) <= 32


def estimate(**options: object) -> tuple[float, float, str]:
    (remark,) = [one for one in outlined(PRODUCT, **options).remarks if one.name == "estimated"]
    return float(remark.args["fused_us"]), float(remark.args["apart_us"]), remark.args["bound"]


def test_remarks_have_estimates() -> None:
    fused, apart, bound = estimate()
    # 4x2 workgroups read and write 2 bytes of each element, 54 bytes each in a cycle of 2.1 GHz.
    moved = 2 * (2 * 64 * 4096 + 64 * 64)
    assert fused == pytest.approx(3.5 + moved / (54 * 2.1e3 * 8), abs=0.01)
    assert apart == pytest.approx(fused + 3.5 + 2 * 2 * 64 * 64 / (54 * 2.1e3 * 4), abs=0.05)
    assert bound == "launch"
    assert estimate(gpu="strix-halo")[0] != fused
    assert estimate(arch="gfx950") == estimate(gpu="mi355x")


def test_a_calibration_scales_estimates(tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    own = {"launch_us": 6.0, "memory": 2.0}
    path.write_text(json.dumps({"hipgraft_calibration": 1, "architectures": {"gfx942": own}}))
    plain, scaled = estimate()[0], estimate(calibration=str(path))[0]
    assert scaled == pytest.approx(6.0 + 2 * (plain - 3.5), abs=0.02)
    assert estimate(calibration=str(path), arch="gfx950") == estimate(arch="gfx950")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("[]", "expected the file to be an object"),
        ("{}", "expected 'hipgraft_calibration': 1"),
        ('{"hipgraft_calibration": 1, "gpus": {}}', "unknown field 'gpus'"),
        (
            '{"hipgraft_calibration": 1, "architectures": {"gfx942": {"memory": 0}}}',
            "expected 'memory' to be a positive number, but found 0",
        ),
        (
            '{"hipgraft_calibration": 1, "architectures": {"gfx942": {"memory": true}}}',
            "expected 'memory' to be a positive number, but found True",
        ),
    ],
)
def test_wrong_calibrations_are_errors(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    path.write_text(text)
    with pytest.raises(HipgraftError, match=message):
        read_calibration(str(path), GPUS["mi300x"])


def test_gpus_of_products_and_architectures() -> None:
    assert find_gpu("gfx90a").name == "MI250X"
    assert find_gpu("gfx942").name == find_gpu("").name == find_gpu("cpu").name == "MI300X"
    assert find_gpu("gfx1200").name == "RX 9070 XT"
    # Architectures without a table of their own have that of the nearest one.
    assert find_gpu("gfx1103").name == "RX 7900 XTX"
    assert find_gpu("gfx940").name == "MI300X"
    assert [product_of(name) for name in ("gfx950", "gfx1100", "mi325x")] == [
        *("mi355x", "rx7900xtx", "mi325x")
    ]
    assert find_gpu("mi325x").memory_bandwidth > find_gpu("mi300x").memory_bandwidth
    with pytest.raises(HipgraftError, match="unknown GPU 'mi1000x'; expected one of mi250x"):
        find_gpu("mi1000x")


@pytest.mark.parametrize("seed", [14, 193, 366, 581, 975, 1063])
@pytest.mark.parametrize("most_exact", [0, 5])
def test_windows_cross_the_borders_of_regions(seed: int, most_exact: int) -> None:
    # For these programs, regions alone find partitions that take 1.2 to 1.5 times as long.
    program = random_program(seed)
    best = cheapest_by_trying(program, COST)
    found = Partitioner(COST, most_exact).partition(program)
    assert is_acyclic(program, [list(group) for group in found])
    assert all(is_kernel(program, frozenset(group)) for group in found)
    assert seconds(program, found) <= 1.05 * best
    if len(program.ops) > most_exact:
        assert seconds(program, Partitioner(COST, most_exact, 0).partition(program)) > 1.2 * best


@pytest.mark.parametrize("seed", range(30))
def test_programs_beyond_the_exact_search_are_near_the_least_cost(seed: int) -> None:
    program = random_program(seed, least=5, most=6, products=seed % 4)
    found = Partitioner(COST, 0, 8).partition(program)
    assert seconds(program, found) <= 1.05 * cheapest_by_trying(program, COST)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_windows_never_cost(seed: int) -> None:
    program = random_program(seed, least=40, most=120)
    groups = Partitioner(COST).partition(program)
    assert is_acyclic(program, [list(group) for group in groups])
    assert all(is_kernel(program, frozenset(group)) for group in groups)
    free = [op for op, facts in enumerate(program.ops) if facts.role is not Role.FIXED]
    assert sorted(op for group in groups for op in group) == free
    # Groups lose half a quantum each at most.
    apart = Partitioner(COST, most_window=0).partition(program)
    assert seconds(program, groups) <= seconds(program, apart) + 1e-8 * len(groups)


@pytest.mark.parametrize(
    ("narrow", "has_factor", "is_shared", "kernels"),
    [(18, True, False, 1), (20, True, False, 2), (18, False, False, 2), (18, True, True, 2)],
)
def test_a_contraction_computes_a_factor_from_fewer_bytes(
    narrow: int, has_factor: bool, is_shared: bool, kernels: int
) -> None:
    program = Program()
    shape = (512, 1024)
    wide = Facts("widen", Role.ELEMENTWISE, shape, shape, 1e-9, 512)
    factor = program.op(wide, [program.value(1 << narrow)], [1 << 20])
    rows = program.value(1 << 13)
    facts = Facts(
        "matmul", Role.ANCHOR, (4, 1024), (4, 1024), 1e-7, 16, shape if has_factor else ()
    )
    product = program.op(facts, [rows, *program.made[factor]], [1 << 13])
    program.exported[program.made[product][0]] = True
    program.exported[program.made[factor][0]] = is_shared
    assert len(Partitioner(COST).partition(program)) == kernels
    if is_shared:
        reason = "a contraction's kernel would store a tensor that does not depend on it"
        assert group_declined(program, {factor, product}) == reason


def test_a_product_of_a_tensor_with_itself_computes_no_factor() -> None:
    program = Program()
    shape = (64, 64)
    wide = Facts("widen", Role.ELEMENTWISE, shape, shape, 1e-9, 4)
    factor = program.op(wide, [program.value(1 << 12)], [1 << 14])
    facts = Facts("matmul", Role.ANCHOR, shape, shape, 1e-7, 1, shape)
    product = program.op(facts, program.made[factor], [1 << 14])
    assert group_declined(program, {factor, product}) == "a contraction starts a graph"


def test_products_of_one_left_factor_compute_no_factor() -> None:
    program = Program()
    shape = (512, 1024)
    wide = Facts("widen", Role.ELEMENTWISE, shape, shape, 1e-9, 512)
    factor = program.op(wide, [program.value(1 << 18)], [1 << 20])
    rows = program.value(1 << 13)
    facts = Facts("matmul", Role.ANCHOR, (4, 1024), (4, 1024), 1e-7, 16, shape)
    products = [
        program.op(facts, [rows, right], [1 << 13])
        for right in (*program.made[factor], program.value(1 << 20))
    ]
    for product in products:
        program.relate(product, 0)
        program.exported[program.made[product][0]] = True
    assert group_declined(program, {*products}) is None
    assert group_declined(program, {factor, products[0]}) is None
    assert group_declined(program, {factor, *products}) == "a contraction starts a graph"


def test_what_reads_a_product_is_not_computed_as_its_factor() -> None:
    """One row times a matrix, and an op that broadcasts the result to the matrix's shape."""
    program = Program()
    shape = (64, 64)
    facts = Facts("matmul", Role.ANCHOR, (1, 64), (1, 64), 1e-7, 16, shape)
    product = program.op(facts, [program.value(256), program.value(1 << 14)], [256])
    add = Facts("add", Role.ELEMENTWISE, shape, shape, 1e-9, 4)
    repeated = program.op(add, [*program.made[product], program.value(1 << 14)], [1 << 14])
    program.exported[program.made[repeated][0]] = True
    assert group_declined(program, {product, repeated}) is not None
    assert len(Partitioner(COST).partition(program)) == 2


def test_weights_are_added_one_by_one() -> None:
    assert added((1, 2, 3, 4, 5), (10, 20, 30, 40, 50)) == (11, 22, 33, 44, 55)
