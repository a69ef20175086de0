"""Measures the share of ONNX Runtime models that hipgraft's provider takes, and its cost.

    python benchmarks/onnxruntime_ep.py [MODEL.onnx | MODEL.onnx.xz]... [--target cpu] [--json FILE]
    python benchmarks/onnxruntime_ep.py --no-peers --limit 120 FOLDER/*-dynamo.onnx
    python benchmarks/onnxruntime_ep.py --overhead

For each model, by default the small ones of the tests: the share of nodes and of FLOPs that the
provider takes, the largest difference of results from ONNX Runtime's CPU provider relative to the
largest value, and the wall times of making a session. A cold session starts with an empty cache and
no helper, a warm one with a filled cache and a running helper. The peers are measured in the same
run: ONNX Runtime's own session, and `iree-import-onnx` with `iree-compile` of the whole model. For
targets other than `cpu`, sessions are made for an absent GPU and compute nothing. Inputs are drawn,
or those in the `.npz` beside a model, as `benchmarks/families.py` writes them. `--no-peers` leaves
`iree-compile` out; the `--json` file also holds the reasons why nodes were left.

`--overhead` times runs of a Relu of 16 floats in a GPU's memory, with a HIP stub that does nothing.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
_BIN = Path(sys.executable).parent
_COLUMNS = ("model", "nodes", "FLOPs", "groups", "difference", "cold", "warm", "ONNX Runtime",
            "iree-compile", "cold / iree-compile", "warm / ONNX Runtime")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--target", default="cpu")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds for each model")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--child", choices=("session", "runs"), help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.child == "session":
        print(json.dumps(measure_session(flags.models[0], flags.target)))
    elif flags.child == "runs":
        print(json.dumps(measure_runs()))
    elif flags.overhead:
        print_overhead()
    else:
        models = flags.models or sorted((ROOT / "test" / "models").glob("*.onnx"))
        print_models(models, flags)


def print_models(models: Sequence[Path], flags: argparse.Namespace) -> None:
    """Prints the row of each model as soon as it is measured."""
    print("| " + " | ".join(_COLUMNS) + " |")
    print("| " + " | ".join("---" for _ in _COLUMNS) + " |")
    rows: list[dict[str, Any]] = []
    for model in models:
        name = model.name.partition(".")[0]
        with tempfile.TemporaryDirectory() as folder:
            path = model
            if model.suffix == ".xz":
                path = Path(folder, model.stem)
                path.write_bytes(lzma.decompress(model.read_bytes()))
            target, limit = flags.target, flags.limit
            measured = in_child("session", Path(folder), str(path), target, limit=limit)
            peer = None if flags.no_peers else time_iree(path, target, Path(folder), limit)
        rows.append({"model": name, **measured, "iree": peer})
        print("| " + " | ".join(cells(rows[-1])) + " |", flush=True)
        if flags.json is not None:
            flags.json.write_text(json.dumps(rows, indent=1) + "\n")


def cells(row: dict[str, Any]) -> list[str]:
    """Formats a row of the table."""
    if "error" in row:
        return [row["model"], row["error"], *["–"] * (len(_COLUMNS) - 2)]
    iree, own = row["iree"], row["onnxruntime"]
    return [
        row["model"],
        f"{row['taken']} of {row['nodes']}",
        "–" if row["flops"] is None else f"{row['flops']} %",
        str(row["groups"]),
        "–" if row["difference"] is None else f"{row['difference']:.1e}",
        f"{row['cold']:.2f} s",
        f"{1e3 * row['warm']:.0f} ms",
        f"{1e3 * own:.0f} ms",
        "–" if iree is None else f"{iree:.2f} s",
        "–" if iree is None else f"{row['cold'] / iree:.2f}",
        f"{row['warm'] / own:.2f}",
    ]


def in_child(
    what: str, folder: Path, *arguments: str, limit: float = 1200.0, **variables: str
) -> dict[str, Any]:
    """Measures in a child process with new user folders; ends the helper."""
    run = folder / "run"
    run.mkdir(mode=0o700)
    home = {"XDG_RUNTIME_DIR": str(run), "HIPGRAFT_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, __file__, "--child", what]
    if arguments:
        command += [arguments[0], f"--target={arguments[1]}"]
    try:
        done = subprocess.run(
            command, env={**os.environ, **home, **variables}, capture_output=True, text=True,
            timeout=limit, check=False,
        )  # fmt: skip
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1][:200]
            return {"error": f"exit status {done.returncode}: {last}"}
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {limit:.0f} s"}
    finally:
        end_helpers(run)


def end_helpers(run: Path) -> None:
    """Ends the helper whose socket is in a folder."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            variables = (process / "environ").read_bytes().split(b"\0")
            if b"hipgraft-serve" in command and f"XDG_RUNTIME_DIR={run}".encode() in variables:
                os.kill(int(process.name), signal.SIGKILL)


def time_iree(model: Path, target: str, folder: Path, limit: float) -> float | None:
    """Returns the seconds to import and compile a whole model; None if that fails."""
    from hipgraft.codegen.target import Target

    imported = folder / "imported.mlir"
    flags = [*Target.parse(target).device_flags, "-o", os.devnull]
    start = time.perf_counter()
    for command in (
        [_BIN / "iree-import-onnx", model, "-o", imported],
        [_BIN / "iree-compile", imported, *flags],
    ):
        try:
            subprocess.run(command, capture_output=True, check=True, timeout=limit)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
    return time.perf_counter() - start


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """Returns the result of a function, and its seconds."""
    start = time.perf_counter()
    made = make()
    return made, time.perf_counter() - start


