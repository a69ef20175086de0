"""hipgraft-config: prints the paths of files that other builds and hosts need."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from hipgraft import native
from hipgraft.ir.command_line import Parser
from hipgraft.tools import cli

_PLACES: dict[str, tuple[Callable[[], Path], str]] = {
    "library": (native.library_path, "libhipgraft.so, which runs compiled programs without Python"),
    "hipdnn-plugin": (native.plugin_path, "libhipgraft_plugin.so, an engine of hipDNN"),
    "onnxruntime-ep": (
        native.onnxruntime_path,
        "libhipgraft_onnxruntime.so, ONNX Runtime's provider",
    ),
    "include": (native.include_directory, "the folder of hipgraft.h"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    return cli.run_tool(lambda: _run(flags.place))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="hipgraft-config",
        description="Prints where hipgraft's files for other builds and hosts are.",
    )
    group = parser.add_mutually_exclusive_group(required=True)
    for name, (_, text) in _PLACES.items():
        group.add_argument(f"--{name}", dest="place", action="store_const", const=name, help=text)
    parser.add_argument("--version", action=cli.VersionAction)
    return parser


def _run(place: str) -> int:
    find, _ = _PLACES[place]
    print(find())
    return 0
