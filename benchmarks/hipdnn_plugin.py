"""Measures the cost of hipDNN's plugin besides kernels: calls, first use, and memory.

    python benchmarks/hipdnn_plugin.py [GRAPH.json]...

A C program makes the plugin run each precompiled graph on a HIP stub that does nothing. The time is
compared with that of as many bare launches in the same process. `known` is the time to answer
whether the engine takes a compiled graph; `new` is that time for a new graph, with a running
helper. First use is the time from loading the plugin to a context of the graph, in a new process.
Memory is the growth of the process, without mapped files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from hipgraft.helper.plans import Plan
from hipgraft.hipdnn_io import write_flatbuffer
from hipgraft.hipdnn_io.engine_tables import EngineConfig
from hipgraft.hipdnn_io.files import read_file
from hipgraft.hipdnn_io.plan_payload import ENGINE_NAME, engine_id
from hipgraft.native import plugin_path
from hipgraft.runtime.bundle import load
from hipgraft.runtime.recording import Launch

ROOT = Path(__file__).resolve().parents[1]
_GRAPHS = [str(ROOT / "test" / "lit" / "tools" / "Inputs" / "conv_bias_relu.json")]
_ROUNDS = 20000


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=_GRAPHS)
    flags = parser.parse_args(arguments)
    columns = (
        "graph",
        "launches",
        "call",
        "bare",
        "over bare",
        "known",
        "new",
        "first use",
        "memory",
    )
    table = Table(*columns, box=None)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, hip = folder / "program", folder / "libnull_hip.so"
        source = ROOT / "test" / "unit" / "null_hip.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", source, "-o", hip], check=True)
        source = ROOT / "benchmarks" / "hipdnn_plugin.c"
        subprocess.run(["cc", "-O2", source, "-ldl", "-o", program], check=True)
        for graph in flags.graphs:
            table.add_row(*measured(graph, program, hip, folder))
    Console(width=100).print(table)


def measured(graph: str, program: Path, hip: Path, folder: Path) -> list[str]:
    document = read_file(graph)
    plan = Plan(write_flatbuffer(document), "gfx942")
    environment = {
        "HIPGRAFT_CACHE_DIR": str(folder / "cache"),
        "HIPGRAFT_LIBAMDHIP64": str(hip),
        "HIPGRAFT_SERVE": "off",
    }
    os.environ.update(environment)
    plan.compile()
    (folder / "graph").write_bytes(plan.graph)
    (folder / "config").write_bytes(EngineConfig(engine_id(ENGINE_NAME)).to_bytes())
    with load(plan.bundle) as bundle:
        commands = bundle.recording("gfx942").commands
        metadata = bundle.metadata
    launches = sum(isinstance(one, Launch) for one in commands)
    uids = [*metadata["inputs"], *metadata["results"]]

    def run(path: Path, rounds: int, **variables: str) -> dict[str, float]:
        """Runs the program, with `variables` besides the environment."""
        numbers = map(str, (launches, rounds, *uids))
        done = subprocess.run(
            [program, plugin_path(), hip, path, folder / "config", *numbers],
            env=environment | variables,
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    serve = str(Path(sys.executable).with_name("hipgraft-serve"))
    helper = {"HIPGRAFT_SERVE": serve, "XDG_RUNTIME_DIR": str(folder)}
    command = [serve, "--background", "--idle=10"]
    subprocess.run(command, env=environment | helper, check=True)
    asked: list[float] = []
    for number in range(6):
        document.name = f"new {number}"
        (folder / "new").write_bytes(write_flatbuffer(document))
        asked.append(run(folder / "new", 0, **helper)["asked_ms"])
    found = run(folder / "graph", _ROUNDS)
    return [
        Path(graph).stem,
        str(launches),
        f"{found['execute_us']:.3f} us",
        f"{found['bare_us']:.3f} us",
        f"{found['execute_us'] - found['bare_us']:.3f} us",
        f"{found['known_us']:.1f} us",
        f"{median(asked):.1f} ms",
        f"{found['first_ms']:.2f} ms",
        f"{found['memory_kib'] / 1024:.2f} MiB",
    ]


if __name__ == "__main__":
    main()
