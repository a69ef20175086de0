"""Measures the CPU seconds that the choice of lowerings adds to a cold compile.

    python benchmarks/search_cost.py MODEL... [--target gfx942] [--repeat 3]

Prints a row for each model: the CPU seconds without search, with the default search and the shipped
database, and with the default search and no database, and the ratios of the last two to the first.
Each number is the minimum over `--repeat` runs in separate processes, without a cache.
"""

from __future__ import annotations

import argparse
import sys

from compile_service import cost

from hipgraft.compiler.program import compile
from hipgraft.service import CompileService, ProcessWorkers
from hipgraft.service.tuning.database import Database, shipped_database
from hipgraft.service.tuning.search import Search

SEARCHES = {
    "none": lambda: Search("none"),
    "shipped": lambda: Search("default", database=shipped_database()),
    "unknown": lambda: Search("default", database=Database()),
}


def compile_once(model: str, target: str, search: str) -> None:
    with CompileService(ProcessWorkers(), search=SEARCHES[search]()) as service:
        compile(model, target, service=service)


def seconds(model: str, target: str, search: str, repeat: int) -> float:
    """Returns the CPU seconds of a process that compiles a model."""
    command = [sys.executable, __file__, model, f"--target={target}", f"--once={search}"]
    return min(cost(command).cpu for _ in range(repeat))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--once", choices=SEARCHES, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.once:
        compile_once(flags.models[0], flags.target, flags.once)
        return
    print(f"{'model':40} {'none':>8} {'shipped':>8} {'ratio':>6} {'unknown':>8} {'ratio':>6}")
    for model in flags.models:
        none, shipped, unknown = (
            seconds(model, flags.target, search, flags.repeat) for search in SEARCHES
        )
        row = f"{model[-40:]:40} {none:8.2f} {shipped:8.2f} {shipped / none:6.3f}"
        print(f"{row} {unknown:8.2f} {unknown / none:6.3f}", flush=True)


if __name__ == "__main__":
    main()
