"""Compiles every container and replaces it by a call of its executable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar, cast

from hipgraft.codegen.canonical import container_key, container_text, find_containers
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.lowered import INPUTS, input_for, inputs_in
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.objects.resource_stats import kernel_resources, peak_resources
from hipgraft.codegen.provider import SaveTemps
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.engines.registry import IREE
from hipgraft.hipdnn_io import export_graph
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, HipgraftError, PassFailure
from hipgraft.ir.symbols import symbol_name, symbol_of
from hipgraft.passmanager.base import Pass, PassState, option
from hipgraft.service.job import Outcome
from hipgraft.service.keys import digest
from hipgraft.service.reproducer import leave_input
from hipgraft.service.request import Request
from hipgraft.service.service import current_service
from hipgraft.service.tuning.decision import Candidate, Decision
from hipgraft.service.tuning.plans import Choices
from hipgraft.service.tuning.traffic import excess
from hipgraft.transforms.engine_graphs import graph_kernel, other_engine, write_graph
from hipgraft.transforms.splitting import can_split, compute_ops, split


def _inline(container: ir.Operation) -> None:
    """Moves the ops in the body of a container out, to its position."""
    body = container.regions[0].blocks[0]
    *ops, terminator = [op.operation for op in body.operations]
    for argument, operand in zip(body.arguments, container.operands, strict=True):
        argument.replace_all_uses_with(operand)
    for result, value in zip(container.results, terminator.operands, strict=True):
        result.replace_all_uses_with(value)
    for op in ops:
        op.move_before(container)
    container.erase()


def _replace_by_execute(container: ir.Operation, symbol: str) -> None:
    types = [result.type for result in container.results]
    with ir.InsertionPoint(container):
        call = hipdnn.execute(
            list(container.operands), types, callee=symbol, loc=container.location
        )
    for old, new in zip(container.results, call.outputs, strict=True):
        old.replace_all_uses_with(new)
    container.erase()


def _write_executable(
    module: ir.Module,
    symbol: str,
    container: hipdnn.ContainerOp,
    kernels: Sequence[Kernel],
    engine: str = "",
) -> None:
    with ir.InsertionPoint(module.body):
        hipdnn.executable(
            symbol,
            [value.type for value in container.inputs],
            [value.type for value in container.outputs],
            [kernel.to_attr() for kernel in kernels],
            arg_strides=container.arg_strides,
            arg_offsets=container.arg_offsets,
            result_strides=container.result_strides,
            engine=engine or None,
            loc=container.location,
        )


def _symbols(module: ir.Module) -> Iterator[str]:
    for op in module.body.operations:
        if "sym_name" in op.operation.attributes:
            yield symbol_of(op)


def _key(container: ir.Operation) -> str:
    """Returns a key that is equal for containers that one kernel can serve."""
    if INPUTS not in container.attributes:
        return container_key(container)
    return digest(f"{container_text(container)}\n{container.attributes[INPUTS]}")


class _Compiler:
    """One run of the pass: the compiled containers by key."""

    def __init__(self, options: HipdnnCompilePass, module: ir.Module, state: PassState):
        if not options.target:
            raise HipgraftError("option 'target' of 'hipdnn-compile' names no architecture")
        self._options = options
        self._targets = [Target.parse(name) for name in dict.fromkeys(options.target)]
        self._module = module
        self._state = state
        self._service = current_service()
        self._taken = set(_symbols(module))
        self._symbols: dict[str, str] = {}
        self._failures: dict[str, CodegenError] = {}
        self._inputs = inputs_in(module)

    def finish(self) -> None:
        """Erases the inputs that `convert-hipdnn-to-linalg` left, which are compiled now."""
        for nested in self._inputs.values():
            nested.erase()
        self._inputs.clear()

    def export_all(self, containers: Sequence[ir.Operation]) -> None:
        """Replaces each graph for another engine by a call of an executable with its JSON."""
        for op in containers:
            engine = other_engine(op)
            if not engine:
                continue
            key = f"{engine}\n{_key(op)}"
            if key not in self._symbols:
                self._symbols[key] = self._export(op, engine)
            self._state.count("graphs-for-engines")
            _replace_by_execute(op, self._symbols[key])

    def _export(self, op: ir.Operation, engine: str) -> str:
        container = hipdnn.GraphOp(op)
        document = export_graph(container)
        symbol = symbol_name(container.name or "graph", self._taken)
        self._taken.add(symbol)
        kernels = [graph_kernel(document, target.name) for target in self._targets]
        _write_executable(self._module, symbol, container, kernels, engine)
        if self._options.engine_graphs:
            write_graph(self._options.engine_graphs, symbol, document)
        message = f"'{symbol}' is left to {engine} on a host with hipDNN"
        self._state.analysis(op, "left-to-engine", message, executable=symbol, engine=engine)
        return symbol

    def compile_all(self, containers: Sequence[ir.Operation]) -> None:
        """Replaces each container by a call, or by containers of its parts."""
        keys = [_key(op) for op in containers]
        first: dict[str, ir.Operation] = {}
        for op, key in zip(containers, keys, strict=True):
            if key not in self._symbols and key not in self._failures:
                first.setdefault(key, op)
        self._compile(first)
        for op, key in zip(containers, keys, strict=True):
            if key in self._failures:
                self._split(op, self._failures[key])
            else:
                self._state.count("containers")
                _replace_by_execute(op, self._symbols[key])

    def _compile(self, containers: Mapping[str, ir.Operation]) -> None:
        """Compiles distinct containers for all targets, together."""
        symbols: dict[str, str] = {}
        for key, op in containers.items():
            container = cast(hipdnn.ContainerOp, hipdnn.wrap(op))
            symbols[key] = symbol_name(container.name or "kernel", self._taken)
            self._taken.add(symbols[key])
        requests = [
            self._request(containers[key], key, symbol, target)
            for key, symbol in symbols.items()
            for target in self._targets
        ]
        outcomes = iter(self._service.compile(requests))
        for key, symbol in symbols.items():
            made = list(islice(outcomes, len(self._targets)))
            self._keep(containers[key], key, symbol, made)

    def _request(self, op: ir.Operation, key: str, symbol: str, target: Target) -> Request:
        given = input_for(op, self._inputs, target)

        def lower() -> str:
            text = lower_container(op, target) if given is None else given
            self._save_temps(symbol, target, {"input.mlir": text.encode()})
            return text

        identity = container_text(op) + ("" if given is None else f"\nlowered to\n{given}")
        # An input that was lowered earlier is compiled unchanged.
        choices = Choices(op, target) if given is None else None
        buffers = len(op.operands) + len(op.results)
        return Request(symbol, identity, key, target, self._flags(target), lower, choices, buffers)

    def _keep(self, op: ir.Operation, key: str, symbol: str, outcomes: Sequence[Outcome]) -> None:
        """Writes the executable of a container, or records why there is none."""
        kernels: list[Kernel] = []
        for target, outcome in zip(self._targets, outcomes, strict=True):
            self._save_temps(symbol, target, outcome.artifacts)
            self._report_decision(op, symbol, target, outcome)
            self._report_verdict(op, symbol, target, outcome)
            if outcome.kernel is None:
                self._failures.setdefault(key, self._failure(op, symbol, target, outcome))
            else:
                kernels.append(outcome.kernel)
        if key in self._failures:
            return
        for kernel in kernels:
            self._report_kernel(op, symbol, kernel)
        self._symbols[key] = symbol
        self._state.count("executables")
        container = cast(hipdnn.ContainerOp, hipdnn.wrap(op))
        _write_executable(self._module, symbol, container, kernels)

    def _failure(
        self, op: ir.Operation, symbol: str, target: Target, outcome: Outcome
    ) -> CodegenError:
        error = outcome.error or CodegenError("the compiler said nothing")
        notes = list(error.notes)
        text = outcome.artifacts.get("input.mlir")
        # A container that will be split further needs no reproducer.
        if text is not None and not can_split(op):
            flags = (*target.device_flags, *self._flags(target))
            notes.append(leave_input(f"{symbol}.{target.name}", text, flags))
        return CodegenError(
            f"does not compile for {target.name}: {error.message}", notes=tuple(notes)
        )

    def _flags(self, target: Target) -> tuple[str, ...]:
        return (self._options.flags or target.default_flags) + self._options.extra_flags

    def _save_temps(self, symbol: str, target: Target, artifacts: Mapping[str, bytes]) -> None:
        directory = self._options.save_temps
        if not directory:
            return
        SaveTemps(Path(directory), f"{symbol}.{target.name}").write_all(artifacts)

    def _report_kernel(self, op: ir.Operation, symbol: str, kernel: Kernel) -> None:
        launches = len(kernel.dispatches)
        self._state.count("launches", launches)
        message = f"'{symbol}' for {kernel.target}, launches: {launches}"
        attributes = {
            "target": kernel.target,
            "launches": launches,
            "workspace": kernel.workspace_size,
        }
        self._state.passed(
            op, "compiled", message, **attributes, **peak_resources(kernel_resources(kernel))
        )

    def _report_decision(
        self, op: ir.Operation, symbol: str, target: Target, outcome: Outcome
    ) -> None:
        """Reports the plans that were tried, and remaining pathological properties."""
        decision = outcome.decision
        if decision is None or outcome.kernel is None:
            return
        self._report_work(op, symbol, outcome.kernel, target, decision.chosen)
        plan = decision.chosen.plan
        if decision.source != "default":
            self._state.count(f"plans-from-{decision.source}")
            message = f"'{symbol}' for {target.name} {decision}"
            self._state.passed(op, "lowering", message, plan=str(plan), source=decision.source)
        if decision.chosen.problems:
            self._report_problems(op, symbol, target, outcome, decision)

    def _report_verdict(
        self, op: ir.Operation, symbol: str, target: Target, outcome: Outcome
    ) -> None:
        """Reports whether the kernel was verified."""
        verdict = outcome.verdict
        if verdict is None or outcome.kernel is None:
            return
        self._state.count("kernels-verified" if verdict.status == "right" else "kernels-unverified")
        message = f"'{symbol}' for {target.name} is {verdict.status}"
        message += f": {verdict.reason}" if verdict.reason else ""
        attributes = {"executable": symbol, "target": target.name, "status": verdict.status}
        self._state.analysis(op, "verification", message, **attributes)

    def _report_problems(
        self, op: ir.Operation, symbol: str, target: Target, outcome: Outcome, decision: Decision
    ) -> None:
        """Writes files with which a maintainer of the compiler can reproduce the problems."""
        self._state.count("pathological")
        problems = decision.chosen.problems
        flags = (*target.device_flags, *self._flags(target), *decision.chosen.plan.flags)
        text = outcome.artifacts.get("input.mlir", b"")
        # The costs of other lowerings of the graph show what a better compiler could reach.
        seen = (*problems, *(f"another lowering, {candidate}" for candidate in decision.rejected))
        note = leave_input(f"{symbol}.{target.name}", text, flags, seen)
        message = f"'{symbol}' for {target.name}: {'; '.join((*problems, note))}"
        attributes = {"problems": "; ".join(problems), "reproducer": note}
        self._state.missed(
            op, "pathological", message, executable=symbol, target=target.name, **attributes
        )

    def _report_work(
        self, op: ir.Operation, symbol: str, kernel: Kernel, target: Target, candidate: Candidate
    ) -> None:
        """Reports the graph's least work, its kernel's work, and reasons for the difference."""
        metrics = {name: value for each in candidate.costs for name, value in each.metrics.items()}
        if not metrics:
            return
        work = Choices(op, target).work()
        least = work.least_matrix_instructions(target.name)
        message = f"'{symbol}' for {target.name} needs {least} matrix instructions"
        message += f" and {work.bytes} bytes at least; it does"
        done = ", ".join(f"{name} {value:g}" for name, value in metrics.items())
        reasons = "; ".join(excess(kernel, work, metrics))
        done += f"; bytes beyond the least: {reasons}" if reasons else ""
        attributes = {"executable": symbol, "target": target.name, "plan": str(candidate.plan)}
        attributes |= {"excess": reasons} if reasons else {}
        bounds = {"least-matrix-instructions": least, "least-bytes": work.bytes}
        self._state.analysis(op, "work", f"{message} {done}", **attributes, **bounds, **metrics)

    def _split(self, op: ir.Operation, failure: CodegenError) -> None:
        """Splits a container that does not compile, or moves its only op out of it.

        Raises:
            PassFailure: it holds a single op, which may not stay.
        """
        ops = compute_ops(op)
        if can_split(op):
            self._state.count("split-containers")
            reason = f"'{op.name}' op {failure.message}; its {len(ops)} ops are split"
            self._state.missed(op, "not-compiled", reason)
            split(op)
            return
        culprit = ops[0] if len(ops) == 1 else op
        message = f"'{culprit.name}' op {failure.message}"
        if not self._options.keep_failed:
            raise PassFailure(message, culprit, notes=failure.notes)
        self._state.count("kept-ops", len(ops))
        self._state.missed(culprit, "kept", "; ".join((message, *failure.notes)))
        _inline(op)


@dataclass(frozen=True)
class HipdnnCompilePass(Pass):
    """Compiles containers with IREE, each unique one once per target.

    A container that does not compile is split in two where the fewest bytes flow. Splitting repeats
    until the parts compile or have a single op; the reasons are remarks. A container that
    `convert-hipdnn-to-linalg` has lowered is compiled from that input, as it is, and its other
    lowerings are not tried. Kernels come from the cache or the workers of the current
    `hipgraft.service`.

    A graph whose `engine` is not `iree` is not compiled: its executable has that engine's name and
    the graph as hipDNN's JSON, for a host with hipDNN. With `fallback=iree` it is compiled.

    Before:
        ```mlir
        %1 = "hipdnn.graph"(%0) ({...}) {name = "relu_fwd_0"} : (tensor<8xf32>) -> tensor<8xf32>
        ```

    After:
        ```mlir
        %1 = "hipdnn.execute"(%0) {callee = @relu_fwd_0} : (tensor<8xf32>) -> tensor<8xf32>
        "hipdnn.executable"() {sym_name = "relu_fwd_0", operand_types = [tensor<8xf32>],
          result_types = [tensor<8xf32>], binaries = [{target = "gfx942", format = "hsaco", ...}]}
          : () -> ()
        ```

    Requires:
        Stage `hipdnn-graphs` or `hipdnn-linalg`.

    Ensures:
        Stage `hipdnn-executables`: each container is a `hipdnn.execute`; the module ends with
        the executables. With `keep-failed`, ops that do not compile stay in the function.

    Errors:
        An unknown target, compiler flag or fallback. A graph for another engine that hipDNN's JSON
        cannot express. Without `keep-failed`, an op that does not compile even alone, at the op,
        with the compiler's message and the path of a reproducer.

    Source:
        own.
    """

    name: ClassVar[str] = "hipdnn-compile"
    requires: ClassVar[str | None] = "hipdnn-linalg"
    ensures: ClassVar[str | None] = "hipdnn-executables"

    target: tuple[str, ...] = option(MISSING, "architectures to compile for: gfx942, cpu, ...")
    flags: tuple[str, ...] = option((), "compiler flags in place of each target's own")
    extra_flags: tuple[str, ...] = option((), "compiler flags after those; a later one wins")
    save_temps: str = option("", "directory for compiler inputs, schedules and code objects")

    keep_failed: bool = option(False, "leave ops that do not compile where they were")
    fallback: str = option(
        "", "`iree` compiles graphs for other engines, too; else they are left to hipDNN"
    )
    engine_graphs: str = option("", "directory for files of the graphs that are left to hipDNN")

    def __post_init__(self) -> None:
        if self.fallback not in ("", IREE):
            raise ValueError(f"unknown fallback '{self.fallback}': expected {IREE}")

    def run(self, module: ir.Module, state: PassState) -> None:
        """Compiles until no container is left, and splits those that do not compile."""
        compiler = _Compiler(self, module, state)
        if not self.fallback:
            compiler.export_all(find_containers(module))
        while containers := find_containers(module):
            compiler.compile_all(containers)
        compiler.finish()
