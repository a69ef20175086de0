"""Runs hipgraft-opt on the parts of its input."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hipgraft.dialects import source
from hipgraft.ir import io as ir_io
from hipgraft.ir.bindings import ir, passmanager
from hipgraft.ir.bytecode import parse_bytecode, to_bytecode
from hipgraft.ir.diagnostics import MEMORY_NAME, Diagnostic, HipgraftError, diagnostics_to
from hipgraft.ir.outputs import together
from hipgraft.passmanager import reproducer, statistics
from hipgraft.passmanager.diagnostic_printer import DiagnosticPrinter
from hipgraft.passmanager.pipeline import check_native, resolve, to_text
from hipgraft.passmanager.printing import AsmFlags, IrPrinter, PrintWhen
from hipgraft.passmanager.runner import DiagnosticHandler, Instrument, PassRecord, Runner
from hipgraft.tools.opt_flags import OptFlags, UsageError
from hipgraft.tools.opt_passes import check_names, pipeline_of_flags


@dataclass(frozen=True)
class _Part:
    """A part of the input: its text (empty for bytecode) and its 1-based first line."""

    text: str
    line: int = 1


class _NativeStatistics(Instrument):
    """Lets MLIR print the statistics of native passes."""

    def __init__(self, display: str):
        self.display = passmanager.PassDisplayMode[display.upper()]

    def configure(self, manager: passmanager.PassManager, step: object) -> None:
        manager.enable_statistics(self.display)


class OptDriver:
    """One invocation: a command line, a context, the input, and the data for reports."""

    def __init__(self, flags: OptFlags, context: ir.Context):
        self.flags = flags
        self.context = context
        self.name = ir_io.STDIN_NAME if flags.input == "-" else flags.input
        DiagnosticPrinter.in_colour = _is_in_colour(flags.color)
        self.printer = DiagnosticPrinter(sys.stderr, memory_name=self.name)
        self.records: list[PassRecord] = []
        self.phases: list[tuple[str, float]] = []
        self.data = b""
        self.text = ""
        self.pipeline = ""

    def run(self) -> int:
        """Processes the input and returns the exit status.

        Raises:
            HipgraftError: the command line, the input file or the pipeline is invalid.
        """
        self._check_flags()
        self._read()
        self.pipeline = self._pipeline_text()
        with together() as files:
            results = [self._process(part) for part in self._parts()]
            succeeded = all(ok for _, ok in results)
            if not succeeded:
                files.abandon()  # files that passes wrote
            with self._timed("Output"):
                self._write([output for output, _ in results], succeeded)
        self._report()
        return 0 if succeeded else 1

    def _check_flags(self) -> None:
        flags = self.flags
        if flags.pass_pipeline is not None and flags.passes:
            raise UsageError("'--pass-pipeline' cannot be used with individual passes")
        check_names("debug-only", flags.debug_only, self.context)
        check_names("mlir-print-ir-before", flags.mlir_print_ir_before, self.context)
        check_names("mlir-print-ir-after", flags.mlir_print_ir_after, self.context)

    def _read(self) -> None:
        if ir_io.is_bytecode_file(self.flags.input):
            return  # MLIR maps it
        if ir_io.is_graph_file(self.flags.input):
            return  # `_parse_part` reads it
        if self.flags.sweep_case is not None:
            raise HipgraftError("the input is no template and has no cases", location=self.name)
        self.data = ir_io.read_bytes(self.flags.input)
        if not ir_io.is_bytecode(self.data):
            self.text = ir_io.decode(self.data, self.name)
            self.printer.add_source(self.name, self.text)

    def _pipeline_text(self) -> str:
        if self.flags.run_reproducer:
            text = reproducer.read_pipeline(self.text)
        elif self.flags.pass_pipeline is not None:
            text = self.flags.pass_pipeline
        else:
            text = pipeline_of_flags(self.flags.passes, self.context)
        steps = resolve(text)
        if not self.flags.no_implicit_module:
            check_native(steps, self.context)
        if self.flags.dump_pass_pipeline:
            sys.stderr.write(f"Pass Manager with {len(steps)} passes:\n{to_text(steps)}\n\n")
        return text

    def _parts(self) -> list[_Part]:
        marker = self.flags.split_input_file
        if marker is None:
            return [_Part(self.text)]
        parts: list[_Part] = []
        line = 1
        for text in re.split(rf"^{re.escape(marker)}[^\S\n]*\n", self.text, flags=re.MULTILINE):
            parts.append(_Part(text, line))
            line += text.count("\n") + 1
        return parts

    def _process(self, part: _Part) -> tuple[bytes, bool]:
        """Returns the output of a part, empty after an error, and whether all went well."""
        if not self.flags.verify_diagnostics:
            output = self._transform(part, self.printer.print)
            return output or b"", output is not None
        # Imported here because most runs do not need it.
        from hipgraft.passmanager.verify_diagnostics import expectations, mismatches

        produced: list[Diagnostic] = []
        output = self._transform(part, produced.append)
        expected = expectations(part.text, self.name, part.line)
        errors = mismatches(expected, produced, self.name, MEMORY_NAME)
        for error in errors:
            self.printer.print(error)
        return output or b"", not errors

    def _transform(self, part: _Part, show: DiagnosticHandler) -> bytes | None:
        """Parses, runs the passes and prints; returns None after passing an error to `show`."""
        try:
            with self._timed("Parser"):
                op = self._parse(part, show)
            if self.flags.verify_roundtrip:
                self._verify_roundtrip(op.operation)
            if self.flags.mlir_generate_reproducer is not None:
                path = Path(self.flags.mlir_generate_reproducer)
                reproducer.write(path, op.operation, resolve(self.pipeline))
            self._run_passes(op, show)
            return self._print(op.operation)
        except HipgraftError as error:
            if not error.reported:
                show(error.diagnostic())
            return None

    def _parse(self, part: _Part, show: DiagnosticHandler) -> ir.Module | ir.OpView:
        with _reporting(self.context, show):
            op = self._parse_part(part)
        if not self.flags.allow_unregistered_dialect:
            source.check_registered(op.operation)
        return op

    def _parse_part(self, part: _Part) -> ir.Module | ir.OpView:
        if ir_io.is_graph_file(self.flags.input):
            from hipgraft.hipdnn_io.files import read_module
            from hipgraft.tools.cli import warnings_as_diagnostics

            with warnings_as_diagnostics():
                return read_module(self.flags.input, self.context, self.flags.sweep_case)
        if self.flags.no_implicit_module:
            op = source.parse_op("\n" * (part.line - 1) + part.text, self.name, self.context)
            if op.operation.name != "builtin.module":
                return op
        if self.flags.split_input_file is None or not self.text:
            return source.parse_file(self.flags.input, self.data, self.context)
        return source.parse_chunk(part.text, part.line, self.name, self.context)

    def _verify_roundtrip(self, op: ir.Operation) -> None:
        """Checks that text and bytecode read back as the same module.

        Raises:
            HipgraftError: they do not.
        """
        generic: AsmFlags = {"print_generic_op_form": True, "use_local_scope": True}
        whole = op.get_asm(**generic)
        for form, text in (("text", op.get_asm()), ("generic text", whole)):
            read = ir.Operation.parse(text, context=self.context)
            if read.get_asm(**generic) != whole:
                raise HipgraftError(f"the input is not read back as it is printed, as {form}")
        if op.name == "builtin.module":
            module = parse_bytecode(to_bytecode(op), self.context)
            if module.operation.get_asm(**generic) != whole:
                raise HipgraftError("the input is not read back as it is written, as bytecode")

    def _run_passes(self, op: ir.Module | ir.OpView, show: DiagnosticHandler) -> None:
        if isinstance(op, ir.Module):
            self._runner(show).run(op, self.pipeline)
        elif self.pipeline:
            # Our passes run on modules: other top-level ops are for MLIR alone.
            with _reporting(self.context, show):
                passmanager.PassManager.parse(self.pipeline, self.context).run(op.operation)

    def _runner(self, show: DiagnosticHandler) -> Runner:
        def take_record(record: PassRecord) -> None:
            self.records.append(record)
            self.phases.append((record.name, record.seconds))
            if self.flags.remarks == "":
                for remark in record.state.remarks:
                    show(statistics.remark_diagnostic(remark))

        crash_file = self.flags.mlir_pass_pipeline_crash_reproducer
        return Runner(
            verify_each=self.flags.verify_each and not self._is_translation,
            verify_contracts=self.flags.verify_contracts,
            instruments=self._instruments(),
            one_by_one=self.flags.mlir_timing,
            debug_only=frozenset(self.flags.debug_only),
            reproducer=None if crash_file is None else Path(crash_file),
            # A failure that the input expects needs no reproducer.
            keep_reproducer=crash_file is not None or not self.flags.verify_diagnostics,
            on_diagnostic=show,
            on_record=take_record,
        )

    @property
    def _is_translation(self) -> bool:
        """Whether only syntax changes: modules for other versions of rocMLIR are written, too."""
        return self.flags.print_native and not self.pipeline

    def _instruments(self) -> list[Instrument]:
        flags = self.flags
        when = PrintWhen(
            before=frozenset(flags.mlir_print_ir_before),
            after=frozenset(flags.mlir_print_ir_after),
            before_all=flags.mlir_print_ir_before_all,
            after_all=flags.mlir_print_ir_after_all,
            only_changes=flags.mlir_print_ir_after_change,
            only_failures=flags.mlir_print_ir_after_failure,
        )
        instruments: list[Instrument] = []
        if when.any():
            tree = flags.mlir_print_ir_tree_dir
            tree_dir = None if tree is None else Path(tree)
            scope = flags.mlir_print_ir_module_scope
            instruments.append(IrPrinter(when, self._asm_flags(), scope, tree_dir))
        if flags.mlir_pass_statistics:
            instruments.append(_NativeStatistics(flags.mlir_pass_statistics_display))
        return instruments

    def _asm_flags(self) -> AsmFlags:
        flags = self.flags
        return {
            "large_elements_limit": flags.mlir_elide_elementsattrs_if_larger,
            "large_resource_limit": flags.mlir_elide_resource_strings_if_larger,
            "enable_debug_info": flags.mlir_print_debuginfo,
            "print_generic_op_form": flags.mlir_print_op_generic,
            "use_local_scope": flags.mlir_print_local_scope,
        }

    def _print(self, op: ir.Operation) -> bytes:
        if self.flags.emit_bytecode:
            return to_bytecode(op, self.flags.emit_bytecode_version)
        if self.flags.migraphx_kernel_info:
            from hipgraft.integrations.rocmlir.kernel_info import kernel_infos

            return "".join(map(str, kernel_infos(op))).encode()
        text = op.get_asm(**self._asm_flags())
        if self.flags.print_native:
            from hipgraft.dialects.migraphx.printer import to_native

            text = to_native(text)
        return text.removesuffix("\n").encode() + b"\n"

    def _write(self, outputs: list[bytes], succeeded: bool) -> None:
        # A file is written as a whole or not at all; standard output also gets partial results.
        wanted = succeeded or (self.flags.output == "-" and len(outputs) > 1)
        if wanted:
            marker = self.flags.output_split_marker.encode()
            ir_io.write_output(self.flags.output, (marker + b"\n").join(outputs))

    def _report(self) -> None:
        if self.flags.remarks:
            text = statistics.remarks_yaml(statistics.remarks_of(self.records))
            ir_io.write_output(self.flags.remarks, text.encode())
        counted = any(record.state.counters for record in self.records)
        if self.flags.mlir_pass_statistics and counted:
            sys.stderr.write(statistics.statistics_report(self.records))
        if self.flags.mlir_timing:
            by_time = self.flags.mlir_timing_display == "list"
            phases = sorted(self.phases, key=lambda one: -one[1]) if by_time else self.phases
            sys.stderr.write(statistics.timing_report(phases))

    @contextmanager
    def _timed(self, name: str) -> Generator[None, None, None]:
        start = time.perf_counter()
        yield
        self.phases.append((name, time.perf_counter() - start))


def _is_in_colour(flag: str) -> bool:
    if flag != "auto":
        return flag == "true"
    is_wanted = "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return is_wanted and sys.stderr.isatty()


@contextmanager
def _reporting(
    context: ir.Context, show: Callable[[Diagnostic], None]
) -> Generator[None, None, None]:
    """Reports diagnostics that MLIR emits, and marks its exceptions as reported."""
    shown: list[Diagnostic] = []

    def take(diagnostic: Diagnostic) -> None:
        shown.append(diagnostic)
        show(diagnostic)

    try:
        with diagnostics_to(context, take):
            yield
    except ir.MLIRError as error:
        failure = HipgraftError(str(error).strip())
        failure.reported = bool(shown)
        raise failure from None
