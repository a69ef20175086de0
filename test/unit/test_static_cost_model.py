"""Compares the problems and costs of the static cost model with counted instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from emulator import requires_emulator
from lowering_cases import splat, tensor_type

from hipgraft.codegen.kernel import Binding, Dispatch, Kernel
from hipgraft.codegen.objects.resource_stats import KernelResources
from hipgraft.codegen.plan import DEFAULT_PLAN, Plan
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service.tuning.estimated import EstimatedCostModel
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.static import StaticCostModel
from hipgraft.service.tuning.work import GraphWork

_ALIVE: list[ir.Module] = []  # an operation does not keep its module

Shape = Sequence[int]
GFX942 = Target.parse("gfx942")


def graph(operands: Sequence[Shape], result: Shape, build: Callable[..., Any]) -> ir.Operation:
    """Returns a graph of f16 operands and results."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            types = [tensor_type(shape, "f16") for shape in operands]
            source = ir.Operation.create("test.source", results=types)
            op = hipdnn.graph(list(source.results), [tensor_type(result, "f16")], name="graph")
        with ir.InsertionPoint(op.body):
            hipdnn.yield_([build(*op.body.arguments)])
        _ALIVE.append(module)
        return op.operation


def product(m: int, k: int, n: int) -> ir.Operation:
    def build(a: Any, b: Any) -> ir.Value:
        return hipdnn.matmul(a, b, result_type=tensor_type((1, m, n), "f16"))

    return graph([(1, m, k), (1, k, n)], (1, m, n), build)


def reduction(mode: str, length: int) -> ir.Operation:
    def build(x: Any) -> ir.Value:
        return hipdnn.reduction(x, mode=mode, result_type=tensor_type((1, 1), "f16"))

    return graph([(1, length)], (1, 1), build)


def convolution(channels: int, extent: int) -> ir.Operation:
    def build(x: Any, w: Any) -> ir.Value:
        kind = tensor_type((1, channels, extent, extent), "f16")
        around = {name: [1, 1] for name in ("pre_padding", "post_padding", "stride", "dilation")}
        return hipdnn.conv_fprop(x, w, **around, result_type=kind)

    image = (1, channels, extent, extent)
    return graph([image, (channels, channels, 3, 3)], image, build)


def row_norm(length: int) -> ir.Operation:
    def build(x: Any, scale: Any) -> ir.Value:
        return hipdnn.rmsnorm(x, scale, splat(1e-5), forward_phase="INFERENCE")

    return graph([(1, length)] * 2, (1, length), build)


def compiled(choices: Choices, plan: Plan) -> Kernel | None:
    flags = (*GFX942.default_flags, *plan.flags)
    try:
        return compile_text(choices.lower(plan), GFX942, flags)
    except CodegenError:
        return None


@pytest.mark.sampled(6)
@requires_emulator
@pytest.mark.parametrize(
    ("make", "problem", "plan"),
    [
        (lambda: product(2, 1280, 320), "workgroups for 640", "flags=whole-reductions"),
        (lambda: product(64, 8192, 64), "reduces", "default"),
        (lambda: reduction("ADD", 1000000), "by 1 work items", "hipdnn.reduction=split"),
    ],
    ids=["few-rows", "deep", "sum"],
)
def test_it_takes_what_the_emulator_estimates_least(
    make: Callable[[], ir.Operation], problem: str, plan: str
) -> None:
    choices = Choices(make(), GFX942)
    static, estimated, work = StaticCostModel(), EstimatedCostModel(), choices.work()
    tried = {each: compiled(choices, each) for each in (DEFAULT_PLAN, *choices.plans())}
    kernels = {str(each): kernel for each, kernel in tried.items() if kernel is not None}
    costs = {name: static.cost(kernel, work) for name, kernel in kernels.items()}
    assert any(problem in found for found in costs["default"].problems)
    assert min(costs, key=lambda name: costs[name].value) == plan
    costs = {name: estimated.cost(kernel, work).value for name, kernel in kernels.items()}
    assert costs[plan] <= 1.1 * min(costs.values())


SIMPLE = GraphWork(0, 1 << 16, 1 << 12, 0, frozenset())
CONTRACTION = GraphWork(1 << 30, 1 << 16, 1 << 12, 1, frozenset({"f16"}))
MEDIAN = KernelResources("", 256, 64, 32, 0, 32, 0, 0, 0, 16, 8)


def launch(kernel: str, groups: int, written: int) -> Dispatch:
    bindings = (Binding(0, 0, 256, "read"), Binding(1, 0, written, "write"))
    return Dispatch(0, f"main_dispatch_0{kernel}", (groups, 1, 1), (256, 1, 1), 0, bindings, ())


