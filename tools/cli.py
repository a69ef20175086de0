"""Manners that the command-line tools share: errors, numbers and shapes in flags."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from hipgraft.diagnostic_printer import DiagnosticPrinter
from hipgraft.diagnostics import HipgraftError, HipgraftWarning


def run_tool(body: Callable[[], int]) -> int:
    """Runs a tool's body; returns its exit status. Errors and warnings are printed as MLIR's."""
    try:
        with _warnings_as_diagnostics():
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


@contextmanager
def _warnings_as_diagnostics() -> Generator[None, None, None]:
    printer, show = DiagnosticPrinter(sys.stderr), warnings.showwarning

    def print_or_show(message: Warning | str, *rest: Any) -> None:
        if isinstance(message, HipgraftWarning):
            printer.print(message.diagnostic)
        else:
            show(message, *rest)

    with warnings.catch_warnings():
        warnings.simplefilter("always", HipgraftWarning)
        warnings.showwarning = print_or_show
        yield


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
        help="extents of a dynamic input",
    )
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=N",
        help="extent of a symbolic dimension",
    )
    parser.add_argument(
        "--specialize",
        action="append",
        default=[],
        metavar="NAME=N,N,...",
        help="extents of a symbolic dimension: a variant is compiled for each, and for each "
        "combination if given repeatedly; runs select by their inputs' shapes",
    )
    parser.add_argument(
        "--iree-flags",
        default="",
        metavar="FLAGS",
        help="further flags for IREE's compiler, as in a shell",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def extents(flags: argparse.Namespace) -> dict[str, Any]:
    """Returns what `hipgraft.compile` and `hipgraft.frontends.read` take for dynamic dimensions.

    Raises:
        HipgraftError: a flag has another form.
    """
    return {
        "shapes": _extents_by_name("shape", flags.shape, "x"),
        "dims": {name: one for name, (one,) in _extents_by_name("dim", flags.dim, "").items()},
        "specialize": _extents_by_name("specialize", flags.specialize, ","),
    }


def _extents_by_name(flag: str, texts: Sequence[str], separator: str) -> dict[str, Sequence[int]]:
    found: dict[str, Sequence[int]] = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        if not name:
            raise HipgraftError(f"expected NAME=... in '--{flag}={text}'")
        parts = numbers.split(separator) if separator else [numbers]
        found[name] = [_extent(part, f"--{flag}={text}") for part in parts]
    return found


def _extent(text: str, flag: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise HipgraftError(f"expected a positive number in '{flag}', found '{text}'")
    return int(text)
