"""Runs and times modules with the tools of IREE's runtime wheel, on the GPU."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
_REPETITIONS = 5


def time_module(module: Path, entry: str, inputs: Sequence[Any]) -> float | None:
    """Returns the median in µs of a run, with the arguments on the GPU; None if it cannot run."""
    options = ["--benchmark_format=json", f"--benchmark_repetitions={_REPETITIONS}"]
    output = _run_tool("iree-benchmark-module", module, entry, inputs, options)
    if output is None:
        return None
    runs = json.loads(output[output.index("{") :])["benchmarks"]
    return median(
        one["real_time"] * _MICROSECONDS[one["time_unit"]]
        for one in runs
        if one["run_type"] == "iteration"
    )


def run_module(module: Path, entry: str, inputs: Sequence[Any], results: int) -> list[Any] | None:
    """Returns the results of a run; None if it cannot run."""
    files = [module.with_name(f"{module.stem}.out_{number}.npy") for number in range(results)]
    options = [f"--output=@{file}" for file in files]
    if _run_tool("iree-run-module", module, entry, inputs, options) is None:
        return None
    return [np.load(file) for file in files]


def _run_tool(
    name: str, module: Path, entry: str, inputs: Sequence[Any], options: Sequence[str]
) -> str | None:
    found = importlib.util.find_spec("iree") and importlib.util.find_spec("iree._runtime_libs")
    if found is None or found.origin is None or not module.exists():
        return None
    command = [Path(found.origin).parent / name, f"--module={module}", f"--function={entry}"]
    command += ["--device=cuda", *options]
    for number, array in enumerate(inputs):
        file = module.with_name(f"{module.stem}.in_{number}.npy")
        np.save(file, array)
        command.append(f"--input=@{file}")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{module.stem}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return done.stdout
