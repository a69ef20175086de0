"""Shared code of command-line tools: errors, and numbers and shapes in flags."""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.ir.signals import deferred
from hipgraft.passmanager.diagnostic_printer import DiagnosticPrinter
from hipgraft.tools import running

_NUMBER = re.compile(r"[0-9]{1,18}")


def run_tool(body: Callable[[], int]) -> int:
    """Runs a tool's body; returns its exit status. Prints errors and warnings as MLIR does."""

    def run() -> int:
        with deferred():
            import numpy  # noqa: F401  # pyright: ignore[reportUnusedImport]
        with warnings_as_diagnostics():
            return body()

    return running.run_tool(run)


@contextmanager
def warnings_as_diagnostics() -> Generator[None, None, None]:
    """Prints hipgraft's warnings as MLIR's diagnostics."""
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


class VersionAction(argparse.Action):
    """Prints the tool's name and the package's version, looked up only when it is needed."""

    def __init__(self, option_strings: Sequence[str], dest: str):
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Prints the version and ends the tool."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            text = version("hipgraft")
        except PackageNotFoundError:
            text = "(not installed)"
        print(f"{parser.prog} {text}")
        parser.exit()


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments for the model and its dynamic dimensions."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="an .onnx, .mlir or .mlirbc file, or a hipDNN graph (.json, .fb, a template's folder)",
    )
    add_sweep_case(parser)
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


def add_sweep_case(parser: argparse.ArgumentParser) -> None:
    """Adds the case of a hipDNN graph template."""
    parser.add_argument(
        "--sweep-case",
        metavar="ID",
        help="case of a hipDNN graph template; by default the only one",
    )


def add_list_cases(parser: argparse.ArgumentParser) -> None:
    """Adds a flag that prints the cases of a hipDNN graph template; see `print_cases`."""
    parser.add_argument(
        "--list-cases", action="store_true", help="print the cases of a hipDNN graph template"
    )


def print_cases(path: str, sweep: str | None = None) -> int:
    """Prints the cases of a hipDNN graph template, one per line; returns the exit status.

    Raises:
        HipgraftError: the file is not a template, or its sweep is missing.
    """
    from hipgraft.hipdnn_io.files import case_names
    from hipgraft.ir.io import write_output

    write_output("-", "".join(f"{name}\n" for name in case_names(path, sweep)).encode())
    return 0


def reading(flags: argparse.Namespace) -> dict[str, Any]:
    """Returns the arguments of `hipgraft.compile` and `hipgraft.frontends.read` besides the model.

    Raises:
        HipgraftError: a flag is malformed.
    """
    return extents(flags) | {"sweep_case": flags.sweep_case}


def extents(flags: argparse.Namespace) -> dict[str, Any]:
    """Returns arguments of `hipgraft.compile` and `hipgraft.frontends.read` for dynamic extents.

    Raises:
        HipgraftError: a flag is malformed.
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
    if not is_number(text) or int(text) == 0:
        raise HipgraftError(f"expected a positive number in '{flag}', found '{text[:40]}'")
    return int(text)


def natural(text: str) -> int:
    """Parses a flag that is a non-negative integer, for `argparse`."""
    if not is_number(text):
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, found '{text[:40]}'")
    return int(text)


def positive(text: str) -> int:
    """Parses a flag that is a positive integer, for `argparse`."""
    if not is_number(text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a positive number, found '{text[:40]}'")
    return int(text)


def magnitude(text: str) -> float:
    """Parses a flag that is a finite, non-negative number, such as a duration, for `argparse`."""
    with suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"expected a number from 0 on, found '{text[:40]}'")


def is_number(text: str) -> bool:
    """Returns whether a text is a number of few ASCII digits: Python also treats `²` as a digit."""
    return _NUMBER.fullmatch(text) is not None


def split_flags(text: str, flag: str) -> list[str]:
    """Returns the words of a flag's value, as a shell splits them.

    Raises:
        HipgraftError: a quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise HipgraftError(f"cannot read '{flag}': {str(error).lower()}") from None
