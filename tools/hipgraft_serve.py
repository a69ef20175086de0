"""hipgraft-serve: compiles for applications of hipDNN, outside of their process."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.environment import variable
from hipgraft.tools import cli

_IDLE = 900.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-serve",
        description="Compiles graphs for the plugin of hipDNN, which starts it when it needs it. "
        "There is one for each user and cache; a second one ends at once.",
    )
    add = parser.add_argument
    add("--background", action="store_true", help="return once the server accepts requests")
    add(
        "--idle",
        type=cli.magnitude,
        default=_IDLE,
        metavar="SECONDS",
        help="time without a request after which the server ends (default: 900)",
    )
    add("--version", action=cli.VersionAction)
    return parser


def _run(flags: argparse.Namespace) -> int:
    from hipgraft.helper.server import Server

    server = Server(flags.idle, _ignore if flags.background else _tell, _seconds())
    if not server.bind():
        _tell("hipgraft-serve is running already")
        return 0
    if flags.background and not _detach():
        return 0
    server.run()
    return 0


def _seconds() -> float:
    """Returns the time limit for a graph, by the environment because plugins start the tool."""
    from hipgraft.helper.server import SECONDS

    name = "HIPGRAFT_SERVE_SECONDS"
    given = variable(name)
    try:
        return cli.magnitude(given) if given else SECONDS
    except argparse.ArgumentTypeError:
        raise HipgraftError(f"{name} is '{given}': expected a number of seconds") from None


def _detach() -> bool:
    """Continues in a forked process; returns whether this is the fork."""
    if os.fork():
        return False
    os.setsid()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    return True


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _ignore(line: str) -> None:
    pass
