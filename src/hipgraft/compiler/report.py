"""Reports a compilation: graphs with their launches, and declined rewrites with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hipgraft.codegen.kernel import kernels_of
from hipgraft.codegen.objects.resource_stats import (
    KernelResources,
    kernel_resources,
    required_resources,
)
from hipgraft.compiler.coverage import CoverageRow
from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import gpu_d, ir
from hipgraft.ir.diagnostics import Remark, RemarkKind, location_texts
from hipgraft.ir.entry_points import EXTENTS, SYMBOLS, functions_of, targets_of
from hipgraft.ir.io import function_blocks
from hipgraft.ir.symbols import symbol_of
from hipgraft.passmanager.runner import PassRecord
from hipgraft.passmanager.statistics import remarks_of
from hipgraft.runtime.host_program.kernels import objects_by_chip

_KINDS = {"hipdnn.graph": "graph", "hipdnn.fallback": "fallback", "func.func": "function"}
_CONTAINERS = ("hipdnn.graph", "hipdnn.fallback")
_NO_COMPUTE = ("hipdnn.yield", "arith.constant", "func.return")
_NO_KERNEL = ("torch.constant.", "torch.prim.ListConstruct", "torch.vtensor.literal", "torch_c.")


@dataclass(frozen=True)
class GraphRow:
    """An outlined graph, or a function with dynamic shapes, which is compiled as a whole.

    Attributes:
        name: symbol of the graph or function.
        kind: `graph`, `fallback` for what hipDNN cannot express, or `function`.
        ops: names of its ops without dialect, in order.
        nodes: origin in the model: names of ONNX nodes, or locations in files.
    """

    name: str
    kind: str
    ops: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class LaunchRow:
    """One executable.

    Attributes:
        name: symbol of the executable.
        launches: number of kernel launches per call, by target.
        calls: number of calls per run of the program, or per run of each variant.
    """

    name: str
    launches: dict[str, int]
    calls: int


@dataclass(frozen=True)
class KernelRow:
    """One launch of an executable.

    Attributes:
        executable: symbol of the executable.
        target: architecture.
        resources: resource usage of the kernel.
    """

    executable: str
    target: str
    resources: KernelResources


@dataclass
class Report:
    """The results of a compilation.

    Attributes:
        graphs: the outlined graphs, in program order.
        coverage: the ops inside and outside of graphs, by kind.
        executables: executables that the graphs were compiled to.
        kernels: the launches of each executable on each AMDGPU target.
        remarks: all remarks of the passes.
        counters: statistics of the passes, by `pass.name`.
        seconds: wall time by stage.
        pipelines: text of the pipeline that produced each stage, by stage.
        passes: name and wall time of each pass, or group of native passes, in order.
    """

    graphs: list[GraphRow] = field(default_factory=list[GraphRow])
    coverage: list[CoverageRow] = field(default_factory=list[CoverageRow])
    executables: list[LaunchRow] = field(default_factory=list[LaunchRow])
    kernels: list[KernelRow] = field(default_factory=list[KernelRow])
    remarks: list[Remark] = field(default_factory=list[Remark])
    counters: Counter[str] = field(default_factory=Counter[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    pipelines: dict[str, str] = field(default_factory=dict[str, str])
    passes: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    @property
    def declined(self) -> list[Remark]:
        """The remarks about rewrites that were declined, with the reasons."""
        return [remark for remark in self.remarks if remark.kind is RemarkKind.MISSED]

    def add_records(self, records: Sequence[PassRecord]) -> None:
        """Adds the remarks and statistics of the passes of a run."""
        self.remarks += remarks_of(records)
        self.passes += [(record.name, record.seconds) for record in records]
        for record in records:
            for name, count in record.state.counters.items():
                self.counters[f"{record.state.pass_name}.{name}"] += count


def graph_rows(module: ir.Module) -> list[GraphRow]:
    """Returns the containers of a program at stage `hipdnn-graphs`, in order."""
    return [_row(op) for op in _function_ops(module) if op.name in _CONTAINERS]


def function_rows(module: ir.Module) -> list[GraphRow]:
    """Returns the functions with dynamic shapes, at stage `torch`."""
    return [_row(op, symbol_of(op)) for op in functions_of(module) if SYMBOLS in op.attributes]


def function_launch_rows(module: ir.Module) -> list[LaunchRow]:
    """Returns the functions with dynamic shapes at stage `host`, as executables that run once."""
    rows: list[LaunchRow] = []
    for function in _dynamic_functions(module):
        launches = len(_launches(function))
        rows.append(
            LaunchRow(symbol_of(function), dict.fromkeys(targets_of(function), launches), 1)
        )
    return rows


def function_kernel_rows(module: ir.Module) -> list[KernelRow]:
    """Returns the launches in functions with dynamic shapes, with their resource usage."""
    operations = [op.operation for op in module.body.operations]
    binaries = {symbol_of(op): op for op in operations if op.name == "gpu.binary"}
    rows: list[KernelRow] = []
    for function in _dynamic_functions(module):
        for launch in _launches(function):
            binary, kernel = ir.SymbolRefAttr(launch.attributes["kernel"]).value
            for target in targets_of(function):
                data = gpu_d.ObjectAttr(objects_by_chip(binaries[binary])[target]).object
                if (resources := required_resources(data, kernel)) is not None:
                    rows.append(KernelRow(symbol_of(function), target, resources))
    return rows


def _dynamic_functions(module: ir.Module) -> list[ir.Operation]:
    return [op for op in functions_of(module) if EXTENTS in op.attributes]


def _launches(function: ir.Operation) -> list[ir.Operation]:
    return [op for op in ir_io.walk(function) if op.name == "gpu.launch_func"]


def launch_rows(module: ir.Module) -> list[LaunchRow]:
    """Returns the executables of a program, with their launches on each target."""
    calls = Counter(_symbol(op, "callee") for op in _function_ops(module) if _is_call(op))
    executables = (op.operation for op in module.body.operations)
    return [
        LaunchRow(_symbol(op, "sym_name"), _dispatches(op), calls[_symbol(op, "sym_name")])
        for op in executables
        if op.name == "hipdnn.executable"
    ]


def kernel_rows(module: ir.Module) -> list[KernelRow]:
    """Returns the launches of a program's executables, with their resource usage."""
    return [
        KernelRow(_symbol(op.operation, "sym_name"), kernel.target, resources)
        for op in module.body.operations
        if op.operation.name == "hipdnn.executable"
        for kernel in kernels_of(op)
        for resources in kernel_resources(kernel)
    ]


