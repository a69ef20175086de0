"""What a compilation did: its graphs with their launches, and what was declined and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from hipgraft.codegen.kernel import kernels_of
from hipgraft.codegen.objects.resource_stats import KernelResources, kernel_resources
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Remark, RemarkKind
from hipgraft.ir.io import function_blocks
from hipgraft.passmanager.runner import PassRecord
from hipgraft.passmanager.statistics import remarks_of

_CONTAINERS = ("hipdnn.graph", "hipdnn.fallback")
_NO_COMPUTE = ("hipdnn.yield", "arith.constant")
_NO_KERNEL = ("torch.constant.", "torch.prim.ListConstruct", "torch.vtensor.literal", "torch_c.")


@dataclass(frozen=True)
class GraphRow:
    """One outlined graph.

    Attributes:
        name: its symbol.
        kind: `graph`, or `fallback` for what hipDNN cannot express.
        ops: names of its ops without dialect, in order.
    """

    name: str
    kind: str
    ops: tuple[str, ...]


@dataclass(frozen=True)
class LaunchRow:
    """One executable.

    Attributes:
        name: its symbol.
        launches: kernel launches of one call, by target.
        calls: how often one run of the program calls it, or one of each of its variants.
    """

    name: str
    launches: dict[str, int]
    calls: int


@dataclass(frozen=True)
class KernelRow:
    """One launch of an executable.

    Attributes:
        executable: its symbol.
        target: architecture.
        resources: resource usage of the kernel.
    """

    executable: str
    target: str
    resources: KernelResources


@dataclass
class Report:
    """What a compilation did.

    Attributes:
        graphs: the outlined graphs, in program order.
        executables: what they were compiled to.
        kernels: the launches of each executable on each AMDGPU target.
        remarks: all remarks of the passes.
        counters: statistics of the passes, by `pass.name`.
        seconds: wall time by stage.
        pipelines: by stage, the text of the pipeline that made it.
        passes: name and wall time of each pass, or group of native passes, in order.
    """

    graphs: list[GraphRow] = field(default_factory=list[GraphRow])
    executables: list[LaunchRow] = field(default_factory=list[LaunchRow])
    kernels: list[KernelRow] = field(default_factory=list[KernelRow])
    remarks: list[Remark] = field(default_factory=list[Remark])
    counters: Counter[str] = field(default_factory=Counter[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    pipelines: dict[str, str] = field(default_factory=dict[str, str])
    passes: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    @property
    def declined(self) -> list[Remark]:
        """What was not done, with the reasons."""
        return [remark for remark in self.remarks if remark.kind is RemarkKind.MISSED]

    def add_records(self, records: Sequence[PassRecord]) -> None:
        """Adds what the passes of a run said and counted."""
        self.remarks += remarks_of(records)
        self.passes += [(record.name, record.seconds) for record in records]
        for record in records:
            for name, count in record.state.counters.items():
                self.counters[f"{record.state.pass_name}.{name}"] += count


def graph_rows(module: ir.Module) -> list[GraphRow]:
    """Returns the containers of a program at stage `hipdnn-graphs`, in order."""
    return [_row(op) for op in _function_ops(module) if op.name in _CONTAINERS]


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


def _row(container: ir.Operation) -> GraphRow:
    body = container.regions[0].blocks[0]
    names = [op.operation.name for op in body.operations if op.operation.name not in _NO_COMPUTE]
    return GraphRow(
        name=_symbol(container, "name"),
        kind=container.name.removeprefix("hipdnn."),
        ops=tuple(name.partition(".")[2] for name in names if not name.startswith(_NO_KERNEL)),
    )


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
