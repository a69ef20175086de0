"""Runs one kernel of a code object: `python -m hipgraft.emulator KERNEL.hsaco`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hipgraft.emulator import (
    CodeObject,
    EmulatorError,
    Finding,
    Order,
    estimate,
    launch,
    parse_checks,
)
from hipgraft.ir.command_line import Parser
from hipgraft.ir.diagnostics import HipgraftError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the tool and returns its exit status.

    Args:
        arguments: the command line without the program's name; None takes the process's own.
    """
    flags = _parser().parse_args(arguments)
    try:
        findings = _run(flags)
    except HipgraftError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for finding in findings:
        sys.stderr.write(f"error: {finding}\n")
    return 1 if findings else 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m hipgraft.emulator",
        description="Runs one kernel of an AMDGPU code object on the CPU and prints what it did.",
    )
    add = parser.add_argument
    add("code", metavar="KERNEL.hsaco", help="a code object, or a file that contains one")
    add("--kernel", default="", metavar="NAME", help="by default the only kernel")
    add("--grid", type=_extents, default=(1,), metavar="X,Y,Z", help="workgroups; by default one")
    add("--block", type=_extents, metavar="X,Y,Z", help="work items; by default what it requires")
    add("--args", default="", metavar="IN.npz", help="arguments in order: arrays are pointers, "
        "arrays without dimensions are values")  # fmt: skip
    add("--output", default="", metavar="OUT.npz", help="write the arrays as the kernel left them")
    add("--order", choices=[order.name.lower() for order in Order], default="forward",
        help="order of a workgroup's waves between barriers")  # fmt: skip
    add("--seed", type=int, default=1, help="seed of a random order and of uninitialised registers")
    add("--check", default="", metavar="CHECKS", help="checks to run: all, or some of races, "
        "uninitialised, alignment, barriers, order; defects are printed, and the exit status "
        "is 1")  # fmt: skip
    add("--every", type=int, default=1, metavar="N", help="run each N-th workgroup only")
    add("--estimate", action="store_true", help="print the estimated time on a GPU instead")
    add("--dynamic-lds", type=int, default=0, metavar="BYTES",
        help="dynamic LDS, added to the kernel's static LDS")  # fmt: skip
    return parser


def _extents(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(","))


def _run(flags: argparse.Namespace) -> Sequence[Finding]:
    code = CodeObject.read(flags.code)
    if not flags.kernel and len(code.kernels) > 1:
        names = ", ".join(sorted(code.kernels))
        raise EmulatorError(f"give one of the kernels {names} with --kernel")
    arrays = _read_arrays(flags.args)
    name = flags.kernel or next(iter(code.kernels))
    values = [array if array.shape else array[()] for array in arrays.values()]
    if flags.estimate:
        lds = flags.dynamic_lds
        found = estimate(code, name, flags.grid, flags.block, values, dynamic_lds=lds)
        sys.stdout.write(f"{found}\n")
        return []
    counts = launch(
        code,
        name,
        flags.grid,
        flags.block,
        values,
        dynamic_lds=flags.dynamic_lds,
        every=flags.every,
        order=Order[flags.order.upper()],
        seed=flags.seed,
        check=parse_checks(flags.check),
    )
    sys.stdout.write(f"{counts}\n")
    if flags.output:
        np.savez(Path(flags.output), **arrays)  # pyright: ignore[reportArgumentType]
    return counts.findings


def _read_arrays(path: str) -> dict[str, np.ndarray[Any, Any]]:
    if not path:
        return {}
    try:
        with np.load(path) as file:
            return {name: np.ascontiguousarray(file[name]) if file[name].shape else file[name]
                    for name in file.files}  # fmt: skip
    except (OSError, ValueError) as error:
        raise EmulatorError(f"'{path}' cannot be read: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
