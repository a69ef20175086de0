"""Times compiled models on an NVIDIA GPU: launches, graph replay, IREE's runtime, PyTorch.

    python benchmarks/cuda_models.py prepare DIR MODEL.onnx...   # where the compiler is
    python benchmarks/cuda_models.py run DIR [MODEL...]          # where the GPU is

`prepare` writes the input of `run` to DIR. For each model, this is a bundle, its launches as a
program for IREE's runtime (`iree_stream.py`), the whole model as compiled by IREE alone, and the
`.npz` beside the model, with inputs `in_*` and results `out_*`. Without an `.npz`, the model itself
is copied, and onnxruntime computes the results of generated inputs on the CPU. `run` needs no
compiler. It needs numpy, ml_dtypes and this source; the IREE columns need IREE's runtime, and the
PyTorch columns need PyTorch and a `MODEL.pt2` in DIR (`torch.export.save`, with example inputs).

All times are medians in µs of whole runs, including the wait, with inputs on the GPU.
"""

from __future__ import annotations

import argparse
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
from tempfile import TemporaryDirectory
from typing import Any

import iree_runtime
import iree_stream
import numpy as np

TARGET = "sm_80"


@dataclass(frozen=True)
class Row:
    """A model's times in µs; None for those that cannot be measured."""

    model: str
    calls: int
    error: float | None
    bound: float
    is_right: bool
    launches: float
    replay: float
    same: float | None
    whole: float | None
    eager: float | None
    compiled: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; returns 1 if a result is wrong."""
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
    """Compiles a model with hipgraft and with IREE alone."""
    import hipgraft

    target = directory / model.stem
    with hipgraft.compile(model, TARGET) as program:
        program.save_bundle(target.with_suffix(".hgb"))
        prepare_same(target, program.recording(TARGET))
    oracle = model.with_suffix(".npz") if model.with_suffix(".npz").exists() else model
    shutil.copyfile(oracle, directory / oracle.name)
    prepare_whole(model, target)


def prepare_same(target: Path, recording: Any) -> None:
    """Packs the launches of a program for IREE's runtime."""
    with TemporaryDirectory() as folder:
        module = Path(folder) / "same.mlir"
        module.write_text(iree_stream.stream_module(recording, Path(folder)))
        compile_with_iree(module, target.with_suffix(".same.vmfb"), iree_stream.OPTIONS)


def prepare_whole(model: Path, target: Path) -> None:
    """Compiles a model with IREE alone, if possible."""
    imported = target.with_suffix(".mlir")
    importer = [sys.executable, "-m", "iree.compiler.tools.import_onnx"]
    subprocess.run([*importer, model, "-o", imported], check=True)
    entry = re.search(r"func\.func @(\w+)", imported.read_text())
    options = ["--iree-opt-level=O3", "--iree-input-demote-f64-to-f32=false"]
    if compile_with_iree(imported, target.with_suffix(".vmfb"), options) and entry:
        target.with_suffix(".json").write_text(json.dumps({"entry": entry[1]}))
    imported.unlink()


def compile_with_iree(module: Path, output: Path, options: Sequence[str]) -> bool:
    """Compiles with `iree-compile`; returns False if that fails."""
    target = ["--iree-hal-target-device=cuda", f"--iree-cuda-target={TARGET}"]
    compiler = [sys.executable, "-m", "iree.compiler.tools.scripts.iree_compile"]
    command = [*compiler, module, *target, *options, "-o", output]
    return subprocess.run(command, check=False).returncode == 0


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
    """Runs one model and times it in all available ways."""
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
        same, is_same = time_same(path, recording, inputs, results)
    is_replayed = all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(results, again, strict=True)
    )
    error, bound, is_right = compare(results, expected)
    eager, compiled = time_torch(path.with_suffix(".pt2"), iterations)
    return Row(
        model=path.stem,
        calls=len(recording.commands),
        error=error,
        bound=bound,
        is_right=is_right and is_replayed and is_same,
        launches=launches,
        replay=replay,
        same=same,
        whole=time_whole(path, inputs),
        eager=eager,
        compiled=compiled,
    )


def read_arrays(path: Path, recording: Any) -> tuple[list[Any], list[Any]]:
    """Returns inputs and expected results; without a `.npz`, onnxruntime computes them."""
    from hipgraft.ir.dtypes import numpy_dtype

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
    """Returns the model's results on the CPU; empty without onnxruntime."""
    try:
        import onnxruntime
    except ImportError:
        return []
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


