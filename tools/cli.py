"""Manners that the command-line tools share: errors, numbers and shapes in flags."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from hipgraft.diagnostic_printer import DiagnosticPrinter
from hipgraft.diagnostics import HipgraftError


def run_tool(body: Callable[[], int]) -> int:
    """Runs a tool's body and returns its exit status; user errors are printed as MLIR's."""
    try:
        return body()
    except HipgraftError as error:
        DiagnosticPrinter(sys.stderr).print_error(error)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone; Python would complain once more when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def version_text(tool: str) -> str:
    """Returns the tool's name and the package's version."""
    try:
        return f"{tool} {version('hipgraft')}"
    except PackageNotFoundError:
        return f"{tool} (not installed)"


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the model and what its dynamic dimensions are."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="an .onnx, .mlir or .mlirbc file, or a hipDNN graph (.json, .fb)",
    )
    parser.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="extents of a dynamic ONNX input",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="extent of a symbolic ONNX dimension",
    )
    parser.add_argument(
        "--iree-flags",
        default="",
        metavar="FLAGS",
        help="further flags for IREE's compiler, as in a shell",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def parse_shapes(texts: Sequence[str]) -> Mapping[str, Sequence[int]]:
    """Returns extents by input name from `NAME=1x3x224x224` texts.

    Raises:
        HipgraftError: a text has another form.
    """
    shapes: dict[str, Sequence[int]] = {}
    for text in texts:
        name, _, extents = text.rpartition("=")
        shapes[name] = [_extent(extent, f"--shape={text}") for extent in extents.split("x")]
    return shapes


def parse_dims(texts: Sequence[str]) -> Mapping[str, int]:
    """Returns extents by symbolic name from `NAME=N` texts.

    Raises:
        HipgraftError: a text has another form.
    """
    dims: dict[str, int] = {}
    for text in texts:
        name, _, extent = text.rpartition("=")
        dims[name] = _extent(extent, f"--dim={text}")
    return dims


def _extent(text: str, flag: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise HipgraftError(f"expected a positive number in '{flag}', found '{text}'")
    return int(text)