def _function_ops(module: ir.Module) -> Iterator[ir.Operation]:
    for block in function_blocks(module):
        yield from (op.operation for op in block.operations)


def _row(container: ir.Operation, name: str = "") -> GraphRow:
    body = [op.operation for op in container.regions[0].blocks[0].operations]
    ops = [op for op in body if not op.name.startswith((*_NO_COMPUTE, *_NO_KERNEL))]
    nodes = (text for op in ops for text in location_texts(op.location))
    return GraphRow(
        name=name or _container_name(container),
        kind=_KINDS[container.name],
        ops=tuple(op.name.partition(".")[2] for op in ops),
        nodes=tuple(dict.fromkeys(nodes)),
    )


def _container_name(container: ir.Operation) -> str:
    """Returns the name of a container, or of its op if it has none."""
    if "name" not in container.attributes:
        return container.name.removeprefix("hipdnn.")
    return ir.StringAttr(container.attributes["name"]).value


def _is_call(op: ir.Operation) -> bool:
    return op.name == "hipdnn.execute"


def _symbol(op: ir.Operation, name: str) -> str:
    return str(op.attributes[name]).strip('@"')


def _dispatches(executable: ir.Operation) -> dict[str, int]:
    counts: dict[str, int] = {}
    for binary in map(ir.DictAttr, ir.ArrayAttr(executable.attributes["binaries"])):
        if "steps" in binary:
            target = ir.StringAttr(binary["target"]).value
            steps = map(ir.DictAttr, ir.ArrayAttr(binary["steps"]))
            kinds = [ir.StringAttr(step["op"]).value for step in steps]
            counts[target] = kinds.count("dispatch")
    return counts
