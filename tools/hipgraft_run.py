"""hipgraft-run: runs a model or a program of any stage, and checks its results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.tools import cli, service_flags
from hipgraft.tools.device_failures import tell_failures
from hipgraft.tools.progress import progress
from hipgraft.tools.runtimes import RUNTIMES, open_runtime

if TYPE_CHECKING:
    from hipgraft.ir.bindings import ir
    from hipgraft.runtime.comparison import Comparison
    from hipgraft.runtime.recording import Tensor
    from hipgraft.runtime.session import Session
    from hipgraft.tools.arrays import Array, Given

_WITH_CODE = ("gpu.binary", "hipdnn.executable")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status: 1 also when results differ.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-run",
        description="Compiles what is not yet compiled, runs it, and compares the results.",
    )
    cli.add_model_arguments(parser)
    service_flags.add_service_arguments(parser)
    add = parser.add_argument
    add(
        "--device",
        default="",
        metavar="DEVICE",
        help="cpu, cuda[:N], hip[:N], emulator[:ARCH], trace:ARCH, trace:DEVICE, "
        "PATH.py:FACTORY or MODULE:FACTORY; by default a GPU if there is one that the program is "
        "for, else cpu",
    )
    add(
        "--check",
        default="",
        metavar="CHECKS",
        help="look for defects of kernels on the emulator: all, or of races, uninitialised, "
        "alignment, barriers, order; what is found is an error",
    )
    add("--runtime", choices=RUNTIMES, default=RUNTIMES[0], help="how to run a program")
    add("--benchmark", type=cli.natural, default=0, metavar="N", help="time N runs on the device")
    add("--profile", type=cli.natural, default=0, metavar="N", help="time each kernel in N runs")
    add("--target", default="", metavar="ARCH", help="by default the device's architecture")
    add(
        "--input",
        default="",
        metavar="@IN.npz",
        help="inputs: in_0, ... or by argument name; or the "
        "shapes of each, as 2x128,2x128, to be made like those without --input",
    )
    add(
        "--seed",
        type=cli.natural,
        default=0,
        help="seed of the inputs that are generated without --input",
    )
    add(
        "--expected", default="", metavar="@OUT.npz", help="expected results: out_0, ... or by name"
    )
    add(
        "--rtol",
        type=cli.magnitude,
        help="relative tolerance, times the largest expected magnitude; by default that of the "
        "element type",
    )
    add(
        "--atol",
        type=cli.magnitude,
        default=0.0,
        help="absolute tolerance, added to the relative one",
    )
    add("--output", default="", metavar="@OUT.npz", help="write the results, by their names")
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    # Imported here because `--help` and wrong flags need no compiler.
    from hipgraft.runtime import known_code
    from hipgraft.runtime.devices.registry import default_device_name, open_device
    from hipgraft.tools import arrays

    expected = arrays.read_arrays(flags.expected, "out") if flags.expected else None
    given = arrays.read_inputs(flags.input) if flags.input else None
    flags.device = flags.device or default_device_name()
    _check_runtime(flags)
    device = open_device(flags.device)
    tell_failures(device)
    if flags.check:
        _start_checks(flags, device)
    _check_executes(flags, device)
    try:
        names, outputs = _execute(flags, device, given)
    finally:
        device.close()
    _tell_findings(flags, device)
    if not known_code.executes(device):
        sys.stdout.write("the kernels were not executed: there are no results\n")
        return 0
    if flags.output:
        arrays.write_arrays(flags.output, outputs, names)
    wanted = None if expected is None else arrays.match_expected(expected, names)
    return _conclude(flags, names, outputs, wanted)


def _check_executes(flags: argparse.Namespace, device: Any) -> None:
    from hipgraft.runtime import known_code

    for name in ("expected", "output", "benchmark", "profile"):
        if getattr(flags, name) and not known_code.executes(device):
            raise HipgraftError(
                f"--{name} needs a device that executes kernels; '{flags.device}' only traces them"
            )


def _start_checks(flags: argparse.Namespace, device: Any) -> None:
    from hipgraft.emulator import parse_checks

    if not hasattr(device, "check"):
        raise HipgraftError("--check needs --device=emulator")
    device.check = parse_checks(flags.check)


def _tell_findings(flags: argparse.Namespace, device: Any) -> None:
    if flags.check and device.findings:
        first, *others = (str(finding) for finding in device.findings)
        raise HipgraftError(first, notes=tuple(others))


def _execute(
    flags: argparse.Namespace, device: Any, given: Given | None
) -> tuple[list[str], list[Array]]:
    """Runs the program; returns the names of its results, and the results."""
    from hipgraft.ir.activity import doing
    from hipgraft.runtime.bundle import is_bundle, load

    if is_bundle(flags.model):
        with load(flags.model, trust=flags.trust) as bundle:
            _settle_architecture(flags, device, bundle.architectures)
            inputs = _inputs(flags, bundle.inputs(device.architecture), given)
            doing("the program")
            return _run_session(flags, bundle.load(device), inputs)
    if Path(flags.model).suffix == ".hgb" and Path(flags.model).is_file():
        raise HipgraftError("the file has the suffix of a bundle and is none", location=flags.model)
    module = _compiled(flags, device)
    # Imported here because bundles run without the compiler's bindings.
    from hipgraft.runtime.host_program.dynamic import (
        input_tensors,
        model_results,
        result_names,
        stored_inputs,
    )
    from hipgraft.runtime.host_program.parameters import parameter_arrays
    from hipgraft.runtime.recorder import open_session

    directory = Path(flags.model).parent
    inputs = _inputs(flags, input_tensors(module, device.architecture), given)
    doing("the program")
    if flags.runtime == RUNTIMES[0]:
        with open_session(module, device, directory) as session:
            return _run_session(flags, session, inputs)
    shapes = [array.shape for array in inputs]
    constants = parameter_arrays(module, device.architecture, directory, shapes)
    with open_runtime(flags.runtime, module, device) as program:
        stored = stored_inputs(module, device.architecture, inputs)
        outputs = program.run([*stored, *constants])
    names = result_names(module, device.architecture, len(outputs))
    return names, model_results(module, device.architecture, outputs)


def _run_session(
    flags: argparse.Namespace, session: Session, inputs: Sequence[Array]
) -> tuple[list[str], list[Array]]:
    outputs = session.run(inputs)
    if flags.benchmark:
        timing = session.benchmark(inputs, iterations=flags.benchmark)
        sys.stdout.write(f"{timing}\n")
    if flags.profile:
        sys.stdout.write(f"{session.profile(inputs, iterations=flags.profile)}\n")
    return [one.name for one in session.variants[0].results], outputs


def _check_runtime(flags: argparse.Namespace) -> None:
    from hipgraft.runtime.bundle import is_bundle

    for name in ("benchmark", "profile"):
        if flags.runtime != RUNTIMES[0] and getattr(flags, name):
            raise HipgraftError(f"--{name} times --runtime={RUNTIMES[0]} only")
    if flags.runtime != RUNTIMES[0] and is_bundle(flags.model):
        raise HipgraftError(f"a bundle runs by --runtime={RUNTIMES[0]} only")
    if flags.runtime == "jit" and flags.device == "cpu":
        raise HipgraftError(
            "--runtime=jit runs programs for GPUs; those for 'cpu' have no launches"
        )


def _inputs(
    flags: argparse.Namespace,
    variants: Mapping[str, Sequence[Tensor]],
    given: Given | None,
) -> list[Array]:
    from hipgraft.ir.dtypes import numpy_dtype
    from hipgraft.tools import arrays

    signatures = {
        name: [
            arrays.Signature(one.name, one.shape, numpy_dtype(one.element_type)) for one in inputs
        ]
        for name, inputs in variants.items()
    }
    if isinstance(given, Mapping):
        return arrays.match_inputs(given, signatures)
    if given is None:
        return arrays.generate_inputs(next(iter(signatures.values())), flags.seed)
    return arrays.generate_inputs(arrays.of_shapes(signatures, given), flags.seed)


def _compiled(flags: argparse.Namespace, device: Any) -> ir.Module:
    """Returns the program for the device."""
    from hipgraft import frontends
    from hipgraft.compiler.program import compile
    from hipgraft.ir.entry_points import entry_targets

    module = frontends.read(flags.model, **cli.reading(flags), dynamic=not flags.specialize)
    _check_runnable(frontends.stage_of(module), flags)
    _check_trust(module, flags, device)
    _settle_architecture(flags, device, entry_targets(module))
    with progress(flags.quiet) as show, service_flags.open_service(flags) as service:
        compiled = compile(
            module,
            flags.target or _default_target(device),
            extra_flags=service_flags.extra_flags(flags),
            on_stage=lambda stage, _: show(f"reached {stage}"),
            service=service,
        )
    return compiled.module


def _check_trust(module: ir.Module, flags: argparse.Namespace, device: Any) -> None:
    """Checks that the kernels in a compiled program are trusted."""
    from hipgraft.ir.io import collect
    from hipgraft.runtime import known_code

    if flags.trust or not known_code.executes(device) or not collect(module, _WITH_CODE):
        return
    known_code.check_known("the program", known_code.file_digest(flags.model), flags.model)


def _settle_architecture(flags: argparse.Namespace, device: Any, available: Sequence[str]) -> None:
    """Gives an emulator that was named without an architecture one that the program is for."""
    if flags.device == "emulator":
        wanted = (flags.target,) if flags.target else available
        device.architecture = next(iter(wanted), device.architecture)


def _default_target(device: Any) -> str:
    """Returns the newest target that the device runs; if there is none, its own name."""
    from hipgraft.codegen.target import known_targets
    from hipgraft.ir.architectures import fitting

    return fitting(device.architecture, known_targets()) or device.architecture


def _check_runnable(stage: str, flags: argparse.Namespace) -> None:
    if stage == "host" and flags.device == "cpu":
        raise HipgraftError(
            "the program holds GPU code objects only; "
            "run the model or a program of an earlier stage on the CPU, or give --device",
            location=flags.model,
        )


def _conclude(
    flags: argparse.Namespace,
    names: Sequence[str],
    outputs: Sequence[Array],
    expected: Sequence[Array] | None,
) -> int:
    from hipgraft.runtime.comparison import compare, tolerance
    from hipgraft.tools.result_table import print_results

    if expected is None:
        print_results(names, outputs, None)
        return 0
    comparisons: list[Comparison] = []
    for got, want in zip(outputs, expected, strict=True):
        rtol = tolerance(got.dtype) if flags.rtol is None else flags.rtol
        comparisons.append(compare(got, want, rtol, flags.atol))
    print_results(names, outputs, comparisons)
    return 0 if all(comparison.ok for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
