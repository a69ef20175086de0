"""Counts the hipDNN graphs that the plugin runs correctly, does not accept, or gets wrong.

    python benchmarks/hipdnn_graphs.py [FOLDER...] [--arch gfx942] [--cases N] [--seconds S]
                                       [--each S] [--work 2e8] [--json FILE] [--quiet]

Each JSON file is a graph, or a template whose cases each count; without a folder, the sweeps of
`test/unit/hipdnn_sweeps.py` are run. For each graph, a host process loads the plugin, asks it
whether it takes the graph, and executes it on the emulated HIP with random inputs. The results are
compared with those of NumPy in double precision (`test/unit/oracle/graphs.py`), which shares no
code with the compiler. A result may be off by some units of the narrowest type in the graph. Graphs
of more than `--work` multiplications, for which the emulator takes long, are only compiled.

The last line counts the outcomes: `right`, `not applicable`, `wrong`, `compiled` (too large to be
run), `failed` (accepted, but not compiled or not run), `no oracle` (a node that the oracle lacks;
such graphs are not run), `too long` (more than `--each` seconds), `not run` (after `--seconds`),
`not read`. The exit status is 1 if a graph is wrong or failed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hipgraft.hipdnn_io import GraphDocument, write_flatbuffer
from hipgraft.hipdnn_io.document import NodeDocument, TensorDocument
from hipgraft.hipdnn_io.files import case_names, read_file
from hipgraft.hipdnn_io.values import mlir_type
from hipgraft.hipdnn_io.wiring import Wiring, wire
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.native import plugin_path

ROOT = Path(__file__).resolve().parents[1]
HOST = ROOT / "test" / "unit" / "hipdnn_host.py"
sys.path.insert(0, str(HOST.parent))
from hipdnn_host import in_memory, span  # noqa: E402
from hipdnn_sweeps import write_sweeps  # noqa: E402
from oracle.graphs import NoOracleError, evaluate  # noqa: E402

BIN = Path(sys.executable).parent

# The spacing of each type's numbers after 1, and by how many of these spacings a result may be off.
# f32 results of the sweeps were off by up to 2.5; 16-bit ones are rounded once, and once more for
# each virtual tensor. f64 is computed as f32 by some nodes' compute type.
_SPACING = {"half": 2.0**-10, "bfloat16": 2.0**-7, "float": 2.0**-23, "double": 2.0**-52}
_UNITS = {"half": 4.0, "bfloat16": 4.0, "float": 32.0, "double": 32.0}

# Operands and pointwise modes that need positive numbers.
_POSITIVE_OPERANDS = ("variance", "inv_variance", "inv_rms", "prev_running_variance")
_POSITIVE_MODES = {"sqrt", "rsqrt", "log", "pow", "div", "reciprocal", "mod"}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--arch", default="gfx942")
    parser.add_argument("--cases", type=int, help="at most this many cases of each template")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for all graphs")
    parser.add_argument("--each", type=float, default=300.0, help="seconds for one graph")
    parser.add_argument("--work", type=float, default=2e8, help="most multiplications of one graph")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the outcomes")
    parser.add_argument("--quiet", action="store_true", help="print only what is not right")
    flags = parser.parse_args(arguments)
    end, rows = time.monotonic() + flags.seconds, list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as name:
        if not flags.folders:
            write_sweeps(Path(name))
        for path, case in found(flags.folders or [Path(name)], flags.cases):
            outcome, text = "not run", ""
            if time.monotonic() < end:
                outcome, text = played(path, case, flags.arch, flags.each, flags.work)
            label = path.parent.name if case else path.name
            rows.append({"graph": label, "case": case, "outcome": outcome, "text": text})
    _print(rows, flags.quiet)
    if flags.json:
        flags.json.write_text(json.dumps(rows, indent=1) + "\n")
    return int(any(row["outcome"] in ("wrong", "failed") for row in rows))


def _print(rows: Sequence[dict[str, Any]], is_quiet: bool) -> None:
    console = Console()
    table = Table("graph", "case", "outcome", "", box=None)
    shown = [row for row in rows if not is_quiet or row["outcome"] != "right"]
    for row in shown:
        table.add_row(row["graph"], row["case"] or "", row["outcome"], row["text"])
    if shown:
        console.print(table)
    counts = Counter(row["outcome"] for row in rows)
    console.print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


def found(folders: Sequence[Path], most: int | None) -> Iterator[tuple[Path, str | None]]:
    """Yields the graphs, and up to `most` cases of each template."""
    for folder in folders:
        for path in sorted(folder.rglob("*.json")):
            if path.name.endswith("sweep.json"):
                continue
            is_template = path.name.endswith("graph.template.json")
            cases = case_names(path) if is_template else [None]
            yield from ((path, case) for case in islice(cases, most))


def played(
    path: Path, case: str | None, architecture: str, seconds: float, most_work: float
) -> tuple[str, str]:
    """Returns the outcome of a graph, and details."""
    try:
        document = read_file(path, case)
        wiring = wire(document)
        with make_context():
            dtypes = {one.uid: _dtype(document, one) for one in document.tensors}
    except HipgraftError as error:
        return "not read", error.message
    is_small, expected = multiplications(document) <= most_work, dict[int, Any]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "graph").write_bytes(write_flatbuffer(document))
        request: dict[str, Any] = {"graph": str(folder / "graph")}
        if is_small:
            inputs = drawn(document, wiring, dtypes)
            try:
                expected = evaluate(document, inputs)
            except NoOracleError as error:
                return "no oracle", str(error)
            request |= _execution(wiring, inputs, dtypes, folder)
        try:
            answer = _asked(request, architecture, seconds)
        except subprocess.TimeoutExpired:
            return "too long", f"more than {seconds:g} s"
        if "failure" in answer:
            return "failed", answer["failure"]
        if "error" in answer:
            return "failed", f"{answer['error']}: {answer['text']}"
        if not answer["applicable"]:
            return "not applicable", answer["logged"][-1].split("not applicable: ")[-1]
        if not is_small:
            return "compiled", "too large for the emulator"
        return _compared(document, wiring, dtypes, expected, folder / "out.npz")


def _dtype(document: GraphDocument, tensor: TensorDocument) -> np.dtype[Any]:
    name = document.type_of(tensor)
    type_ = mlir_type(name)
    if type_ is None:
        raise HipgraftError(f"{tensor.label} has the type '{name}'")
    return numpy_dtype(type_)


def drawn(
    document: GraphDocument, wiring: Wiring, dtypes: dict[int, np.dtype[Any]]
) -> dict[int, Any]:
    """Returns random values of the inputs, by uid."""
    positive = {
        node.fields.get(f"{name}_tensor_uid")
        for node in document.nodes
        for name in _POSITIVE_OPERANDS
    }
    modes = {str(node.fields.get("operation")).lower() for node in document.nodes}
    least, draw = 0.1 if modes & _POSITIVE_MODES else -1.0, np.random.default_rng(0)
    values: dict[int, Any] = {}
    for one in wiring.arguments:
        is_integer = dtypes[one.uid].kind in "iub"
        low = 0.1 if one.uid in positive else least
        made = draw.integers(0, 2, one.dims) if is_integer else draw.uniform(low, 1, one.dims)
        values[one.uid] = np.asarray(made).astype(dtypes[one.uid])
    return values


def multiplications(document: GraphDocument) -> float:
    """Returns about how many multiplications a graph needs."""
    dims = {one.uid: one.dims for one in document.tensors}
    return sum(_multiplications(node, dims) for node in document.nodes)


def _multiplications(node: NodeDocument, dims: dict[int, list[int]]) -> float:
    uids = {key: uid for key, uid in node.fields.items() if key.endswith("_tensor_uid")}
    named = {key.removesuffix("_tensor_uid"): uid for key, uid in uids.items()}
    extents = {name: dims[uid] for name, uid in named.items() if isinstance(uid, int)}
    sizes = {name: math.prod(found) for name, found in extents.items()}
    if node.type.startswith("Convolution"):
        image, filters = ("y" if "y" in sizes else "dy"), ("w" if "w" in sizes else "dw")
        return sizes[image] * sizes[filters] / extents[filters][0]
    if node.type == "MatmulAttributes":
        return sizes["c"] * extents["a"][-1]
    if node.type.startswith("Sdpa"):
        return 2 * sizes["q"] * extents["k"][-2]
    return max(sizes.values(), default=1)


def _execution(
    wiring: Wiring, inputs: dict[int, Any], dtypes: dict[int, np.dtype[Any]], folder: Path
) -> dict[str, Any]:
    """Returns what `test/unit/hipdnn_host.py` needs to execute, with its files in a folder."""
    memories = {str(one.uid): in_memory(inputs[one.uid], one.strides) for one in wiring.arguments}
    np.savez(folder / "in.npz", allow_pickle=False, **memories)
    sizes = {
        str(one.uid): span(one.dims, one.strides) * dtypes[one.uid].itemsize
        for one in wiring.results
    }
    return {
        "inputs": str(folder / "in.npz"),
        "by_value": [one.uid for one in wiring.arguments if one.is_runtime_pass_by_value],
        "outputs": str(folder / "out.npz"),
        "sizes": sizes,
    }


def _asked(request: dict[str, Any], architecture: str, seconds: float) -> dict[str, Any]:
    """Sends a request to a host process, and returns the answer."""
    job = {"plugin": str(plugin_path()), "requests": [request]}
    with subprocess.Popen(
        [BIN / "hipgraft-emulate", "--arch", architecture, "--", sys.executable, HOST],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"HIPGRAFT_SERVE": str(BIN / "hipgraft-serve"), **os.environ},
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(json.dumps(job), timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # the emulated program, too
            raise
    if process.returncode:
        return {"failure": (errors.strip().splitlines() or ["no text"])[-1]}
    said = json.loads(output)
    return {"failure": said["errors"][0]} if said["errors"] else said["answers"][0]


def _compared(
    document: GraphDocument,
    wiring: Wiring,
    dtypes: dict[int, np.dtype[Any]],
    expected: dict[int, Any],
    outputs: Path,
) -> tuple[str, str]:
    """Compares each result; an error counts against its own and the average magnitude."""
    types = {document.type_of(one) for one in document.tensors} & _SPACING.keys()
    narrowest = max(types, key=lambda name: _SPACING[name], default="double")
    spacing, worst = _SPACING[narrowest], 0.0
    with np.load(outputs) as results:
        for one in wiring.results:
            dtype, want = dtypes[one.uid], expected[one.uid]
            memory = results[str(one.uid)].view(dtype)
            steps = [step * dtype.itemsize for step in one.strides]
            got = np.ndarray(one.dims, dtype, memory, 0, steps).astype(np.float64)
            magnitude = np.abs(want) + np.sqrt(np.mean(want * want)) + np.finfo(np.float64).tiny
            units = np.max(np.abs(got - want) / (magnitude * spacing), initial=0.0)
            worst = max(worst, float(np.nan_to_num(units, nan=np.inf)))
    return ("right" if worst <= _UNITS[narrowest] else "wrong"), f"{worst:.1f} units"


if __name__ == "__main__":
    sys.exit(main())
