"""hipgraft-reduce: makes a module smaller while a command still finds it interesting."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.tools import cli

if TYPE_CHECKING:
    from hipgraft.reduction import Reducer

_DESCRIPTION = """
Makes a module smaller as long as a command finds it interesting. It drops functions, ops, operands,
results, arguments and attributes, takes smaller extents, and keeps the smallest module that MLIR
and the hipdnn dialect accept and that fulfils the contracts of the stages that the input fulfils.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="hipgraft-reduce", description=_DESCRIPTION)
    add = parser.add_argument
    add("input", metavar="INPUT", help="a module, text or bytecode; - is standard input")
    add(
        "--test",
        required=True,
        metavar="COMMAND",
        help="a command line; it is started with the name of a file appended, and the module in "
        "that file is interesting if the exit status is 0",
    )
    add(
        "-o",
        "--output",
        default="-",
        metavar="OUT",
        help="output file, updated at each step; - is standard output",
    )
    add(
        "--timeout",
        type=cli.magnitude,
        default=60.0,
        metavar="SECONDS",
        help="time limit of a trial (default: 60)",
    )
    add("-j", "--jobs", type=cli.positive, default=1, metavar="N", help="trials at the same time")
    add("--any-stage", action="store_true", help="accept modules that break the stage's contract")
    add("-q", "--quiet", action="store_true", help="show no progress")
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    # Imported here because `--help` and wrong flags need no compiler.
    from hipgraft.frontends.torch.text import read_mlir
    from hipgraft.ir import io as ir_io
    from hipgraft.ir.bindings import make_context
    from hipgraft.reduction import Reducer

    module = read_mlir(Path(flags.input), make_context())

    def show(reducer: Reducer) -> None:
        if flags.output != "-":
            ir_io.write_output(flags.output, reducer.text.encode())
        if not flags.quiet:
            print(_progress(reducer), file=sys.stderr)

    command = _command(flags.test)
    with (
        tempfile.TemporaryDirectory(prefix="hipgraft-reduce-") as folder,
        closing(_Trials(command, Path(folder), flags.timeout)) as trials,
    ):
        reducer = Reducer(
            module,
            trials.is_interesting,
            jobs=flags.jobs,
            any_stage=flags.any_stage,
            on_smaller=show,
        )
        text = reducer.run()
    ir_io.write_output(flags.output, text.encode())
    return 0


def _command(text: str) -> list[str]:
    words = cli.split_flags(text, "--test")
    if not words:
        raise HipgraftError("expected a command in '--test'")
    if shutil.which(words[0]) is None:
        raise HipgraftError(f"cannot run '{words[0]}' of '--test': no such command")
    return words


def _progress(reducer: Reducer) -> str:
    size = reducer.size
    total = size.ops + size.constants
    return f"{total} ops, {size.characters} characters after {reducer.trials} trials"


class _Trials:
    """Runs the command on modules, each in a process group of its own."""

    def __init__(self, command: Sequence[str], folder: Path, timeout: float):
        self._command = command
        self._folder = folder
        self._timeout = timeout
        self._numbers = count()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def is_interesting(self, text: str) -> bool:
        """Returns whether the command ends with status 0, in time, on a file with this text."""
        path = self._folder / f"{next(self._numbers)}.mlir"
        with self._lock:
            if self._is_closed:
                return False
            path.write_text(text)
            process = subprocess.Popen(
                [*self._command, str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._running.add(process)
        try:
            return process.wait(self._timeout) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            self._end(process)
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Ends all running processes; every later module counts as uninteresting."""
        with self._lock:
            self._is_closed = True
            running = list(self._running)
        for process in running:
            self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a process and all of its children."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with self._lock:
            self._running.discard(process)


if __name__ == "__main__":
    sys.exit(main())
