"""hipgraft-compile: compiles a model to one host program with grafted AMDGPU binaries."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import Diagnostic, HipgraftError, Severity
from hipgraft.passmanager.diagnostic_printer import DiagnosticPrinter
from hipgraft.tools import cli, service_flags
from hipgraft.tools.progress import progress

if TYPE_CHECKING:
    from hipgraft.compiler.plan import GraphBoundary
    from hipgraft.compiler.program import Program
    from hipgraft.ir.bindings import ir

_SUFFIXES = {
    ".mlir": "mlir",
    ".mlirbc": "bytecode",
    ".hgb": "bundle",
    ".o": "object",
    ".plan": "plan",
}
_FORMS = tuple(_SUFFIXES.values())
_FILES = ("bundle", "object", "plan")  # several files, or useless on a terminal
_FEW_DIGITS = 64
_STAGES = (
    "torch, hipdnn-ops, hipdnn-graphs, hipdnn-linalg, hipdnn-executables, hipdnn-buffers, host"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-compile",
        description="Compiles an ONNX or torch-dialect model, or a program of any stage, into a "
        "host program with AMDGPU binaries.",
    )
    cli.add_model_arguments(parser)
    service_flags.add_service_arguments(parser)
    add = parser.add_argument
    add(
        "--target",
        default="gfx942",
        metavar="ARCH[,ARCH...]",
        help="architectures or products (gfx942, mi300x), or cpu",
    )
    add(
        "--gpu",
        default="",
        metavar="PRODUCT",
        help="GPU that graphs are formed for, where an architecture has several (mi300x, mi325x); "
        "by default the first target",
    )
    add(
        "--calibration",
        default="",
        metavar="FILE.json",
        help="measured factors for the estimates of graphs",
    )
    add("-o", "--output", default="-", metavar="OUT", help="output file; - is standard output")
    add(
        "--emit",
        choices=_FORMS,
        help="form of the output; by default that of OUT's suffix: " + _known_forms(),
    )
    add(
        "--constants",
        default="",
        metavar="WHERE",
        help="where a host program has its constants: globals, arguments, FILE.safetensors or "
        "FILE.irpa; by default OUT.safetensors for text in a file, arguments for text on standard "
        "output, and globals for bytecode",
    )
    add("--compile-to", default="", metavar="STAGE", help=f"last stage: {_STAGES}")
    add("--save-temps", default="", metavar="DIR", help="keep each stage and compiler inputs")
    add("--dump-pass-pipeline", action="store_true", help="print all passes, to stderr")
    add("--mlir-timing", action="store_true", help="print the time of each pass, to stderr")
    add("--remarks", action="store_true", help="print what passes did and declined, to stderr")
    add("--report", action="store_true", help="print the graphs and what was declined, to stderr")
    add("--stats-json", default="", metavar="FILE", help="write times, counts and resource usage")
    cli.add_list_cases(parser)
    add("--elide-resources", action="store_true", help="leave large constants out of the text")
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    if flags.list_cases:
        return cli.print_cases(flags.model)
    start = time.perf_counter()
    flags.emit = _form(flags.output, flags.emit)
    _check_form(flags)
    _check_output(flags.output)
    if flags.stats_json:
        _check_output(flags.stats_json)
    # Imported here because `--help` and wrong flags need no compiler.
    from hipgraft.compiler.program import compile
    from hipgraft.ir import io as ir_io
    from hipgraft.ir.outputs import together
    from hipgraft.runtime.known_code import remember_file

    temps = _Temps(flags)
    with progress(flags.quiet) as show, service_flags.open_service(flags) as service:

        def reached(stage: str, module: ir.Module) -> None:
            show(f"reached {stage}")
            temps.save(stage, module)

        boundary = _boundary(flags) if flags.emit == "plan" else None
        compiled = compile(
            flags.model if boundary is None else boundary.module,
            flags.target,
            compile_to=flags.compile_to,
            gpu=flags.gpu,
            calibration=flags.calibration,
            extra_flags=service_flags.extra_flags(flags),
            save_temps=temps.directory_of_kernels,
            **(cli.reading(flags) if boundary is None else {}),
            on_stage=reached,
            service=service,
        )
        statistics = service.statistics
    with together():
        files = _write(compiled, flags, boundary)
        if flags.stats_json:
            from hipgraft.tools.stats_json import stats_bytes

            ir_io.write_output(flags.stats_json, stats_bytes(compiled.report, statistics))
    if flags.emit not in _FILES:  # the bundle writer remembers its code
        remember_file(flags.output)
    if flags.report:
        # rich costs a tenth of a second to import.
        from hipgraft.tools.report_table import Made, print_report

        made = Made(time.perf_counter() - start, files)
        print_report(compiled.report, compiled.config.target, made)
    _warn_of_spills(compiled, flags.model)
    return 0


def _known_forms() -> str:
    return ", ".join(f"{suffix} is {form}" for suffix, form in _SUFFIXES.items())


def _form(output: str, emit: str | None) -> str:
    """Returns the form to write: `--emit`, or the form for the output file's suffix.

    Raises:
        HipgraftError: the suffix contradicts `--emit`, or is unknown.
    """
    path = Path(output)
    is_device = path.exists() and not path.is_file()
    suffixed = _FORMS[0] if is_device or not path.suffix else _SUFFIXES.get(path.suffix)
    if emit is None:
        if suffixed is None:
            raise HipgraftError(
                f"output file '{output}' has an unknown suffix: {_known_forms()}; "
                "give one of these suffixes or --emit"
            )
        return suffixed
    if path.suffix in _SUFFIXES and suffixed != emit:
        raise HipgraftError(
            f"output file '{output}' has the suffix of another form than --emit={emit}: "
            f"{_known_forms()}"
        )
    return emit


def _check_form(flags: argparse.Namespace) -> None:
    # Imported here because `--help` needs no compiler.
    from hipgraft.runtime.parameter_files import check_format

    if flags.constants not in ("", "globals", "arguments"):
        check_format(flags.constants)
    if flags.emit not in _FILES:
        return
    if flags.output == "-":
        raise HipgraftError(f"--emit={flags.emit} needs an output file (-o)")
    if flags.compile_to:
        raise HipgraftError(
            f"--emit={flags.emit} needs a program of the last stage, not --compile-to"
        )
    if flags.emit == "plan":
        _check_targets(flags.target)
    if flags.emit == "object" and ("," in flags.target or flags.target == "cpu"):
        raise HipgraftError(f"--emit=object needs one GPU architecture, not '{flags.target}'")


def _check_targets(names: str) -> None:
    """Checks that each target is a GPU."""
    from hipgraft.codegen.target import Target, TargetKind

    for name in names.split(","):
        if Target.parse(name).kind is TargetKind.CPU:
            raise HipgraftError(f"--emit=plan needs architectures of GPUs, not '{name}'")


def _check_output(path: str) -> None:
    """Checks before a compilation, which takes minutes, that the output is writable."""
    directory = Path(path).parent
    if path != "-" and not directory.is_dir():
        raise HipgraftError(f"cannot open output file '{path}': no directory '{directory}'")
    if Path(path).is_dir():
        raise HipgraftError(f"cannot open output file '{path}': it is a directory")


def _beside(flags: argparse.Namespace) -> bool:
    """Whether to write large constants beside the output: as text they take twice their size."""
    path = Path(flags.output)
    is_file = flags.output != "-" and (path.is_file() or not path.exists())
    return flags.emit == "mlir" and not (flags.constants or flags.elide_resources) and is_file


class _Temps:
    """Writes the module of each stage, numbered in order."""

    def __init__(self, flags: argparse.Namespace):
        self.directory = Path(flags.save_temps) if flags.save_temps else None
        self.count = 0
        if self.directory is not None:
            _make_directory(self.directory)

    @property
    def directory_of_kernels(self) -> str:
        return "" if self.directory is None else str(self.directory / "kernels")

    def save(self, stage: str, module: ir.Module) -> None:
        from hipgraft.ir import io as ir_io

        if self.directory is None:
            return
        path = self.directory / f"{self.count}-{stage}.mlir"
        ir_io.write_module(str(path), module, elide_above=ir_io.MOST_DIGITS)
        self.count += 1


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HipgraftError(f"cannot make directory '{path}': {error.strerror}") from None


def _boundary(flags: argparse.Namespace) -> GraphBoundary:
    """Reads the graph of a plan, and the tensors that its caller passes."""
    from hipgraft import frontends
    from hipgraft.compiler.plan import graph_boundary

    return graph_boundary(frontends.read(flags.model, **cli.reading(flags)), flags.model)


def _write(
    compiled: Program, flags: argparse.Namespace, boundary: GraphBoundary | None
) -> list[Path]:
    """Writes the requested output; returns the files, the program first."""
    files = [] if flags.output == "-" else [Path(flags.output)]
    if flags.emit == "bundle":
        compiled.save_bundle(flags.output)
    elif flags.emit == "object":
        files = compiled.save_object(flags.output)
    elif boundary is not None:
        from hipgraft.compiler.plan import execution_plan
        from hipgraft.ir.io import write_output

        write_output(flags.output, execution_plan(compiled, boundary).to_bytes())
    else:
        files += _write_module(compiled, flags)
    if flags.remarks:
        _print_remarks(compiled)
    if flags.dump_pass_pipeline:
        for stage, text in compiled.report.pipelines.items():
            sys.stderr.write(f"// to stage '{stage}'\n{text}\n")
    if flags.mlir_timing:
        from hipgraft.passmanager.statistics import timing_report

        sys.stderr.write(timing_report(compiled.report.passes))
    return files


def _warn_of_spills(compiled: Program, model: str) -> None:
    printer = DiagnosticPrinter(sys.stderr)
    for row in compiled.report.kernels:
        if row.resources.spills:
            message = (
                f"kernel of '{row.executable}' spills {row.resources.spills} registers "
                f"on {row.target}"
            )
            printer.print(Diagnostic(Severity.WARNING, message, model))


def _default_constants(compiled: Program, flags: argparse.Namespace) -> str:
    if flags.emit != "mlir" or not compiled.is_host or flags.elide_resources:
        return "globals"
    return str(Path(flags.output).with_suffix(".safetensors")) if _beside(flags) else "arguments"


def _write_module(compiled: Program, flags: argparse.Namespace) -> list[Path]:
    """Writes the program, and its large constants if they go to a file, which it returns."""
    from hipgraft.ir import io as ir_io
    from hipgraft.runtime.parameter_files import check_replaceable

    where = flags.constants or _default_constants(compiled, flags)
    moved = 0
    if where != "globals":
        moved = compiled.externalize_constants("" if where == "arguments" else where)
    if moved and not flags.constants and where != "arguments":
        check_replaceable(where)
    is_text = flags.emit == "mlir"
    if is_text and not flags.constants and not flags.elide_resources:
        _warn_of_constants(compiled, moved if where == "arguments" else 0, flags.model)
    ir_io.write_module(
        flags.output,
        compiled.module,
        bytecode=not is_text,
        elide_above=_elided_digits(flags),
    )
    return [Path(where)] if moved and where != "arguments" else []


def _elided_digits(flags: argparse.Namespace) -> int | None:
    from hipgraft.ir.io import MOST_DIGITS

    if flags.elide_resources:
        return _FEW_DIGITS
    return None if flags.constants == "globals" else MOST_DIGITS


def _warn_of_constants(compiled: Program, moved: int, model: str) -> None:
    """Warns that the text lacks constants if no flag says where to write them."""
    from hipgraft.ir import io as ir_io

    message = ""
    if moved:
        message = (
            f"{moved} constants are arguments, without values: give -o FILE, which writes them "
            "beside it, or --constants"
        )
    elif 2 * ir_io.largest_resource(compiled.module) > ir_io.MOST_DIGITS:
        message = "the text lacks large constants: give --emit=bytecode or --constants=globals"
    if message:
        DiagnosticPrinter(sys.stderr).print(Diagnostic(Severity.WARNING, message, model))


def _print_remarks(compiled: Program) -> None:
    from hipgraft.passmanager.statistics import remark_diagnostic

    printer = DiagnosticPrinter(sys.stderr)
    for remark in compiled.report.remarks:
        printer.print(remark_diagnostic(remark))


if __name__ == "__main__":
    sys.exit(main())
