"""Groups hipDNN ops and moves each group into a `hipdnn.graph`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hipgraft.codegen.chips import GPUS, find_gpu
from hipgraft.engines import find_engine
from hipgraft.engines.registry import IREE, check_names
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import node_name
from hipgraft.ir.io import function_blocks
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.transforms.block_costs import Block, GraphCosts
from hipgraft.transforms.engine_choice import COST, POLICIES, EngineChoice
from hipgraft.transforms.joined_products import report_apart, report_joined
from hipgraft.transforms.outlining import Group, graph_name, make_graph, outline
from hipgraft.transforms.partition.calibration import Calibration, read_calibration
from hipgraft.transforms.partition.cost import GraphTime, Roofline
from hipgraft.transforms.partition.reader import ProgramReader


def _widened(value: ir.Value) -> ir.Type:
    """The type of a value that stays inside a graph: f32 for f16 and bf16."""
    kind = ir.RankedTensorType(value.type)
    if isinstance(kind.element_type, ir.F16Type | ir.BF16Type):
        return ir.RankedTensorType.get(kind.shape, ir.F32Type.get())
    return kind


@dataclass(frozen=True)
class HipdnnOutlinePass(Pass):
    """Moves groups of hipDNN ops into `hipdnn.graph` containers.

    A graph has one anchor (a contraction, an attention, or norms or reductions over the same
    dimensions) and the elementwise ops that can share its kernel. Elementwise ops without an anchor
    form graphs of their own. Values that stay inside a graph are f32 where the program has f16 or
    bf16, so that a chain is rounded once, at its end.

    Up to four products of one left factor, such as q, k and v of attention or a gate and the
    projection that it gates, share a graph, each with its elementwise ops: their kernel is one
    launch that loads the factor once. The rows are a multiple of 16, the right factors are
    arguments or constants of one type, and no other contraction comes between the ops that need the
    results. A passed remark `joined` names such a graph, a missed remark `products-apart` says why
    a product is not in the graph of an earlier one.

    Among all such graphs the pass forms those of least estimated time, unless `policy` says
    otherwise; see [its page](cost.md). Analysis remarks have the estimates.

    With other `engines`, the engine determines the graph: an op joins a graph as long as the
    graph's engine, or one before it, takes the bigger graph; see
    [engines](engines.md#graphs-for-engines). An op that no engine takes gets a missed remark with
    the first rule of each engine that fails.

    Before:
        ```mlir
        %0 = "hipdnn.matmul"(%a, %b) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        %1 = "hipdnn.pointwise"(%0) {mode = "relu_fwd"} : (tensor<8x6xf16>) -> tensor<8x6xf16>
        ```

    After:
        ```mlir
        %1 = "hipdnn.graph"(%a, %b) ({
        ^bb0(%ga: tensor<8x4xf16>, %gb: tensor<4x6xf16>):
          %2 = "hipdnn.matmul"(%ga, %gb) : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf32>
          %3 = "hipdnn.pointwise"(%2) {mode = "relu_fwd"} : (tensor<8x6xf32>) -> tensor<8x6xf16>
          "hipdnn.yield"(%3) : (tensor<8x6xf16>) -> ()
        }) {engine = "iree", name = "matmul_relu_fwd_0"}
            : (tensor<8x4xf16>, tensor<4x6xf16>) -> tensor<8x6xf16>
        ```

    Requires:
        Stage `hipdnn-ops`.

    Ensures:
        Every hipDNN compute op is inside a `hipdnn.graph`, except ops that no engine takes and
        elementwise ops that only torch ops read or that continue a torch op's elementwise
        computation: `hipdnn-outline-fallback` makes these part of torch ops' kernels. Each graph is
        connected and the program stays acyclic. A graph may have several results. Its `engine`
        takes it.

    Errors:
        An unknown engine, policy or GPU, or a malformed file of an engine or a calibration.

    Source:
        own; the epilogue rules are those of cuDNN's generic runtime fusion engines.
    """

    name: ClassVar[str] = "hipdnn-outline"
    requires: ClassVar[str | None] = "hipdnn-ops"

    wide_virtuals: bool = option(True, "compute f16 and bf16 values that stay in a graph in f32")
    engines: tuple[str, ...] = option(
        (IREE,), "engines to form graphs for, the preferred first: names or paths of files"
    )
    arch: str = option(
        "", "architecture to check for; rules about architectures are left out if empty"
    )

    policy: str = option("cost", "how ops are grouped: 'cost', 'greedy', 'single-op' or 'migraphx'")
    gpu: str = option(
        "", "GPU that times are estimated for, e.g. 'mi325x'; that of 'arch', or MI300X, if empty"
    )
    calibration: str = option("", "JSON file of measured factors for these estimates")
    join_products: bool = option(
        True, "let up to four products of one left factor share a graph (policy 'cost')"
    )

    def __post_init__(self) -> None:
        check_names(self.engines)
        if not self.engines:
            raise ValueError("option 'engines' names no engine")
        if self.policy not in POLICIES:
            known = ", ".join(f"'{name}'" for name in POLICIES)
            raise ValueError(f"unknown policy '{self.policy}'; expected one of {known}")
        if self.gpu and self.gpu not in GPUS:
            raise ValueError(f"unknown GPU '{self.gpu}'; expected one of {', '.join(GPUS)}")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Outlines the graphs of every function."""
        engines = [find_engine(name) for name in self.engines]
        choice = EngineChoice(engines, self.arch, self._element_of, self.policy, self._costs())
        made = 0
        for block in function_blocks(module):
            made = self._outline_block(block, made, choice, state)

    def _costs(self) -> GraphCosts:
        gpu = find_gpu(self.gpu or self.arch)
        factors = read_calibration(self.calibration, gpu) if self.calibration else Calibration()
        launch = None if factors.launch_us is None else 1e-6 * factors.launch_us
        return GraphCosts(
            ProgramReader(gpu, factors.compute, joins_products=self.join_products),
            Roofline(gpu, factors.memory, launch),
        )

    def _type_inside(self, value: ir.Value) -> ir.Type:
        return _widened(value) if self.wide_virtuals else value.type

    def _element_of(self, value: ir.Value, is_inside: bool) -> str:
        kind = self._type_inside(value) if is_inside else value.type
        return str(ir.RankedTensorType(kind).element_type)

    def _outline_block(
        self, block: ir.Block, first: int, choice: EngineChoice, state: PassState
    ) -> int:
        *ops, terminator = [op.operation for op in block.operations]
        grouping, times = choice.group(Block(ops, list(terminator.operands)), state)
        if self.policy == COST and self.join_products:
            report_apart(ops, grouping, state)

        def make(
            group: Group, number: int, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
        ) -> Sequence[ir.Value]:
            name, engine = graph_name(group, number), choice.engine_of(group)
            state.count("graphs")
            state.count("outlined-ops", len(group.ops))
            message = f"{len(group.ops)} ops as graph '{name}'"
            message += "" if engine == IREE else f" for {engine}"
            node = node_name(group.ops[0].location)
            state.passed(group.ops[0], "outlined", message, engine=engine, node=node)
            report_joined(group, name, state)
            if group in times:
                self._report_time(times[group], name, group, state)
            return make_graph(
                group, inputs, outputs, name=name, engine=engine, type_inside=self._type_inside
            )

        return outline(block, grouping, make, first)

    def _report_time(self, time: GraphTime, name: str, group: Group, state: PassState) -> None:
        state.analysis(
            group.ops[0],
            "estimated",
            f"graph '{name}' takes {time}",
            fused_us=f"{1e6 * time.fused.seconds:.2f}",
            apart_us=f"{1e6 * time.apart:.2f}",
            bound=time.fused.bound,
        )
