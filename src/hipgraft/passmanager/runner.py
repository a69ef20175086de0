"""Runs pipelines: verifies, runs, times and observes their passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from hipgraft.ir.activity import doing
from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.diagnostics import (
    Diagnostic,
    HipgraftError,
    OpError,
    PassFailure,
    Severity,
    VerifyError,
    diagnostics_to,
)
from hipgraft.ir.sizes import check_sizes
from hipgraft.passmanager import contracts, reproducer
from hipgraft.passmanager.base import Pass, PassState
from hipgraft.passmanager.pipeline import NativeStep, Step, check_native, native_manager, resolve
from hipgraft.passmanager.registry import PipelineElement
from hipgraft.passmanager.verification import dialect_errors

DiagnosticHandler = Callable[[Diagnostic], None]


class Instrument:
    """Observes a run; the base class observes nothing."""

    def before(self, step: Step, module: ir.Module) -> None:
        """Observes the module before each pass."""

    def after(self, step: Step, module: ir.Module) -> None:
        """Observes the module after each pass that succeeded."""

    def failed(self, step: Step, module: ir.Module) -> None:
        """Observes the module after a failed pass."""

    def configure(self, manager: passmanager.PassManager, step: NativeStep) -> None:
        """Sets up MLIR's own instrumentation of a native pass, if there is any."""


@dataclass(frozen=True)
class PassRecord:
    """The time and the reports of one pass, or of one group of native passes."""

    name: str
    seconds: float
    state: PassState


@dataclass
class RunResult:
    """The reports of a run.

    Attributes:
        records: one record per pass, or per group of native passes, in order.
        diagnostics: warnings and remarks that MLIR emitted.
    """

    records: list[PassRecord] = field(default_factory=list[PassRecord])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])


@dataclass
class Runner:
    """Runs pipelines on modules.

    Attributes:
        verify_each: whether to verify the module before the first pass and after each pass.
        verify_contracts: whether to check the stages that passes require and ensure.
        instruments: observers of each pass.
        one_by_one: whether to run native passes alone instead of in groups; instruments imply it.
        debug_only: names of passes that may print debug output.
        reproducer: path for the module before a failed pass. None creates a temporary file
            on failure. A given file is written before each pass, so that it survives a crash of
            the process, and removed on success; a device is not removed.
        keep_reproducer: whether to write reproducers at all.
        on_diagnostic: called with each diagnostic as it is emitted, errors included.
        on_record: called with each pass's record when the pass ends, even if it failed.
    """

    verify_each: bool = True
    verify_contracts: bool = False
    instruments: Sequence[Instrument] = ()
    one_by_one: bool = False
    debug_only: frozenset[str] = frozenset()
    reproducer: Path | None = None
    keep_reproducer: bool = True
    on_diagnostic: DiagnosticHandler | None = None
    on_record: Callable[[PassRecord], None] | None = None

    def run(self, module: ir.Module, pipeline: str | Sequence[PipelineElement]) -> RunResult:
        """Transforms `module` in place.

        Raises:
            PipelineParseError: the pipeline is malformed; nothing was run.
            VerifyError: the module is invalid before or after a pass.
            PassFailure: a pass failed or emitted an error.
        """
        steps = resolve(pipeline)
        check_native(steps, module.context)
        run = _Run(self, module)
        diagnostics = diagnostics_to(module.context, run.take)
        with module.context, ir.Location.unknown(), diagnostics:
            run.verify_input()
            for group in self._groups(steps):
                run.run_group(group)
        run.remove_reproducer()
        return run.result

    def _groups(self, steps: Sequence[Step]) -> list[list[Step]]:
        if self.instruments or self.one_by_one:
            return [[step] for step in steps]
        groups: list[list[Step]] = []
        for native, run in groupby(steps, key=lambda step: isinstance(step, NativeStep)):
            group = list(run)
            groups += [group] if native else [[step] for step in group]
        return groups