@pytest.mark.parametrize(
    ("kernels", "work", "resources", "workspace", "problem"),
    [
        ([launch("_slow_memcpy", 64, 64)], SIMPLE, {"spills": 3}, 0, "spills 3 registers"),
        ([launch("_slow_memcpy", 4, 64)], SIMPLE, {"spills": 3}, 0, None),
        ([launch("_slow_memcpy", 64, 64)], SIMPLE, {"scratch": 512}, 0, "uses 512 bytes"),
        ([launch("_slow_memcpy", 64, 64)], SIMPLE, {"scratch": 16}, 0, None),
        ([launch("_elementwise_9_f16", 512, 1 << 18)], SIMPLE, {}, 0, None),
        ([launch("_slow_memcpy", 4, 64)], SIMPLE, {}, 1 << 20, "1048576 bytes of transients"),
        ([launch("_slow_memcpy", 4, 64)], SIMPLE, {}, 1 << 19, None),
        ([launch("_matmul_9_f16", 4, 64)], CONTRACTION, {}, 0, "without matrix instructions"),
        ([launch("_reduction_9_f16", 4, 64)], CONTRACTION, {}, 0, "without matrix instructions"),
        ([launch("_reduction_9_f16", 4, 64)] * 2, CONTRACTION, {}, 0, None),
        ([launch("_matmul_9_f16", 4, 64)], replace(CONTRACTION, flops=1 << 20), {}, 0, None),
        ([launch("_matmul_9_f64", 4, 64)], replace(CONTRACTION, elements={"f64"}), {}, 0, None),
    ],
)
def test_each_rule(
    kernels: list[Dispatch],
    work: GraphWork,
    resources: dict[str, int],
    workspace: int,
    problem: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Applies each rule to constructed launches, with resources that only some compilers report."""
    found = [replace(MEDIAN, **resources)] * len(kernels)
    monkeypatch.setattr("hipgraft.service.tuning.static.kernel_resources", lambda _: found)
    problems = (
        StaticCostModel().cost(Kernel("gfx942", "", (b"",), workspace, (*kernels,)), work).problems
    )
    assert len(problems) == (problem is not None)
    assert problem is None or problem in problems[0]


@pytest.mark.parametrize(("slow", "fast"), [(1, 32), (32, 256), (1 << 16, 1 << 12)])
def test_few_workgroups_leave_units_idle_and_many_cost_time(
    slow: int, fast: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hipgraft.service.tuning.static.kernel_resources", lambda _: [MEDIAN])
    monkeypatch.setattr(
        "hipgraft.service.tuning.static.count_matrix_instructions",
        lambda *_: {"main_dispatch_0_matmul_9": 8},
    )
    costs: list[float] = []
    for groups in (slow, fast):
        kernel = Kernel("gfx942", "hsaco", (b"",), 0, (launch("_matmul_9", groups, 1 << 16),))
        costs.append(StaticCostModel().cost(kernel, CONTRACTION).value)
    assert costs[0] > 1.5 * costs[1]


def test_a_launch_more_takes_its_time_and_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    step = launch("_slow_memcpy", 1, 64)
    costs: list[float] = []
    for steps in ((step,), (step, step)):
        found = [MEDIAN] * len(steps)
        monkeypatch.setattr(
            "hipgraft.service.tuning.static.kernel_resources", lambda _, found=found: found
        )
        costs.append(StaticCostModel().cost(Kernel("gfx942", "", (b"",), 0, steps), SIMPLE).value)
    assert costs[1] - costs[0] == pytest.approx(costs[0] + 2, rel=1e-3)


def test_a_launch_takes_as_long_as_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hipgraft.service.tuning.static.kernel_resources", lambda _: [MEDIAN])
    one = Kernel("gfx942", "", (b"",), 0, (launch("_slow_memcpy", 4096, 43 << 20),))
    two = Kernel("gfx942", "", (b"",), 0, (launch("_slow_memcpy", 4096, 86 << 20),))
    first, second = (StaticCostModel().cost(kernel, SIMPLE).value for kernel in (one, two))
    assert second - first == pytest.approx(1e6 * (43 << 20) / 4.3e12, rel=0.01)


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: product(128, 768, 768),
        lambda: product(1, 4096, 4096),
        lambda: row_norm(2048),
        # Of its windows, each work item copies one element of two bytes.
        lambda: convolution(128, 28),
    ],
    ids=["tall", "row", "norm", "convolution-in-parts"],
)
def test_what_is_well_is_no_problem(make: Callable[[], ir.Operation]) -> None:
    choices = Choices(make(), GFX942)
    kernel = compiled(choices, DEFAULT_PLAN)
    assert kernel is not None
    assert StaticCostModel().cost(kernel, choices.work()).problems == ()
