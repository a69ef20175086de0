"""Compares the wave instructions of the chosen lowering with all others, on an emulator.

    python benchmarks/alternatives.py [--target gfx942] [--match 197]
        [--limit 1.1]

Prints a row for each case: the counts of all lowerings, and the ratio of the lowering that
`--search=default` chooses without a database (marked by `*`) to the best one. Exits with 1 if the
ratio exceeds `--limit` in one of `KNOWN`, the first cases. The shapes are off IREE's happy paths:
attention whose sequence or head is not a multiple of the tile, strided 1x1 convolutions, products
with a long inner dimension. `fused` is omitted where it is known to cost hundreds of times more;
`--all` counts it, too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.codegen.canonical import container_key, container_text
from hipgraft.codegen.plan import DEFAULT_PLAN
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.request import Request
from hipgraft.service.service import CompileService
from hipgraft.service.tuning.cost_model import Cost, CostModel
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.search import Search, open_cost_models

Shape = Sequence[int]


@dataclass(frozen=True)
class Case:
    """A graph of one op and a rounding of its result."""

    name: str
    element: str
    operands: Sequence[Shape]
    result: Shape
    build: Callable[..., ir.Value]


def attention(batch: int, heads: int, sequence: int, size: int, element: str) -> Case:
    shape = (batch, heads, sequence, size)
    name = f"sdpa {'x'.join(map(str, shape))} {element}"

    def build(q: Any, k: Any, v: Any) -> ir.Value:
        return hipdnn.sdpa(q, k, v, attn_scale_value=size**-0.5)

    return Case(name, element, [shape] * 3, shape, build)


def convolution(c: int, size: int, k: int, window: int, stride: int, element: str) -> Case:
    pad = window // 2
    out = (size + 2 * pad - window) // stride + 1
    result = (1, k, out, out)

    def build(x: Any, w: Any) -> ir.Value:
        sliding = {"stride": [stride] * 2, "dilation": [1, 1]}
        padding = {"pre_padding": [pad] * 2, "post_padding": [pad] * 2}
        y = hipdnn.conv_fprop(x, w, **sliding, **padding, result_type=tensor(result, "f32"))
        return hipdnn.pointwise(y, mode="identity", result_type=tensor(result, element))

    name = f"conv {c}x{size}x{size} to {k}, {window}x{window} by {stride} {element}"
    return Case(name, element, [(1, c, size, size), (k, c, window, window)], result, build)


def product(m: int, k: int, n: int, element: str) -> Case:
    def build(a: Any, b: Any) -> ir.Value:
        y = hipdnn.matmul(a, b, result_type=tensor((1, m, n), "f32"))
        return hipdnn.pointwise(y, mode="identity", result_type=tensor((1, m, n), element))

    return Case(f"matmul {m}x{k}x{n} {element}", element, [(1, m, k), (1, k, n)], (1, m, n), build)


# Shapes for which one of the lowerings is known to be tens or hundreds of times slower in IREE.
KNOWN = [
    attention(1, 12, 128, 64, "f32"),
    attention(1, 12, 128, 64, "f16"),
    attention(1, 12, 197, 64, "f32"),
    attention(1, 12, 197, 64, "f16"),
    attention(1, 8, 1024, 64, "f16"),
    attention(1, 8, 1024, 40, "f16"),
    attention(1, 8, 1000, 64, "f16"),
    attention(1, 32, 128, 128, "bf16"),
    attention(1, 8, 1500, 64, "f32"),
    convolution(256, 56, 512, 1, 2, "f16"),
]

OTHERS = [
    convolution(512, 28, 1024, 1, 2, "f16"),
    convolution(1024, 14, 2048, 1, 2, "f16"),
    convolution(256, 56, 512, 1, 2, "f32"),
    convolution(64, 56, 64, 3, 1, "f16"),
    convolution(3, 224, 64, 7, 2, "f16"),
    product(197, 768, 768, "f16"),
    product(1, 4096, 4096, "f16"),
    product(64, 8192, 64, "f16"),
    product(128, 3072, 768, "f32"),
]


def tensor(shape: Shape, element: str) -> ir.Type:
    return ir.Type.parse(f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>")


def container(module: ir.Module, case: Case) -> ir.Operation:
    types = [tensor(shape, case.element) for shape in case.operands]
    with ir.InsertionPoint(module.body):
        source = ir.Operation.create("benchmark.source", results=types)
        results = [tensor(case.result, case.element)]
        graph = hipdnn.graph(list(source.results), results, name="case")
    with ir.InsertionPoint(graph.body):
        hipdnn.yield_([case.build(*graph.body.arguments)])
    return graph.operation


def measure(case: Case, target: Target, cost_model: CostModel, everything: bool) -> dict[str, Cost]:
    """Returns costs by plan, without plans that do not compile."""
    costs: dict[str, Cost] = {}
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        choices = Choices(container(module, case), target)
        for plan in (DEFAULT_PLAN, *choices.plans()):
            if "fused" in str(plan) and not everything:
                continue
            flags = (*target.default_flags, *plan.flags)
            try:
                kernel = compile_text(choices.lower(plan), target, flags)
            except HipgraftError:
                continue
            costs[str(plan)] = cost_model.cost(kernel, choices.work())
    return costs


def chosen(case: Case, target: Target) -> str:
    """Returns the plan that the search chooses without any counts."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        graph = container(module, case)
        choices = Choices(graph, target)
        texts = (container_text(graph), container_key(graph))
        request = Request(
            "case",
            *texts,
            target,
            target.default_flags,
            lambda: choices.lower(DEFAULT_PLAN),
            choices,
        )
        with CompileService(search=Search()) as service:
            (outcome,) = service.compile([request])
    if outcome.decision is None:
        raise SystemExit(f"{case.name}: {outcome.error}")
    return str(outcome.decision.chosen.plan)


def report(case: Case, taken: str, costs: dict[str, float]) -> float:
    """Prints the row of a case and returns the ratio of the chosen plan to the best."""
    ratio = costs[taken] / min(costs.values())
    figures = ", ".join(
        f"{'*' if plan == taken else ''}{plan} {cost:.2e}" for plan, cost in costs.items()
    )
    print(f"{case.name:34} {ratio:5.2f}  {figures}", flush=True)
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--match", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--limit", type=float, default=1.1)
    arguments = parser.parse_args()
    (cost_model,) = open_cost_models(["counted"])
    target = Target.parse(arguments.target)
    worst = 0.0
    for case in (*KNOWN, *OTHERS):
        if arguments.match in case.name:
            measured = measure(case, target, cost_model, arguments.all)
            costs = {plan: cost.value for plan, cost in measured.items()}
            ratio = report(case, chosen(case, target), costs)
            worst = max(worst, ratio if case in KNOWN else 0)
    return int(worst > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
