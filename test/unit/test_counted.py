"""The cost models applied to real kernels, against counts of all of their workgroups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from emulator import requires_emulator
from lowering_cases import tensor_type

from hipgraft.codegen.canonical import container_key, container_text
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.plan import DEFAULT_PLAN, Plan
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.service.request import Request
from hipgraft.service.service import CompileService
from hipgraft.service.tuning.counted import Count, CountedCostModel
from hipgraft.service.tuning.estimated import EstimatedCostModel
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.search import Search
from hipgraft.service.tuning.static import StaticCostModel

GFX942 = Target.parse("gfx942")
GFX1100 = Target.parse("gfx1100")

_ALIVE: list[ir.Module] = []  # an operation does not keep its module

pytestmark = [pytest.mark.slow, requires_emulator]


def graph(
    operands: Sequence[tuple[int, ...]], result: tuple[int, ...], build: Callable[..., Any]
) -> ir.Operation:
    """Returns a graph of f32 tensors."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [tensor_type(shape, "f32") for shape in operands]
            source = ir.Operation.create("test.source", results=types)
            made = hipdnn.graph(list(source.results), [tensor_type(result, "f32")], name="g")
        with ir.InsertionPoint(made.body):
            hipdnn.yield_([build(*made.body.arguments)])
        _ALIVE.append(module)
        return made.operation


def gradient_of_filters() -> ir.Operation:
    """A convolution with a window as large as an image, as in a filter's gradient."""

    def build(x: ir.Value, w: ir.Value) -> ir.Value:
        sliding = {"stride": [1, 1], "dilation": [1, 1]}
        return hipdnn.conv_fprop(x, w, pre_padding=[1, 1], post_padding=[1, 1], **sliding)

    return graph([(3, 4, 16, 16), (8, 4, 16, 16)], (3, 8, 3, 3), build)


def product(*shape: int) -> ir.Operation:
    """A product of extents M, N and K."""
    rows, columns, depth = shape
    return graph([(rows, depth), (depth, columns)], (rows, columns), hipdnn.matmul)


def attention_by_row(heads: int, shared: int) -> ir.Operation:
    """Attention of heads of 17 queries, whose result is stored by rows of all heads."""
    op = graph(
        [(1, heads, 17, 16), *[(1, shared, 17, 16)] * 2],
        (1, heads, 17, 16),
        lambda q, k, v: hipdnn.sdpa(q, k, v, attn_scale_value=0.3),
    )
    strides = f"[array<i64: {17 * heads * 16}, 16, {heads * 16}, 1>]"
    op.attributes["result_strides"] = ir.Attribute.parse(strides, op.context)
    return op


def compiled(op: ir.Operation, search: Search | None, target: Target = GFX942) -> Kernel:
    choices = Choices(op, target)
    with CompileService(search=search) as service:
        (outcome,) = service.compile(
            [
                Request(
                    "g",
                    container_text(op),
                    container_key(op),
                    target,
                    target.default_flags,
                    lambda: choices.lower(DEFAULT_PLAN),
                    choices,
                )
            ]
        )
    assert outcome.kernel is not None
    return outcome.kernel


def counts(kernel: Kernel, sample: int = 0) -> list[Count]:
    return CountedCostModel(sample).counts(kernel)


def instructions(counted: Sequence[Count]) -> float:
    return sum(each.instructions for each in counted)


def test_a_reduction_is_not_split_to_pieces() -> None:
    # With the compiler's own split, it takes fifty times as many.
    op = gradient_of_filters()
    default = instructions(counts(compiled(op, None)))
    found = instructions(counts(compiled(op, Search())))
    assert found <= default < 1e5


def test_a_sample_of_workgroups_stands_for_all() -> None:
    kernel = compiled(gradient_of_filters(), None)
    sampled, complete = (counts(kernel, sample) for sample in (24, 0))
    for few, each in zip(sampled, complete, strict=True):
        assert few.instructions == pytest.approx(each.instructions, rel=0.05)
        assert few.loaded == pytest.approx(each.loaded, rel=0.05)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("rows", "columns"), [(13, 88), (32, 200), (128, 100), (40, 40)])
