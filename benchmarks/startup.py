"""Compares the CPU time that each tool takes to start with iree-opt's.

    python benchmarks/startup.py --rounds=10

Prints the least user and system time of some runs, of `--help` and of a module of one function. The
runs of all tools alternate, so that other load on the machine meets them alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(sys.executable).parent
TOOLS = ("opt", "compile", "run", "cache", "tune", "translate")
MODULE = "func.func @f(%x: i32) -> i32 {\n  return %x : i32\n}\n"


def main() -> None:
    """Prints a line for each command: seconds, and the ratio to iree-opt's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10, help="runs of each command")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "module.mlir"
        path.write_text(MODULE)
        groups = {
            "--help": [("iree-opt", "--help"), *((f"hipgraft-{one}", "--help") for one in TOOLS)],
            "a module": [("iree-opt", str(path)), ("hipgraft-opt", str(path))],
        }
        for title, commands in groups.items():
            least = measured(commands, rounds)
            reference = least[commands[0]]
            print(title)
            for command, seconds in least.items():
                print(f"  {command[0]:<20} {seconds:6.3f} s  {seconds / reference:5.2f}")


def measured(commands: list[tuple[str, str]], rounds: int) -> dict[tuple[str, str], float]:
    """Returns the least CPU seconds of each command, a tool and its argument."""
    times: dict[tuple[str, str], list[float]] = {command: [] for command in commands}
    for _ in range(rounds):
        for command in commands:
            times[command].append(cpu_seconds(command))
    return {command: min(found) for command, found in times.items()}


def cpu_seconds(command: tuple[str, str]) -> float:
    """Returns user and system time of one run, its own processes included."""
    before = os.times()
    subprocess.run([BIN / command[0], command[1]], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )


if __name__ == "__main__":
    main()
