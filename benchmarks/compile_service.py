"""Measures the cost of compiling a model: cold, warm, and with peers, in one run on one machine.

    python benchmarks/compile_service.py MODEL.onnx [--target gfx942] [-j N]

Times are wall times; ratios are to the cold run. (a) starts one `iree-compile` for each graph, even
for equal graphs, as command-line front ends of hipDNN do; (b) runs one `iree-compile` on the whole
model. The time of `hipgraft-compile` includes the start of Python.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hipgraft.codegen.canonical import find_containers
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.target import Target
from hipgraft.compiler.program import compile
from hipgraft.service import Cache, CompileService, use_service

_BIN = Path(sys.executable).parent
_HIPGRAFT = (sys.executable, "-m", "hipgraft.tools.hipgraft_compile")
_MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Cost:
    """Wall seconds, and CPU seconds of all processors."""

    wall: float
    cpu: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)


def cost(command: Sequence[str | Path]) -> Cost:
    """Returns the cost of a command, which must succeed."""
    started, cpu = time.perf_counter(), _cpu_of_children()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Cost(time.perf_counter() - started, _cpu_of_children() - cpu)


def fastest(command: Sequence[str | Path]) -> Cost:
    """Returns the lowest cost of a command in three runs."""
    return min((cost(command) for _ in range(3)), key=lambda each: each.wall)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_graphs(model: str, target: Target, directory: Path) -> list[Path]:
    """Writes the compiler's input of every graph, including equal ones."""
    module = compile(model, target.name, compile_to="hipdnn-graphs").module
    paths: list[Path] = []
    for index, container in enumerate(find_containers(module)):
        paths.append(directory / f"{index}.mlir")
        paths[-1].write_text(lower_container(container, target))
    return paths


def time_hipgraft(model: str, target: Target, jobs: list[str], directory: Path) -> dict[str, Cost]:
    """Returns wall times of the tool, cold and warm, and of a warm compilation in this process."""
    stats = directory / "stats.json"
    cache = f"--cache-dir={directory / 'cache'}"
    command = [*_HIPGRAFT, model, f"--target={target.name}", cache, *jobs, "-q", "-o"]
    times = {"cold": cost([*command, directory / "cold.mlir", f"--stats-json={stats}"])}
    memory = json.loads(stats.read_text())["compiler-memory"]
    peak = (memory["process"] + sum(memory["workers"])) / _MEBIBYTE
    print(f"most memory of all processes: at most {peak:.0f} MiB")
    times["warm"] = fastest([*command, directory / "warm.mlir"])
    times["start-up"] = fastest([*_HIPGRAFT, "--version"])
    with use_service(CompileService(cache=Cache(directory / "cache"))):
        compile(model, target.name)
        started = time.perf_counter()
        report = compile(model, target.name).report
        times["warm, in process"] = Cost(time.perf_counter() - started)
        times["  of it, kernels"] = Cost(report.seconds["hipdnn-executables"])
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--target", default="gfx942")
    parser.add_argument("-j", "--jobs", default="")
    flags = parser.parse_args()
    target = Target.parse(flags.target)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        times = time_hipgraft(
            flags.model, target, [f"-j{flags.jobs}"] if flags.jobs else [], directory
        )
        graphs = write_graphs(flags.model, target, directory)
        iree = (_BIN / "iree-compile", *target.iree_flags, "-o", "/dev/null")
        each = f"(a) iree-compile of each of {len(graphs)} graphs"
        times[each] = sum((cost([*iree, path]) for path in graphs), start=Cost(0.0))
        imported = directory / "model.mlir"
        cost([_BIN / "iree-import-onnx", flags.model, "-o", imported])
        times["(b) iree-compile of the model"] = cost([*iree, imported])
    print(f"{'':44} {'wall s':>8} {'x cold':>7} {'CPU s':>8}")
    for what, each in times.items():
        ratio = each.wall / times["cold"].wall
        print(f"{what:44} {each.wall:8.3f} {ratio:7.3f} {each.cpu:8.3f}")


if __name__ == "__main__":
    main()
