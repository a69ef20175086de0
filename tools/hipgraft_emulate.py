"""hipgraft-emulate: runs programs for AMD GPUs on the emulator."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.signals import ENDING
from hipgraft.tools import cli

_SECONDS = 0.1  # interval at which new findings are reported


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-emulate",
        usage="hipgraft-emulate [--arch ARCH] [--devices N] [--time host|model] "
        "[--check CHECKS] -- COMMAND [ARGUMENT ...]",
        description="Runs a program that loads HIP's runtime on emulated GPUs. Its exit status is "
        "the program's, or 1 where a kernel failed and the program did not notice, or where checks "
        "found defects.",
    )
    add = parser.add_argument
    add(
        "--arch",
        default="gfx942",
        metavar="ARCH",
        help="GPU architecture; by default gfx942",
    )
    add("--devices", type=cli.positive, default=1, metavar="N", help="number of GPUs; by default 1")
    add("--time", choices=("host", "model"), default="host", help="time that events measure: "
        "that of the emulation, by default, or the estimated time of the GPU")  # fmt: skip
    add("--check", default="", metavar="CHECKS", help="defects to look for in each launch: "
        "all, or names of checks as for hipgraft-run; reported once per kernel")  # fmt: skip
    add("command", nargs="+", metavar="COMMAND", help="program, and its arguments")
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    # Imported here because `--help` and wrong flags need no emulator.
    from hipgraft.emulator import parse_checks
    from hipgraft.emulator.hip_runtime import emulation

    check, estimated = parse_checks(flags.check), flags.time == "model"
    with emulation(flags.arch, flags.devices, estimated=estimated, check=check) as emulated:
        status = _wait(flags.command, emulated.environment, emulated.tell)
        emulated.tell(ended=True)
        reports = emulated.reports
        if reports.findings:
            defects = "defect" if reports.findings == 1 else "defects"
            sys.stderr.write(f"error: the checks found {reports.findings} {defects}\n")
        return status or int(bool(emulated.errors or reports.faults or reports.findings))


def _wait(command: Sequence[str], environment: Mapping[str, str], tell: Callable[[], None]) -> int:
    """Runs a command, forwards signals to it, and returns its exit status.

    Calls `tell` from time to time.
    """
    try:
        process = subprocess.Popen(command, env={**os.environ, **environment})
    except OSError as error:
        raise HipgraftError(f"'{command[0]}' cannot be run: {error.strerror}") from error
    for number in ENDING:
        signal.signal(number, lambda received, _: process.send_signal(received))
    while True:
        try:
            status = process.wait(_SECONDS)
            return status if status >= 0 else 128 - status
        except subprocess.TimeoutExpired:
            tell()


if __name__ == "__main__":
    sys.exit(main())
