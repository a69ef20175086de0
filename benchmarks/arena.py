"""Compares planned memory with the peak of live bytes and with `iree-compile`'s plan, over models.

    python benchmarks/arena.py MODEL.onnx ... [--target=gfx942] [--limit=1.02]

Prints a row for each model and one for the sum. Fails if the sum of the planned bytes exceeds
`--limit` times the sum of the lower bounds, or if a model's planned bytes exceed the transients of
`iree-compile` for the whole model. A dash marks models that `iree-compile` does not compile.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launches import iree_row

_SUMMED = ("planned", "bound", "unplanned")


@dataclass
class Row:
    """The bytes of one model, or the sum over all."""

    name: str
    planned: int
    bound: int
    unplanned: int
    iree: int | None

    def print(self) -> None:
        """Prints the row of the table."""
        ratio = self.planned / self.bound if self.bound else 1.0
        planned = f"{self.planned:,} | {self.bound:,} | {ratio:.3f} | {self.unplanned:,}"
        iree = "–" if self.iree is None else f"{self.iree:,}"
        print(f"| {self.name} | {planned} | {iree} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--limit", type=float, default=1.02)
    flags = parser.parse_args(arguments)
    print("| model | planned | lower bound | ratio | without sharing | `iree-compile` |")
    print("| --- | --- | --- | --- | --- | --- |")
    rows: list[Row] = []
    for model in flags.models:
        rows.append(plan_of(model, flags.target))
        rows[-1].print()
    total = Row("sum", *(sum(getattr(row, key) for row in rows) for key in _SUMMED), None)
    total.print()
    above = [row for row in rows if row.iree is not None and row.planned > row.iree]
    return 1 if above or total.planned > flags.limit * total.bound else 0


def plan_of(model: Path, target: str) -> Row:
    import hipgraft

    remarks = hipgraft.compile(model, target).report.remarks
    plans = [remark.args for remark in remarks if remark.name == "arena"]
    planned, bound, unplanned = (
        sum(int(plan[key]) for plan in plans) for key in ("planned", "lower_bound", "unplanned")
    )
    return Row(model.stem, planned, bound, unplanned, iree_or_none(model, target))


def iree_or_none(model: Path, target: str) -> int | None:
    try:
        return iree_row(model, target, code=False).transient_bytes
    except subprocess.CalledProcessError:
        return None


if __name__ == "__main__":
    sys.exit(main())
