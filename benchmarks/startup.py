"""What starting the tools costs against another checkout: CPU and wall time, turn by turn.

    python benchmarks/startup.py OTHER_CHECKOUT [--rounds 10]

The least time of all rounds counts; the processes that watch over tools are included.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INPUTS = ROOT / "test" / "lit" / "tools" / "Inputs"
_MODEL = str(INPUTS / "conv_relu.mlir")
_COMMANDS = {
    "opt": ["opt", _MODEL],
    "opt, two passes": ["opt", _MODEL, "--convert-torch-to-hipdnn", "--hipdnn-outline"],
    "translate": ["translate", "--import-hipdnn-json", str(INPUTS / "conv_bias_relu.json")],
    "compile --help": ["compile", "--help"],
}
# Older checkouts have no process that watches.
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


def timed(root: Path, command: list[str]) -> tuple[float, float]:
    """Returns CPU and wall seconds of one start."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", _START, *command],
        env={**os.environ, "PYTHONPATH": str(root / "src")},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    flags = parser.parse_args()
    print(f"{'ms':16} {'CPU':>6} {'other':>6} {'ratio':>6}  {'wall':>6} {'other':>6} {'ratio':>6}")
    for name, command in _COMMANDS.items():
        rounds = [(timed(flags.other, command), timed(ROOT, command)) for _ in range(flags.rounds)]
        columns: list[str] = []
        for kind in (0, 1):
            other = min(theirs[kind] for theirs, _ in rounds) * 1e3
            ours = min(own[kind] for _, own in rounds) * 1e3
            columns.append(f"{ours:6.0f} {other:6.0f} {ours / other:6.2f}")
        print(f"{name:16} {'  '.join(columns)}")


if __name__ == "__main__":
    main()
