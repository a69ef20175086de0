"""Compares a merged program's launches with the dispatches of `iree-compile` of the whole model.

    python benchmarks/launches.py MODEL.onnx ... [--target gfx942] [--no-code]

Both compile the same file in one run; transients are the bytes of intermediate memory that each of
them plans. With `--no-code`, IREE stops before code generation: launches and transients are the
same. A `*` marks programs of IREE with loops, as for recurrent networks, which hipgraft unrolls:
dispatches in a loop count once, so these models are not compared.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hipgraft

_CONSTANT = re.compile(r"%(\S+) = arith\.constant (\d+) : index")
_TRANSIENT = re.compile(r"!stream\.resource<transient>\{%(\S+?)\}")
_ELIDED = (
    "--mlir-elide-resource-strings-if-larger=16",
    "--mlir-elide-elementsattrs-if-larger=16",
)


@dataclass
class Row:
    """The statistics of one way to compile a model."""

    seconds: float
    launches: int
    transient_bytes: int
    has_loops: bool = False


def hipgraft_row(model: Path, target: str) -> Row:
    start = time.perf_counter()
    text = str(hipgraft.compile(model, target=target).module)
    seconds = time.perf_counter() - start
    arena = re.search(r"gpu\.alloc async .*: memref<(\d+)xi8>", text)
    return Row(seconds, text.count(" gpu.launch_func "), int(arena[1]) if arena else 0)


def iree_row(model: Path, target: str, *, code: bool = True) -> Row:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        imported, schedule = import_model(model, directory), directory / "schedule.mlir"
        start = time.perf_counter()
        if code:
            run_iree(imported, target, "-o", directory / "model.vmfb")
        seconds = time.perf_counter() - start
        run_iree(imported, target, "--compile-to=stream", *_ELIDED, "-o", schedule)
        host = schedule.read_text()
    dispatches = host.count("stream.cmd.dispatch ")
    return Row(seconds, dispatches, transient_bytes(host), has_loops(host))


def has_loops(host: str) -> bool:
    """Returns whether a block of a host program branches to itself or to an earlier one."""
    block = 0
    for line in host.splitlines():
        if "util.func" in line:
            block = 0
        elif label := re.match(r"\s*\^bb(\d+)", line):
            block = int(label[1])
        elif "cf." in line and any(int(to) <= block for to in re.findall(r"\^bb(\d+)", line)):
            return True
    return False


def transient_bytes(host: str) -> int:
    """Returns the sum of the transients that a host program allocates.

    Raises:
        ValueError: the size of a transient depends on values.
    """
    constants = {name: int(value) for name, value in _CONSTANT.findall(host)}
    allocated = re.findall(r"= stream\.resource\.alloca .*", host)
    names = [name for line in allocated for name in _TRANSIENT.findall(line)]
    if not constants.keys() >= {*names}:
        raise ValueError("the size of IREE's transient memory depends on values")
    return sum(constants[name] for name in names)


def import_model(model: Path, directory: Path) -> Path:
    imported = directory / "model.mlir"
    _run("iree-import-onnx", model, "--opset-version=17", "-o", imported)
    return imported


def run_iree(imported: Path, target: str, *flags: object) -> None:
    device = ("--iree-hal-target-device=hip", f"--iree-rocm-target={target}")
    _run("iree-compile", imported, *device, "--iree-opt-level=O3", *flags)


def _run(script: str, *arguments: object) -> None:
    command = [str(Path(sys.executable).parent / script), *map(str, arguments)]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--no-code", action="store_true", help="do not time iree-compile")
    arguments = parser.parse_args()
    head = ("launches", "iree", "compile s", "iree", "transient KB", "iree")
    print(f"{'model':24}" + "".join(f"{text:>14}" for text in head))
    rows: list[tuple[Row, Row]] = []
    for model in arguments.models:
        try:
            iree = iree_row(model, arguments.target, code=not arguments.no_code)
            ours = hipgraft_row(model, arguments.target)
        except (subprocess.CalledProcessError, ValueError, hipgraft.HipgraftError) as error:
            print(f"{model.stem:24} not compared: {error}", flush=True)
            continue
        _print_row(model.stem, ours, iree)
        if not iree.has_loops:
            rows.append((ours, iree))
    _print_row("sum", *(_sum([pair[side] for pair in rows]) for side in (0, 1)))
    more = sum(ours.launches > iree.launches for ours, iree in rows)
    larger = sum(ours.transient_bytes > iree.transient_bytes for ours, iree in rows)
    print(f"of {len(rows)} models, {more} have more launches, {larger} more transient memory")


def _sum(rows: Sequence[Row]) -> Row:
    return Row(
        sum(row.seconds for row in rows),
        sum(row.launches for row in rows),
        sum(row.transient_bytes for row in rows),
    )


def _print_row(name: str, ours: Row, iree: Row) -> None:
    counts = f"{ours.launches:14}{iree.launches:13}{'*' if iree.has_loops else ' '}"
    seconds = f"{ours.seconds:14.1f}{iree.seconds:14.1f}"
    memory = f"{ours.transient_bytes / 1024:14.0f}{iree.transient_bytes / 1024:14.0f}"
    print(f"{name:24}{counts}{seconds}{memory}", flush=True)


if __name__ == "__main__":
    main()
