"""hipgraft-run: runs a model or a program of any stage, and checks its results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hipgraft.diagnostics import HipgraftError
from hipgraft.tools import cli, service_flags
from hipgraft.tools.progress import progress

if TYPE_CHECKING:
    from hipgraft.bindings import ir
    from hipgraft.tools.arrays import Array, Comparison, Signature


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status: 1 also when results differ.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hipgraft-run",
        description="Compiles what is not yet compiled, runs it, and compares the results.",
        allow_abbrev=False,
    )
    cli.add_model_arguments(parser)
    service_flags.add_service_arguments(parser)
    add = parser.add_argument
    add(
        "--device",
        default="cpu",
        metavar="DEVICE",
        help="cpu, PATH.py:FACTORY or MODULE:FACTORY",
    )
    add("--target", default="", metavar="ARCH", help="by default the device's architecture")
    add("--input", default="", metavar="@IN.npz", help="inputs: in_0, ... or by argument name")
    add("--seed", type=int, default=0, help="of the inputs that are made without --input")
    add("--expected", default="", metavar="@OUT.npz", help="expected results: out_0, ...")
    add("--rtol", type=float, help="of the largest expected magnitude; default by element type")
    add("--atol", type=float, default=0.0, help="added to that")
    add("--output", default="", metavar="@OUT.npz", help="write the results")
    add("--version", action="version", version=cli.version_text("hipgraft-run"))
    return parser


def _run(flags: argparse.Namespace) -> int:
    # Only now: `--help` and wrong flags need no compiler.
    from hipgraft.runtime.devices import open_device
    from hipgraft.tools import arrays

    expected = arrays.read_arrays(flags.expected, "out") if flags.expected else None
    given = arrays.read_arrays(flags.input, "in") if flags.input else None
    device = open_device(flags.device)
    try:
        outputs = _execute(flags, device, given)
    finally:
        device.close()
    if flags.output:
        arrays.write_arrays(flags.output, outputs)
    return _conclude(flags, outputs, None if expected is None else list(expected.values()))


def _execute(
    flags: argparse.Namespace, device: Any, given: Mapping[str, Array] | None
) -> list[Array]:
    from hipgraft.runtime.interpreter import Executor
    from hipgraft.tools import arrays

    module, names = _compiled(flags, device)
    with Executor(module, device) as executor:
        signatures = _signatures(executor.function, names)
        if given is None:
            return executor.run(arrays.generate_inputs(signatures, flags.seed))
        return executor.run(arrays.match_inputs(given, signatures))


def _compiled(flags: argparse.Namespace, device: Any) -> tuple[ir.Module, list[str]]:
    """Returns the program for the device, and the names that the model gives its inputs."""
    from hipgraft import frontends
    from hipgraft.program import compile

    target = flags.target or ("cpu" if flags.device == "cpu" else device.architecture)
    module = frontends.read(
        flags.model, shapes=cli.parse_shapes(flags.shape), dims=cli.parse_dims(flags.dim)
    )
    _check_runnable(frontends.stage_of(module), flags)
    names = frontends.argument_names(module)
    with progress(flags.quiet) as show, service_flags.open_service(flags) as service:
        compiled = compile(
            module,
            target,
            extra_flags=service_flags.extra_flags(flags),
            on_stage=lambda stage, _: show(f"reached {stage}"),
            service=service,
        )
    return compiled.module, names


def _signatures(function: ir.Operation, names: Sequence[str]) -> list[Signature]:
    from hipgraft.bindings import ir
    from hipgraft.runtime.dtypes import numpy_dtype
    from hipgraft.tools.arrays import Signature

    types = [ir.MemRefType(argument.type) for argument in function.regions[0].blocks[0].arguments]
    results = ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    return [
        Signature(name, tuple(memref.shape), numpy_dtype(memref.element_type))
        for name, memref in zip(names, types[: len(types) - results], strict=False)
    ]


def _check_runnable(stage: str, flags: argparse.Namespace) -> None:
    if stage == "host" and flags.device == "cpu":
        raise HipgraftError(
            "the program holds GPU code objects only; "
            "run the model or a program of an earlier stage on the CPU, or give --device",
            location=flags.model,
        )


def _conclude(
    flags: argparse.Namespace, outputs: Sequence[Array], expected: Sequence[Array] | None
) -> int:
    from hipgraft.tools import arrays
    from hipgraft.tools.result_table import print_results

    if expected is None:
        print_results(outputs, None)
        return 0
    if len(expected) != len(outputs):
        raise HipgraftError(f"expected {len(expected)} results, the program has {len(outputs)}")
    comparisons: list[Comparison] = []
    for got, want in zip(outputs, expected, strict=True):
        rtol = arrays.tolerance(got.dtype) if flags.rtol is None else flags.rtol
        comparisons.append(arrays.compare(got, want, rtol, flags.atol))
    print_results(outputs, comparisons)
    return 0 if all(comparison.ok for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
