"""Times compiled models on an NVIDIA GPU: launches, graph replay, IREE's runtime, PyTorch.

    python benchmarks/cuda_models.py prepare DIR MODEL.onnx...   # where the compiler is
    python benchmarks/cuda_models.py run DIR [MODEL...]          # where the GPU is

`prepare` fills DIR with what `run` needs: for each model a bundle, the whole model as IREE
compiles it by itself, and the `.npz` beside the model, with inputs `in_*` and results `out_*`, or
else the model, so that onnxruntime on the CPU can tell the results of made inputs.
`run` needs no compiler: numpy, ml_dtypes and this source, IREE's runtime for its column, and
PyTorch for those of a `MODEL.pt2` (`torch.export.save`, with example inputs) that lies in DIR.

All times are of whole runs with their wait, on inputs that are on the GPU: the median in µs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

TARGET = "sm_80"
RELATIVE_TOLERANCE = {"float16": 2e-2, "bfloat16": 2e-2}
MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3}


@dataclass(frozen=True)
class Row:
    """A model's times in µs; None where something cannot be timed."""

    model: str
    calls: int
    error: float | None
    is_right: bool
    launches: float
    replay: float
    iree: float | None
    eager: float | None
    compiled: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("action", choices=("prepare", "run"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--iterations", type=int, default=200)
    flags = parser.parse_args(arguments)
    if flags.action == "prepare":
        flags.directory.mkdir(parents=True, exist_ok=True)
        for model in flags.models:
            prepare(model, flags.directory)
        return 0
    return run(flags.directory, [model.stem for model in flags.models], flags)


def prepare(model: Path, directory: Path) -> None:
    """Compiles a model, and the same by IREE alone."""
    import hipgraft

    target = directory / model.stem
    hipgraft.compile(model, TARGET).save_bundle(target.with_suffix(".hgb"))
    oracle = model.with_suffix(".npz") if model.with_suffix(".npz").exists() else model
    shutil.copyfile(oracle, directory / oracle.name)
    imported = target.with_suffix(".mlir")
    tool = Path(sys.executable).parent
    subprocess.run([tool / "iree-import-onnx", model, "-o", imported], check=True)
    entry = re.search(r"func\.func @(\w+)", imported.read_text())
    options = [
        "--iree-hal-target-device=cuda",
        f"--iree-cuda-target={TARGET}",
        "--iree-opt-level=O3",
        "--iree-input-demote-f64-to-f32=false",
    ]
    vmfb = target.with_suffix(".vmfb")
    done = subprocess.run([tool / "iree-compile", imported, *options, "-o", vmfb], check=False)
    imported.unlink()
    if done.returncode == 0 and entry:
        target.with_suffix(".json").write_text(json.dumps({"entry": entry[1]}))


def run(directory: Path, names: Sequence[str], flags: argparse.Namespace) -> int:
    """Measures models of a directory, all of them by default, and prints the table."""
    from hipgraft.runtime.devices import open_device

    bundles = [path for path in sorted(directory.glob("*.hgb")) if not names or path.stem in names]
    device = open_device(flags.device)
    is_right = True
    try:
        print_head(device.architecture)
        for bundle in bundles:
            row = measure(bundle, device, flags.iterations)
            print_row(row)
            is_right &= row.is_right
    finally:
        device.close()
    return 0 if is_right else 1


def measure(path: Path, device: Any, iterations: int) -> Row:
    """Runs one model and times it in all ways that are there."""
    from hipgraft.runtime.bundle import Bundle
    from hipgraft.runtime.session import Session

    with Bundle(path) as bundle:
        recording = bundle.recording(device.architecture)
        inputs, expected = read_arrays(path, recording)
        with Session(recording, device, replay=False) as session:
            results = session.run(inputs)
            launches = session.benchmark(inputs, iterations=iterations).median
        with Session(recording, device) as session:
            session.run(inputs)
            again = [session.run(inputs) for _ in range(2)][-1]  # captured, then replayed
            replay = session.benchmark(inputs, iterations=iterations).median
    same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(results, again, strict=True))
    error, is_right = compare(results, expected)
    eager, compiled = time_torch(path.with_suffix(".pt2"), iterations)
    return Row(
        model=path.stem,
        calls=len(recording.commands),
        error=error,
        is_right=is_right and same,
        launches=launches,
        replay=replay,
        iree=time_iree(path.with_suffix(".vmfb"), inputs),
        eager=eager,
        compiled=compiled,
    )


def read_arrays(path: Path, recording: Any) -> tuple[list[Any], list[Any]]:
    """Inputs and expected results; without a `.npz`, inputs are made and onnxruntime is asked."""
    from hipgraft.runtime.dtypes import numpy_dtype

    file = path.with_suffix(".npz")
    arrays: dict[str, Any] = dict(np.load(file)) if file.exists() else {}
    random = np.random.default_rng(0)
    inputs = [
        arrays[f"in_{number}"]
        if f"in_{number}" in arrays
        else made(random, tensor.shape, numpy_dtype(tensor.element_type))
        for number, tensor in enumerate(recording.inputs)
    ]
    names = [f"out_{number}" for number in range(len(recording.results))]
    if "out_0" in arrays:
        return inputs, [arrays[name] for name in names]
    return inputs, by_onnxruntime(path.with_suffix(".onnx"), inputs)


def by_onnxruntime(model: Path, inputs: Sequence[Any]) -> list[Any]:
    """The model's results on the CPU; none where there is no onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        return []
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


def made(random: np.random.Generator, shape: Sequence[int], dtype: Any) -> Any:
    """Small normal numbers, which deep models keep finite; 0 and 1 for integers."""
    if np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    return (0.05 * random.standard_normal(shape)).astype(dtype)


def compare(results: Sequence[Any], expected: Sequence[Any]) -> tuple[float | None, bool]:
    """The largest error relative to the largest expected magnitude, and whether it is allowed."""
    if not expected:
        return None, True
    errors: list[float] = []
    is_right = len(results) == len(expected)
    for found, wanted in zip(results, expected, strict=False):
        x, y = found.astype(np.float64), wanted.astype(np.float64)
        scale = float(np.abs(y).max(initial=0)) or 1.0
        errors.append(float(np.abs(x - y).max(initial=0)) / scale)
        is_right &= errors[-1] <= RELATIVE_TOLERANCE.get(found.dtype.name, 1e-4)
    return max(errors), bool(is_right)


def time_iree(module: Path, inputs: Sequence[Any]) -> float | None:
    """IREE's own benchmark of the whole model; its arguments are on the GPU too."""
    tool = iree_tool("iree-benchmark-module")
    description = module.with_suffix(".json")
    if tool is None or not module.exists() or not description.exists():
        return None
    files: list[str] = []
    for number, array in enumerate(inputs):
        file = module.with_name(f"{module.stem}.in_{number}.npy")
        np.save(file, array)
        files.append(f"--input=@{file}")
    entry = json.loads(description.read_text())["entry"]
    command = [tool, f"--module={module}", f"--function={entry}", "--device=cuda"]
    options = ["--benchmark_format=json", "--benchmark_repetitions=5"]
    done = subprocess.run([*command, *options, *files], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{module.stem}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    runs = json.loads(done.stdout[done.stdout.index("{") :])["benchmarks"]
    return median(
        one["real_time"] * MICROSECONDS[one["time_unit"]]
        for one in runs
        if one["run_type"] == "iteration"
    )


def iree_tool(name: str) -> str | None:
    """The tool in IREE's runtime wheel, installed by whatever means."""
    try:
        found = importlib.util.find_spec("iree._runtime_libs")
    except ModuleNotFoundError:
        return None
    return None if found is None or found.origin is None else str(Path(found.origin).parent / name)


def time_torch(exported: Path, iterations: int) -> tuple[float | None, float | None]:
    """PyTorch eager, and compiled with CUDA graphs, on the example inputs."""
    if not exported.exists():
        return None, None
    try:
        import torch
        from torch.export.passes import move_to_device_pass
    except ImportError:
        return None, None
    program = torch.export.load(exported)
    for node in list(program.graph.nodes):
        if "_assert_tensor_metadata" in str(node.target):  # names the CPU
            program.graph.erase_node(node)
    model = move_to_device_pass(program, "cuda").module()
    tensors = [tensor.cuda() for tensor in program.example_inputs[0]]
    with torch.inference_mode():
        eager = time_calls(lambda: model(*tensors), torch.cuda.synchronize, iterations)
        compiled = torch.compile(model, mode="reduce-overhead")
        return eager, time_calls(lambda: compiled(*tensors), torch.cuda.synchronize, iterations)


def time_calls(call: Callable[[], Any], wait: Callable[[], Any], iterations: int) -> float:
    """Median in µs of a call and its wait, after ten to warm up."""
    seconds: list[float] = []
    for _ in range(10 + iterations):
        start = time.perf_counter()
        call()
        wait()
        seconds.append(time.perf_counter() - start)
    return 1e6 * median(seconds[10:])


def print_head(architecture: str) -> None:
    print(f"Compiled for {TARGET}, run on {architecture}; median µs a run.\n")
    print(
        "| model | calls | max rel error | launches | replay | IREE | IREE / replay "
        "| eager | compiled |"
    )
    print("| --- " * 9 + "|")


def print_row(row: Row) -> None:
    ratio = row.iree / row.replay if row.iree else None
    error = "–" if row.error is None else f"{row.error:.1e}"
    cells = [
        row.model,
        str(row.calls),
        error if row.is_right else f"**{error}**",
        *(number(value) for value in (row.launches, row.replay, row.iree)),
        number(ratio, "{:.2f}x"),
        *(number(value) for value in (row.eager, row.compiled)),
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def number(value: float | None, form: str = "{:.1f}") -> str:
    return "–" if value is None else form.format(value)


if __name__ == "__main__":
    sys.exit(main())
