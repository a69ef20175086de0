"""Kills the helper that compiles for hipDNN's plugin while four threads build plans.

    python test/unit/killed_helpers.py [--kills=50] [--seed=0] [--plans=8]

Each plan must be built in the end, run, and give the right result.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hipdnn_graphs import graph, pointwise, tensor
from hipdnn_play import COMMAND, Prepared, environment
from served import helpers, user_in
from test_hipdnn_io_run import Run, uniform

from hipgraft.native import plugin_path

_THREADS = 4
_PLANS = 8


@dataclass
class Built:
    """The plans that were built, and the number of helpers that were killed."""

    plans: int = 0
    kills: int = 0


def build_under_kills(
    home: Path, folder: Path, kills: int, seed: int, plans: int = _PLANS
) -> Built:
    """Has hosts build plans, always new ones, until the helper was killed often enough.

    Args:
        home: the user's folder.
        folder: folder for graphs and arrays.
        kills: number of kills.
        seed: seed of the times between kills.
        plans: number of plans of each host process.
    """
    draw = random.Random(seed)
    built = Built()
    while built.kills < kills:
        runs = [Prepared(_sum(built.plans + number), folder) for number in range(plans)]
        _build(home, runs, kills, draw, built)
        for one in runs:
            one.check()
        built.plans += len(runs)
    return built


def _sum(number: int) -> Run:
    rows = 5 + number
    source = graph(
        [pointwise("add", 1, 2, out=3)],
        [tensor(1, [rows, 8]), tensor(2, [rows, 8]), tensor(3, [rows, 8])],
    )
    x, y = uniform(rows, 8), uniform(rows, 8) * 2
    return Run(f"add_{number}", source, [x, y], x.astype(float) + y)


def _build(home: Path, runs: list[Prepared], kills: int, draw: random.Random, built: Built) -> None:
    """Builds plans in a process, and kills helpers until it ends."""
    requests = [one.request for one in runs]
    job = {"plugin": str(plugin_path()), "requests": requests, "threads": _THREADS}
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(home),
        text=True,
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        host.stdin.write(json.dumps(job))
        host.stdin.close()
        while host.poll() is None and built.kills < kills:
            time.sleep(draw.uniform(0, 0.8))
            built.kills += any([_kill(process) for process in helpers(home)])
        said = json.loads(host.stdout.read())
    assert host.returncode == 0
    assert not said["errors"], said["errors"]
    assert all(answer.get("applicable") for answer in said["answers"]), said


def _kill(process: int) -> bool:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plans", type=int, default=_PLANS, help="of each host process")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, user_in(Path(name)) as home:
        start = time.perf_counter()
        built = build_under_kills(home, home, flags.kills, flags.seed, flags.plans)
        seconds = time.perf_counter() - start
    print(f"{built.plans} plans, all right; helper killed {built.kills} times; {seconds:.0f} s")


if __name__ == "__main__":
    main()
