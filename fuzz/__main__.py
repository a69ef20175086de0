"""Searches for harmful inputs: tracebacks, crashes, hangs, memory, files written elsewhere.

    python -m fuzz [TARGET...] [--time 300 | --inputs 1000 | --replay] [--seed 0]

Inputs that are found are reduced and kept in fuzz/regressions, where `make test` runs them.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.engine import Finding, Search, Target, minimised
from fuzz.targets import TARGETS

REGRESSIONS = Path(__file__).parent / "regressions"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the search and returns the exit status: 1 if there is a finding."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--time", type=float, default=300.0, help="seconds, for all targets")
    parser.add_argument(
        "--inputs", type=int, help="inputs for each target, fewer of those that compile"
    )
    parser.add_argument("--replay", action="store_true", help="run only what was kept")
    parser.add_argument("--seed", type=int, help="of the inputs; the clock's if absent")
    parser.add_argument(
        "--keep",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="minimise what is found and keep it as a regression",
    )
    flags = parser.parse_args(arguments)
    unknown = set(flags.targets) - set(TARGETS)
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}")
    seed = int(time.time()) if flags.seed is None else flags.seed
    chosen = [TARGETS[name] for name in flags.targets or TARGETS]
    found: list[Finding] = []
    for target in chosen:
        if flags.replay:
            paths = sorted((REGRESSIONS / target.name).glob("*"))
            inputs = (path.read_bytes() for path in paths)
        else:
            last = None if flags.inputs is None else -(-flags.inputs // target.cost)
            numbers = itertools.islice(itertools.count(), last)
            inputs = (target.fresh(seed, number) for number in numbers)
        is_timed = flags.inputs is None and not flags.replay
        until = time.monotonic() + flags.time / len(chosen) if is_timed else float("inf")
        search = Search(target, inputs, until)
        found += _run(search, keep=flags.keep and not flags.replay)
        print(f"{target.name}: {search.ran} inputs of seed {seed}", flush=True)
    return 1 if found else 0


def _run(search: Search, *, keep: bool) -> list[Finding]:
    """Prints each finding once, and returns those that are not MLIR's own bugs."""
    target = search.target
    found: dict[str, Finding] = {}
    for finding in search:
        if finding.key in found:
            continue
        found[finding.key] = finding
        print(f"{target.name}: {finding.key}\n{finding.text}\n", flush=True)
        if keep and not finding.is_native:
            path = keep_regression(minimised(finding, target), target)
            print(f"kept as {path}\n", flush=True)
    return [each for each in found.values() if not each.is_native]


def keep_regression(finding: Finding, target: Target) -> Path:
    """Writes an input to the folder of regressions and returns its path."""
    path = REGRESSIONS / target.name / f"{finding.name}{target.suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(finding.data)
    return path


if __name__ == "__main__":
    sys.exit(main())