def measure_session(model: Path, target: str) -> dict[str, Any]:
    """Measures sessions of one model in this process."""
    import onnxruntime as ort

    from hipgraft.onnxruntime import register

    quiet = ort.SessionOptions()
    quiet.log_severity_level = 3
    own = [
        timed(lambda: ort.InferenceSession(str(model), quiet, providers=["CPUExecutionProvider"]))
        for _ in range(3)
    ]
    register("hipgraft.virtual")
    report = Path(os.environ["HIPGRAFT_CACHE_DIR"]).with_name("report.json")
    ours = [timed(lambda: provider_session(str(model), target, str(report))) for _ in range(4)]
    fields = json.loads(report.read_text())["graphs"][-1]["answer"]
    work = re.search(r"\((\d+)% of the FLOPs\)", fields["summary"])
    taken = sum(len(group["nodes"]) for group in fields["groups"])
    difference = None
    if target == "cpu":
        inputs = given(model) or drawn(own[0][0])
        wanted, found = own[0][0].run(None, inputs), ours[-1][0].run(None, inputs)
        difference = max(
            (largest_difference(a, b) for a, b in zip(found, wanted, strict=True)), default=0.0
        )
    return {
        "taken": taken,
        "nodes": taken + len(fields["left"]),
        "flops": int(work[1]) if work else None,
        "groups": len(fields["groups"]),
        "summary": fields["summary"],
        "left": fields["left"],
        "difference": difference,
        "cold": ours[0][1],
        "warm": min(seconds for _, seconds in ours[1:]),
        "onnxruntime": min(seconds for _, seconds in own),
    }


def provider_session(model: str | bytes, architecture: str, report: str = "") -> Any:
    """Makes a session on the device of an architecture."""
    import onnxruntime as ort

    from hipgraft.onnxruntime import PROVIDER

    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    (device,) = (
        one
        for one in ort.get_ep_devices()
        if one.ep_name == PROVIDER and one.ep_metadata["architecture"] == architecture
    )
    options = {"report": report} if report else {}
    settings.add_provider_for_devices([device], options)
    return ort.InferenceSession(model, settings)


def given(model: Path) -> dict[str, Any]:
    """Reads the inputs in the `.npz` beside a model; empty if there is none."""
    file = model.with_suffix(".npz")
    arrays = np.load(file) if file.exists() else {}
    return {
        name.removeprefix("input:"): arrays[name] for name in arrays if name.startswith("input:")
    }


def drawn(session: Any) -> dict[str, Any]:
    """Draws inputs: small integers, and floats of magnitudes that keep variances positive."""
    draw = np.random.default_rng(0)
    names = {
        "tensor(float)": np.float32,
        "tensor(float16)": np.float16,
        "tensor(double)": np.float64,
        "tensor(int64)": np.int64,
        "tensor(int32)": np.int32,
        "tensor(bool)": np.bool_,
    }
    found: dict[str, Any] = {}
    for one in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 4 for extent in one.shape]
        dtype = names[one.type]
        if not np.issubdtype(dtype, np.floating):
            values = draw.integers(0, 2, shape)
        elif len(shape) == 1:
            values = draw.uniform(0.5, 1.5, shape)
        else:
            values = draw.normal(scale=1 / np.sqrt(np.prod(shape[1:])), size=shape)
        found[one.name] = np.asarray(values).astype(dtype)
    return found


def largest_difference(found: Any, wanted: Any) -> float:
    """Returns the largest difference relative to the largest value; infinite for unexpected NaN."""
    a, b = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    distance = np.abs(a - b)[np.isfinite(b)].max(initial=0.0)
    return float(distance / scale) if scale else float(distance)


def print_overhead() -> None:
    """Prints the cost of a run without its kernel."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = folder / "libnull_hip.so"
        source = ROOT / "test" / "unit" / "null_hip.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", source, "-o", library], check=True)
        found = in_child("runs", folder, HIPGRAFT_LIBAMDHIP64=str(library))
    if "error" in found:
        sys.exit(found["error"])
    print("| provider | µs a run |\n| --- | --- |")
    for provider, microseconds in found.items():
        print(f"| {provider} | {microseconds:.2f} |")


def measure_runs() -> dict[str, float]:
    """Returns the microseconds of a Relu run on 16 floats: the minimum of 300 batches of 20."""
    import onnxruntime as ort
    from onnx import TensorProto, helper

    from hipgraft.onnxruntime import register

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [16]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    register()
    own = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    ours = provider_session(model, "gfx942")
    given = np.ones(16, np.float32)
    runs = {
        "ONNX Runtime's CPU provider": (own, ("cpu", 0)),
        "hipgraft with a HIP that does nothing": (ours, ("gpu", 0, 0x1002)),
    }
    found: dict[str, float] = {}
    for name, (session, place) in runs.items():
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(given, *place))
        binding.bind_ortvalue_output("y", ort.OrtValue.ortvalue_from_numpy(given, *place))
        times: list[float] = []
        for _ in range(300):
            start = time.perf_counter()
            for _ in range(20):
                session.run_with_iobinding(binding)
            times.append((time.perf_counter() - start) / 20)
        found[name] = 1e6 * min(times)
    return found


if __name__ == "__main__":
    main()
