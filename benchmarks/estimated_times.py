"""Compares the estimated time of a model's kernels with that of plain `iree-compile`.

    python benchmarks/estimated_times.py MODEL... [--target gfx942] [--kernels 5] [--limit 1.0]
        [--constant-weights]

Prints a row for each model: the launches and the microseconds of one run, gaps between launches
included, by the cost model of docs/timing.md, for hipgraft and for `iree-compile
--iree-opt-level=O3` of the same file, and the ratio. Exits with 1 if a ratio exceeds `--limit`.

Up to 23 workgroups of each launch are executed on zero-filled memory. Fills, copies and the work
that IREE does once at load time do not count. `--kernels N` lists the N longest kernels of both.
`--constant-weights` replaces the weights of an ONNX model by random constants if they are inputs:
inputs with a dot in their name become initializers, as exporters write them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from constant_weights import with_weights
from wave_counts import Part, hipgraft_parts, iree_parts

from hipgraft import emulator
from hipgraft.codegen.chips import CHIPS
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.tuning.counted import launches


@dataclass
class Row:
    """A kernel with those of its launches that take equally long."""

    part: str
    estimate: emulator.Estimate
    launches: int

    @property
    def microseconds(self) -> float:
        """The time of all these launches."""
        return self.estimate.microseconds * self.launches


def rows_of(parts: Iterable[Part]) -> list[Row]:
    """The kernels of a program; launches with equal grids, constants and operands are one row."""
    rows: dict[object, Row] = {}
    for part in parts:
        for code, launch, arguments in launches(part.kernel):
            sizes = tuple(binding.length for binding in launch.bindings)
            digest = part.kernel.objects[launch.object]
            key = (digest, launch.kernel, launch.grid, launch.constants, sizes)
            if key not in rows:
                found = emulator.estimate(
                    code,
                    launch.kernel,
                    launch.grid,
                    launch.block,
                    arguments,
                    dynamic_lds=launch.dynamic_shared_memory,
                )
                rows[key] = Row(part.name, found, 0)
            rows[key].launches += part.times
    return list(rows.values())


def total(rows: Sequence[Row], target: Target) -> tuple[int, float]:
    """Returns the number of launches, and the microseconds of running all of them in sequence."""
    number = sum(row.launches for row in rows)
    gaps = 1e6 * (number - 1) * CHIPS[target.name].gap_seconds
    return number, sum(row.microseconds for row in rows) + gaps


def print_longest(rows: Sequence[Row], most: int) -> None:
    for row in sorted(rows, key=lambda row: -row.microseconds)[:most]:
        found = row.estimate
        times = f"{row.launches:4} x {found.microseconds:8.2f} us  {found.bound:8}"
        print(f"    {times} {found.workgroups:6} workgroups  {row.part}: {found.kernel}")


def measure(model: Path, target: Target, kernels: int) -> float:
    """Prints the row of a model and returns its ratio."""
    sides: list[list[Row]] = []
    for parts_of in (hipgraft_parts, iree_parts):
        try:
            sides.append(rows_of(parts_of(model, target)))
        except (HipgraftError, RuntimeError, ir.MLIRError) as error:
            reason = " ".join(str(error).split())[:120]
            totals = [total(side, target) for side in sides]
            known = [f"{number} | {us:,.1f} | " for number, us in totals]
            print(f"| {model.stem} | {''.join(known)}{parts_of.__name__}: {reason} |", flush=True)
            return 0.0
    (our_launches, ours), (their_launches, theirs) = (total(side, target) for side in sides)
    row = f"| {model.stem} | {our_launches} | {their_launches} | {ours:,.1f} | {theirs:,.1f}"
    print(f"{row} | {ours / theirs:.3f} |", flush=True)
    for side in sides:
        print_longest(side, kernels)
    return ours / theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", default="gfx942", choices=CHIPS)
    parser.add_argument("--kernels", type=int, default=0)
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--constant-weights", action="store_true")
    flags = parser.parse_args()
    target = Target.parse(flags.target)
    print("| model | launches | iree-compile | µs | iree-compile | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as directory:
        models = flags.models
        if flags.constant_weights:
            models = [with_weights(model, Path(directory)) for model in models]
        ratios = [measure(model, target, flags.kernels) for model in models]
    return int(max(ratios) > flags.limit)


if __name__ == "__main__":
    sys.exit(main())
