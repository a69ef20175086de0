"""Counts the hipDNN graphs in a folder that the plugin accepts, and those that run correctly.

    python benchmarks/hipdnn_graphs.py FOLDER... [--arch gfx942] [--work 2e9]

Each JSON file is a graph, or a template whose cases each count. A host plays each graph that
the plugin says it takes, on the emulated HIP, with random inputs; results are compared with those
of the same graph compiled for the CPU, within the tolerance of `hipgraft-run`. Graphs of more than
`--work` floating-point operations, for which the emulator takes long, are only compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hipgraft.compiler.program import compile
from hipgraft.helper.plans import Plan
from hipgraft.hipdnn_io import import_document, write_flatbuffer
from hipgraft.hipdnn_io.files import case_names, read_file
from hipgraft.hipdnn_io.wiring import wire
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.native import plugin_path
from hipgraft.runtime.comparison import compare, tolerance

ROOT = Path(__file__).resolve().parents[1]
HOST = ROOT / "test" / "unit" / "hipdnn_host.py"
sys.path.insert(0, str(HOST.parent))
from hipdnn_host import in_memory, span  # noqa: E402

BIN = Path(sys.executable).parent


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--work", type=float, default=2e9)
    flags = parser.parse_args(arguments)
    table = Table("graph", "case", "outcome", "", box=None)
    outcomes: Counter[str] = Counter()
    for path, case in found(flags.folders):
        try:
            outcome, text = played(path, case, flags.arch, flags.work)
        except HipgraftError as error:
            outcome, text = "not read", error.message
        outcomes[outcome] += 1
        table.add_row(path.name, case or "", outcome, text)
    console = Console()
    console.print(table)
    console.print(", ".join(f"{count} {name}" for name, count in outcomes.most_common()))


def found(folders: Sequence[Path]) -> Iterator[tuple[Path, str | None]]:
    """Yields the graphs and the cases of templates."""
    for folder in folders:
        for path in sorted(folder.rglob("*.json")):
            if path.name.endswith("sweep.json"):
                continue
            is_template = path.name.endswith("graph.template.json")
            yield from ((path, case) for case in (case_names(path) if is_template else [None]))


def played(path: Path, case: str | None, architecture: str, most_work: float) -> tuple[str, str]:
    """Returns the outcome of a graph, and details."""
    document = read_file(path, case)
    graph = write_flatbuffer(document)
    reason = Plan(graph, architecture).check()
    if reason is not None:
        return "not applicable", reason
    program = compile(import_document(document), "cpu")
    recording = program.recordings("cpu")[0]
    draw = np.random.default_rng(0)
    inputs = [drawn(draw, one.shape, one.element_type) for one in recording.inputs]
    expected = program.run(inputs, device="cpu")
    wiring = wire(document)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "graph").write_bytes(graph)
        memories = {
            str(one.uid): in_memory(values, one.strides)
            for one, values in zip(wiring.arguments, inputs, strict=True)
        }
        np.savez(folder / "in.npz", allow_pickle=False, **memories)
        sizes = {
            str(one.uid): span(one.dims, one.strides) * values.itemsize
            for one, values in zip(wiring.results, expected, strict=True)
        }
        request: dict[str, Any] = {"graph": str(folder / "graph")}
        is_small = sum(row.flops for row in program.report.coverage) <= most_work
        if is_small:
            request |= {
                "inputs": str(folder / "in.npz"),
                "by_value": [one.uid for one in wiring.arguments if one.is_runtime_pass_by_value],
                "outputs": str(folder / "out.npz"),
                "sizes": sizes,
            }
        job = {"plugin": str(plugin_path()), "requests": [request]}
        done = subprocess.run(
            [BIN / "hipgraft-emulate", "--arch", architecture, "--", sys.executable, HOST],
            input=json.dumps(job),
            env={"HIPGRAFT_SERVE": str(BIN / "hipgraft-serve"), **os.environ},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return "failed", done.stderr.strip().splitlines()[-1]
        (answer,) = json.loads(done.stdout)["answers"]
        if "error" in answer:
            return "claimed, but failed", answer["text"]
        if not answer["applicable"]:  # the plugin remembers failed compilations
            return "not applicable", answer["logged"][-1]
        if not is_small:
            return "compiled", "too large for the emulator"
        worst = 0.0
        with np.load(folder / "out.npz") as results:
            for one, values in zip(wiring.results, expected, strict=True):
                memory = results[str(one.uid)].view(values.dtype)
                steps = [step * values.itemsize for step in one.strides]
                got = np.ndarray(one.dims, values.dtype, memory, 0, steps)
                allowed = tolerance(values.dtype)
                compared = compare(got, values.reshape(one.dims), allowed, allowed)
                worst = max(worst, compared.max_relative)
                if not compared.ok:
                    return "wrong", f"off by {compared.max_relative:.1e}"
    return "right", f"within {worst:.1e}"


def drawn(draw: np.random.Generator, shape: tuple[int, ...], element_type: str) -> Any:
    dtype = numpy_dtype(element_type)
    is_integer = dtype.kind in "iub"
    values = draw.integers(0, 2, shape) if is_integer else draw.uniform(0.1, 1, shape)
    return np.asarray(values).astype(dtype)


if __name__ == "__main__":
    main()