class _Run:
    """One run of a pipeline on a module."""

    def __init__(self, runner: Runner, module: ir.Module):
        self.runner = runner
        self.module = module
        self.result = RunResult()
        self.errors: list[Diagnostic] = []
        self.written: Path | None = None  # the reproducer, until a pass fails

    def take(self, diagnostic: Diagnostic) -> None:
        """Stores a diagnostic and reports it."""
        is_error = diagnostic.severity is Severity.ERROR
        (self.errors if is_error else self.result.diagnostics).append(diagnostic)
        if self.runner.on_diagnostic is not None:
            self.runner.on_diagnostic(diagnostic)

    def verify_input(self) -> None:
        """Verifies the module before the first pass."""
        if self.runner.verify_each:
            with self._reporting(VerifyError):
                self._verify()
                check_sizes(self.module.operation)

    def run_group(self, group: Sequence[Step]) -> None:
        """Runs one of our passes, or a group of native ones, and leaves a reproducer on failure."""
        snapshot = self._snapshot(group)
        for instrument in self.runner.instruments:
            instrument.before(group[0], self.module)
        try:
            with self._reporting(PassFailure):
                self._run_and_verify(group)
        except Exception as error:
            for instrument in self.runner.instruments:
                instrument.failed(group[-1], self.module)
            self._leave_reproducer(group, snapshot, error)
            raise
        for instrument in self.runner.instruments:
            instrument.after(group[-1], self.module)

    def _run_and_verify(self, group: Sequence[Step]) -> None:
        self._check_contract(group[0], "requires")
        name = ",".join(step.name for step in group)
        state = PassState(name, debug=any(step.name in self.runner.debug_only for step in group))
        start = time.perf_counter()
        try:
            self._execute(group, state)
        finally:
            seconds = time.perf_counter() - start
            counted = "".join(f", {count} {what}" for what, count in state.counters.items())
            state.log(f"ran {1000 * seconds:.1f} ms{counted}")
            self._record(PassRecord(name, seconds, state))
        if self.errors:
            raise self._emitted_failure(PassFailure)
        if self.runner.verify_each:
            self._verify()
        self._check_contract(group[0], "ensures")

    def _record(self, record: PassRecord) -> None:
        self.result.records.append(record)
        if self.runner.on_record is not None:
            self.runner.on_record(record)

    def _execute(self, group: Sequence[Step], state: PassState) -> None:
        doing(f"pass '{state.pass_name}'")
        if isinstance(group[0], Pass):
            group[0].run(self.module, state)
            return
        native = [step for step in group if isinstance(step, NativeStep)]
        manager = native_manager(native, self.module.context)
        manager.enable_verifier(self.runner.verify_each)
        for instrument in self.runner.instruments:
            instrument.configure(manager, native[0])
        manager.run(self.module.operation)

    def _verify(self) -> None:
        self.module.operation.verify()
        self._raise_first(dialect_errors(self.module))

    def _check_contract(self, step: Step, side: str) -> None:
        if not self.runner.verify_contracts or not isinstance(step, Pass):
            return
        contract = step.requires if side == "requires" else step.ensures
        if contract is not None:
            why = f"which '{step.name}' {side}"
            self._raise_first(contracts.check(self.module, contract, why))

    def _raise_first(self, errors: Sequence[HipgraftError]) -> None:
        for error in errors:
            self._report(error)
        if errors:
            raise errors[0]

    @contextmanager
    def _reporting(self, failure: type[OpError]) -> Generator[None, None, None]:
        """Converts each error to a diagnostic, and MLIR's own errors to a `failure`."""
        try:
            yield
        except ir.MLIRError:
            raise self._emitted_failure(failure) from None
        except HipgraftError as error:
            self._report(error)
            raise

    def _report(self, error: HipgraftError) -> None:
        if not error.reported:
            self.take(error.diagnostic())
            error.reported = self.runner.on_diagnostic is not None

    def _emitted_failure(self, failure: type[OpError]) -> OpError:
        """Returns an exception for the diagnostics that MLIR's handler has collected."""
        if not self.errors:
            return failure("a pass failed without a diagnostic")
        first, *others = self.errors
        error = failure(first.message, notes=tuple(str(other) for other in others))
        error.location = first.location
        error.reported = self.runner.on_diagnostic is not None
        return error

    def _snapshot(self, group: Sequence[Step]) -> ir.Operation | None:
        if not self.runner.keep_reproducer or not reproducer.are_left():
            return None
        if self.runner.reproducer is not None:
            reproducer.write(self.runner.reproducer, self.module.operation, group)
            self.written = self.runner.reproducer
        return self.module.operation.clone(ip=False)

    def remove_reproducer(self) -> None:
        """Removes the reproducer that was written in case of a crash, but no device or pipe."""
        if self.written is not None and self.written.is_file():
            self.written.unlink()

    def _leave_reproducer(
        self, group: Sequence[Step], snapshot: ir.Operation | None, error: Exception
    ) -> None:
        if snapshot is None:
            return
        try:
            path = reproducer.leave(self.runner.reproducer, snapshot, group)
            note = f"reproducer left in {path}"
        except HipgraftError as unwritable:
            note = f"no reproducer left: {unwritable.message}"
        if not isinstance(error, HipgraftError):
            error.add_note(note)
            return
        error.notes += (note,)
        if self.runner.on_diagnostic is not None:
            self.runner.on_diagnostic(Diagnostic(Severity.NOTE, note, error.location))
