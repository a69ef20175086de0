"""Compares the start-up cost of the tools with iree-opt's: CPU and wall time, in alternation.

    python benchmarks/startup.py [--other CHECKOUT] [--rounds 10]

Each tool starts by its console script, and so does iree-opt: with `--help` against its `--help`,
with a module against the same module. The least time of all rounds counts; the processes that watch
the tools are included. `--other` adds ratios to another checkout of hipgraft.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ROOT / "test" / "lit" / "tools" / "Inputs"
_MODEL = str(INPUTS / "conv_relu.mlir")
_TRIVIAL = str(INPUTS / "identity.mlir")
# The tool's command and iree-opt's, by name.
_COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "opt, a trivial module": (["opt", _TRIVIAL], [_TRIVIAL]),
    "opt, a model": (["opt", _MODEL], [_MODEL]),
    "opt, two passes": (
        ["opt", _MODEL, "--convert-torch-to-hipdnn", "--hipdnn-outline"],
        [_MODEL, "--canonicalize", "--cse"],
    ),
    "translate": (
        ["translate", "--import-hipdnn-json", str(INPUTS / "conv_bias_relu.json")],
        [_TRIVIAL],
    ),
    **{
        f"{tool} --help": ([tool, "--help"], ["--help"])
        for tool in ("opt", "compile", "run", "translate", "cache", "tune", "reduce")
    },
    "opt --version": (["opt", "--version"], ["--version"]),
}
# Other checkouts have no console scripts, and older ones have no watching process.
_START = """
import sys
tool = sys.argv.pop(1)
try:
    from hipgraft.tools import entry
    main = getattr(entry, tool)
except ImportError:
    from importlib import import_module
    main = import_module(f"hipgraft.tools.hipgraft_{tool}").main
sys.exit(main())
"""


def timed(command: Sequence[str | Path], root: Path = ROOT) -> tuple[float, float]:
    """Returns CPU and wall seconds of one start with the package of a checkout."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def measure(name: str, rounds: int, other: Path | None) -> str:
    """Returns a row of the table: times in ms, and ratios to iree-opt and the other checkout."""
    bin_ = Path(sys.executable).parent
    (tool, *words), reference = _COMMANDS[name]
    kinds: dict[str, tuple[list[str | Path], Path]] = {
        "ours": ([bin_ / f"hipgraft-{tool}", *words], ROOT),
        "iree-opt": ([bin_ / "iree-opt", *reference], ROOT),
    }
    if other is not None and (other / "tools" / f"hipgraft_{tool}.py").is_file():
        kinds["other"] = ([sys.executable, "-c", _START, tool, *words], other)
    times = [{kind: timed(*how) for kind, how in kinds.items()} for _ in range(rounds)]
    columns: list[str] = []
    for clock in (0, 1):
        least = {kind: min(row[kind][clock] for row in times) for kind in kinds}
        ratios = [f"{least['ours'] / least[kind]:8.2f}" for kind in kinds if kind != "ours"]
        columns.append(f"{least['ours'] * 1e3:6.0f} {' '.join(ratios)}")
    return f"{name:22} {'  '.join(columns)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--other", type=Path, help="another checkout")
    parser.add_argument("--rounds", type=int, default=10)
    flags = parser.parse_args()
    heads = ["iree-opt", *(["other"] if flags.other else [])]
    titles = [f"{clock:>6} {' '.join(f'{head:>8}' for head in heads)}" for clock in ("CPU", "wall")]
    print(f"{'ms, and ratios to':22} {'  '.join(titles)}")
    for name in _COMMANDS:
        print(measure(name, flags.rounds, flags.other), flush=True)


if __name__ == "__main__":
    main()