def test_columns_that_fill_no_tiles_cost_little_more(rows: int, columns: int) -> None:
    odd, even = (
        instructions(counts(compiled(product(rows, more, 48), None, GFX1100)))
        for more in (columns, -(-columns // 128) * 128)
    )
    assert odd < 1.5 * even


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shared", [1, 4])
def test_products_stored_by_row_fill_their_lanes(shared: int) -> None:
    op = attention_by_row(4, shared)
    scores, _, values, *_ = counts(compiled(op, None, GFX1100))
    assert values.instructions < scores.instructions


@pytest.mark.parametrize(
    ("extents", "is_fused"), [((2, 4, 15, 12), True), ((1, 4, 197, 40), False)]
)
def test_time_decides_whether_attention_is_one_launch(
    extents: tuple[int, ...], is_fused: bool
) -> None:
    """Fused, it executes many more instructions; for short sequences, launches take longer."""
    op = graph([extents] * 3, extents, partial(hipdnn.sdpa, attn_scale_value=0.3))
    choices = Choices(op, GFX942)
    work, plans = choices.work(), ("default", "hipdnn.sdpa=fused")
    apart, fused = (
        compile_text(choices.lower(plan), GFX942, (*GFX942.default_flags, *plan.flags))
        for plan in map(Plan.parse, plans)
    )
    # Estimating the long one takes 20 s. The estimates are 63 us unfused and 111 us fused.
    for model in (StaticCostModel(), *([EstimatedCostModel()] if is_fused else [])):
        costs = [model.cost(kernel, work).value for kernel in (apart, fused)]
        assert (costs[1] < costs[0]) == is_fused
    if is_fused:
        assert instructions(counts(apart)) < instructions(counts(fused)) / 1.5


def long_sum() -> ir.Operation:
    def build(x: ir.Value) -> ir.Value:
        return hipdnn.reduction(x, mode="ADD", result_type=tensor_type([1, 1], "f32"))

    return graph([(1, 1_000_000)], (1, 1), build)


def test_time_sees_that_one_workgroup_leaves_a_chip_idle() -> None:
    """Instructions do not: a single workgroup executes fewer than one for each compute unit."""
    choices = Choices(long_sum(), GFX942)
    whole, split = (
        compile_text(choices.lower(plan), GFX942, (*GFX942.default_flags, *plan.flags))
        for plan in map(Plan.parse, ("flags=whole-reductions", "hipdnn.reduction=split"))
    )
    model, work = EstimatedCostModel(), choices.work()
    assert [launch.grid for launch in whole.dispatches] == [(1, 1, 1)]
    assert model.cost(whole, work).value > 5 * model.cost(split, work).value
    (estimate,) = model.estimates(whole)
    assert estimate.units == 1


def test_estimates_are_costs_only_where_they_were_compared() -> None:
    op = product(64, 64, 64)
    kernels = {target: compiled(op, None, target) for target in (GFX942, GFX1100)}
    costs = {target: EstimatedCostModel().cost(each, Choices(op, target).work())
             for target, each in kernels.items()}  # fmt: skip
    assert costs[GFX942].value == costs[GFX942].metrics["microseconds"]
    assert costs[GFX1100].value > costs[GFX1100].metrics["instructions"]
    assert costs[GFX1100].metrics["microseconds"] > 0


def test_chips_without_properties_are_counted() -> None:
    target = Target.parse("gfx90a")
    op = product(64, 64, 64)
    cost = EstimatedCostModel().cost(compiled(op, None, target), Choices(op, target).work())
    assert "microseconds" not in cost.metrics
    assert cost.value > cost.metrics["instructions"] > 0


def test_a_search_takes_the_faster_plan() -> None:
    search = Search("full", [EstimatedCostModel()])
    compiled(long_sum(), search)
    (entry,) = search.found.entries
    assert entry.cost_model == "estimated"
    costs = entry.costs
    assert costs[entry.plan] == min(costs.values())
