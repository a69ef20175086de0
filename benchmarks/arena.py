"""Planned memory against the most that is live at once, over models.

    python benchmarks/arena.py MODEL.onnx... [--target=gfx942] [--limit=1.02]

Prints a row for each model and the sum; fails where the sum of the planned bytes is over `--limit`
times that of the lower bounds.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--limit", type=float, default=1.02)
    flags = parser.parse_args(arguments)
    print("| model | planned | lower bound | ratio | without sharing |")
    print("| --- | --- | --- | --- | --- |")
    plans = [plan_of(model, flags.target) for model in flags.models]
    for model, plan in zip(flags.models, plans, strict=True):
        print_row(model, *plan)
    planned, bound, unplanned = (sum(column) for column in zip(*plans, strict=True))
    print_row("sum", planned, bound, unplanned)
    return 0 if planned <= flags.limit * bound else 1


def plan_of(model: str, target: str) -> tuple[int, int, int]:
    """Planned bytes, the lower bound, and the sum without sharing."""
    import hipgraft

    remarks = hipgraft.compile(model, target).report.remarks
    plans = [remark.args for remark in remarks if remark.name == "arena"]
    planned, bound, unplanned = (
        sum(int(plan[key]) for plan in plans) for key in ("planned", "lower_bound", "unplanned")
    )
    return planned, bound, unplanned


def print_row(name: str, planned: int, bound: int, unplanned: int) -> None:
    ratio = planned / bound if bound else 1.0
    print(f"| {name} | {planned} | {bound} | {ratio:.3f} | {unplanned} |")


if __name__ == "__main__":
    sys.exit(main())