def made(random: np.random.Generator, shape: Sequence[int], dtype: Any) -> Any:
    """Returns small normal numbers, which keep deep models finite; 0 and 1 for integers."""
    if np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    return (0.02 * random.standard_normal(shape)).astype(dtype)


def compare(results: Sequence[Any], expected: Sequence[Any]) -> tuple[float | None, float, bool]:
    """Returns the largest error relative to the largest magnitude, its bound, and the verdict."""
    from hipgraft.runtime import comparison

    if not expected:
        return None, 0.0, True
    compared = [
        comparison.compare(found, wanted, comparison.tolerance(wanted.dtype), 0.0)
        for found, wanted in zip(results, expected, strict=False)
    ]
    is_right = len(results) == len(expected) and all(one.ok for one in compared)
    bound = max(comparison.tolerance(wanted.dtype) for wanted in expected)
    return max(one.max_relative for one in compared), bound, is_right


def time_same(
    path: Path, recording: Any, inputs: Sequence[Any], results: Sequence[Any]
) -> tuple[float | None, bool]:
    """Times IREE's runtime with the same launches, and compares its results bytewise."""
    from hipgraft.runtime.boundary import raw

    module = path.with_suffix(".same.vmfb")
    pairs = zip(inputs, recording.inputs, strict=True)
    given = [np.frombuffer(raw(array, tensor), np.int8) for array, tensor in pairs]
    constants = iree_stream.constant_bytes(recording.buffers)
    given += [np.frombuffer(constants, np.int8)] if constants else []
    found = iree_runtime.run_module(module, iree_stream.ENTRY, given, len(results))
    if found is None:
        return None, True
    pairs = zip(results, recording.results, strict=True)
    wanted = [np.frombuffer(raw(array, tensor), np.int8) for array, tensor in pairs]
    is_same = all(map(np.array_equal, found, wanted))
    return iree_runtime.time_module(module, iree_stream.ENTRY, given), is_same


def time_whole(path: Path, inputs: Sequence[Any]) -> float | None:
    """Times IREE's runtime with IREE's own compilation of the whole model."""
    description = path.with_suffix(".json")
    if not description.exists():
        return None
    entry = json.loads(description.read_text())["entry"]
    return iree_runtime.time_module(path.with_suffix(".vmfb"), entry, inputs)


def time_torch(exported: Path, iterations: int) -> tuple[float | None, float | None]:
    """Times PyTorch, eager and compiled with CUDA graphs, on the example inputs."""
    if not exported.exists():
        return None, None
    try:
        import torch
        from torch.export.passes import move_to_device_pass
    except ImportError:
        return None, None
    program = torch.export.load(exported)
    for node in list(program.graph.nodes):
        if "_assert_tensor_metadata" in str(node.target):  # its operand is the CPU
            program.graph.erase_node(node)
    model = move_to_device_pass(program, "cuda").module()
    tensors = [tensor.cuda() for tensor in program.example_inputs[0]]
    with torch.inference_mode():
        eager = time_calls(lambda: model(*tensors), torch.cuda.synchronize, iterations)
        compiled = torch.compile(model, mode="reduce-overhead")
        return eager, time_calls(lambda: compiled(*tensors), torch.cuda.synchronize, iterations)


def time_calls(call: Callable[[], Any], wait: Callable[[], Any], iterations: int) -> float:
    """Returns the median in µs of a call and its wait, after ten warm-up calls."""
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
        "| model | calls | max rel error | bound | launches | replay | IREE, same | same / replay "
        "| IREE, whole | whole / replay | eager | compiled |"
    )
    print("| --- " * 12 + "|")


def print_row(row: Row) -> None:
    error = "–" if row.error is None else f"{row.error:.1e}"
    cells = [
        row.model,
        str(row.calls),
        error if row.is_right else f"**{error}**",
        "–" if row.error is None else f"{row.bound:.1e}",
        *(number(value) for value in (row.launches, row.replay)),
        *(cell for time in (row.same, row.whole) for cell in (number(time), ratio(time, row))),
        *(number(value) for value in (row.eager, row.compiled)),
    ]
    print(f"| {' | '.join(cells)} |", flush=True)


def ratio(time: float | None, row: Row) -> str:
    return "–" if time is None else f"{time / row.replay:.2f}x"


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
