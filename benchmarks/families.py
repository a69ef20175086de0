"""Exports small models of many families to ONNX, compiles them, and runs them on the CPU.

    python benchmarks/families.py export FOLDER [MODEL...] [--forms dynamo,f16]
    python benchmarks/families.py check FOLDER [REGEX] [-j 2] [--targets cpu,gfx942,gfx1100]

`export` needs torch, torchvision, onnxscript, transformers and timm, and for some models a package
that their module names; it lists the models that it could not export. It writes a model in several
forms: by both exporters of PyTorch, in f32 and f16, and quantised by onnxruntime. Beside each are
its inputs and the results of onnxruntime without optimisations. `check` compiles each form for each
target, and runs it if the target is `cpu` or an emulated GPU such as `emulator:gfx942`. The results
of quantised models may agree with ONNX's reference instead. The status is 1 if a form is wrong,
aborts or ends in a traceback, or if a ranking in the model compares two almost equal elements and
`--near-ties` does not allow that.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import io
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

KINDS = (
    "forecasting",
    "experts",
    "prediction",
    "recurrence",
    "generation",
    "perception",
    "language",
    "diffusion",
    "graphs",
    "recommendation",
    "sequences",
    "recurrent",
    "speech",
    "vision",
    "rendering",
    "detection",
    "transformers_models",
    "transformers_composed",
    "timm_models",
    "pytorchcv_models",
    "vit_pytorch_models",
    "package_images",
    "package_layers",
    "package_restoration",
    "torchvision_detectors",
    "package_sequences",
    "package_sounds",
    "package_graphs",
)
"""The modules of models."""


def families() -> dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]]:
    """Returns the functions that build all models."""
    for kind in KINDS:
        importlib.import_module(f"family_models.{kind}")
    return importlib.import_module("family_models").FAMILIES


def export(folder: Path, names: list[str], chosen: list[str]) -> None:
    """Writes forms of models; by default all forms of all models."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = families()
    for name in names or makers:
        made: list[str] = []
        try:
            written = list(forms(makers[name]))
        except Exception as error:  # the packages raise errors of any class
            reason = (str(error).strip().splitlines() or [""])[0]
            print(f"{name}: not made ({type(error).__name__}: {reason[:90]})", flush=True)
            continue
        for form, write in written:
            path = folder / f"{name}-{form}.onnx"
            if path.with_suffix(".npz").exists() or (chosen and form not in chosen):
                continue
            try:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    write(path)
                    keep_wanted(path)
                made.append(form)
            except Exception as error:  # exporters raise errors of any class
                path.unlink(missing_ok=True)
                reason = (str(error).strip().splitlines() or [""])[0]
                made.append(f"no {form} ({type(error).__name__}: {reason[:90]})")
        print(f"{name}: {', '.join(made)}", flush=True)


def forms(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Iterator[tuple[str, Any]]:
    """Yields the name of each form, and the function that writes it to a path."""
    import torch

    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # no exporter supports it
    with torch.no_grad():
        model, inputs = make()
    model = model.eval()
    yield "dynamo", partial(write_torch, model, inputs, dynamo=True)
    yield "legacy", partial(write_torch, model, inputs, dynamo=False)
    yield "dynamic8", partial(write_quantized, model, inputs, "dynamic8")
    yield "qdq8", partial(write_quantized, model, inputs, "qdq8")
    yield "qop8", partial(write_quantized, model, inputs, "qop8")
    halves = tuple(one.half() if one.dtype == torch.float32 else one for one in inputs)
    half = copy.deepcopy(model).half()
    yield "f16", partial(write_torch, half, halves, dynamo=True)


def write_torch(model: Any, inputs: tuple[Any, ...], path: Path, *, dynamo: bool) -> None:
    """Exports a module, and writes its inputs."""
    import torch

    warnings.simplefilter("ignore")
    with torch.no_grad():
        torch.onnx.export(
            model,
            inputs,
            path,
            dynamo=dynamo,
            opset_version=20 if dynamo else 17,
            external_data=False,
            verbose=False,
        )
    names = [one.name for one in onnx.load(path).graph.input]
    arrays = [one.numpy() for one in inputs]
    np.savez(path.with_suffix(".npz"), **dict(zip(names, arrays, strict=True)))


def write_quantized(model: Any, inputs: tuple[Any, ...], kind: str, path: Path) -> None:
    """Quantises the exported module."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    write_torch(model, inputs, path, dynamo=False)
    arrays = dict(np.load(path.with_suffix(".npz")))
    path.with_suffix(".npz").unlink()
    plain, ready = path.with_suffix(".plain"), path.with_suffix(".ready")
    path.rename(plain)
    try:
        before = Counter(node.op_type for node in onnx.load(plain).graph.node)
        if kind == "dynamic8":
            quantization.quantize_dynamic(plain, path)
        else:

            class Reader(quantization.CalibrationDataReader):
                left = iter([arrays])

                def get_next(self) -> dict[str, Any] | None:
                    return next(self.left, None)

            quant_pre_process(plain, ready, skip_symbolic_shape=True)
            form = quantization.QuantFormat[{"qdq8": "QDQ", "qop8": "QOperator"}[kind]]
            quantization.quantize_static(
                ready, path, Reader(), quant_format=form, per_channel=kind == "qdq8"
            )
        if Counter(node.op_type for node in onnx.load(path).graph.node) == before:
            raise ValueError("nothing to quantise")
        np.savez(path.with_suffix(".npz"), **arrays)
    finally:
        plain.unlink(missing_ok=True)
        ready.unlink(missing_ok=True)


def keep_wanted(path: Path) -> None:
    """Adds onnxruntime's results to the file of inputs."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    target = path.with_suffix(".npz")
    inputs = dict(np.load(target))
    target.unlink()
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    taken = {one.name for one in session.get_inputs()}
    inputs = {name: array for name, array in inputs.items() if name in taken}
    wanted = session.run(None, inputs)
    named = {f"wanted{index}": one for index, one in enumerate(wanted)}
    np.savez(target, **{f"input:{name}": array for name, array in inputs.items()}, **named)


def check(path: Path, target: str) -> Any:
    """Compiles a model for a target; on the CPU and on emulated GPUs, runs it and compares."""
    from near_ties import checked

    from hipgraft.onnx_backend.cases import Case, check

    model = onnx.load(path)
    arrays = dict(np.load(path.with_suffix(".npz")))
    initialised = {one.name for one in model.graph.initializer}
    names = [one.name for one in model.graph.input if one.name not in initialised]
    inputs = [arrays[f"input:{name}"] for name in names]
    wanted = [arrays[f"wanted{index}"] for index in range(len(model.graph.output))]
    rtol, atol = tolerances(path, wanted)
    case = Case(path.stem, model, inputs, wanted, rtol, atol)
    if target == "graphs":
        return check(case, "hipdnn-graphs")
    if target != "cpu" and ":" not in target:
        return compiled(path, target)
    outcome = checked(case, target)
    if outcome.kind != "wrong" or not path.stem.endswith("8"):
        return outcome
    # On processors without VNNI, onnxruntime's sums of products of bytes saturate.
    reference = by_reference(model, dict(zip(names, inputs, strict=True)))
    return checked(replace(case, wanted=reference), target) if reference else outcome


def by_reference(model: onnx.ModelProto, inputs: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """Returns the results of ONNX's reference; None if it lacks an op. It may take minutes."""
    from onnx.reference import ReferenceEvaluator

    try:
        model = onnx.version_converter.convert_version(model, 21)
        return ReferenceEvaluator(model).run(None, inputs)
    except (NotImplementedError, RuntimeError):
        return None


def tolerances(path: Path, wanted: list[np.ndarray]) -> tuple[float, float]:
    """Returns the tolerances relative to an element and to the largest element."""
    # A model in f16 may have results in f32.
    is_half = path.stem.endswith("-f16") or any(one.dtype == np.float16 for one in wanted)
    loose = 2e-2 if is_half or path.stem.endswith("8") else 1e-3
    finite = [
        np.abs(one[np.isfinite(one)]).max(initial=0) for one in wanted if one.dtype.kind == "f"
    ]
    return loose, loose / 10 * float(max(finite, default=0.0))


def compiled(path: Path, target: str) -> Any:
    """Compiles a model and returns the outcome."""
    from hipgraft.compiler.program import compile as compile_model
    from hipgraft.ir.diagnostics import HipgraftError
    from hipgraft.onnx_backend.cases import Outcome
    from hipgraft.service import CompileService, InProcess, use_service

    try:
        with CompileService(InProcess()) as service, use_service(service):
            compile_model(path, target)
    except HipgraftError as error:
        return Outcome("refused", f"{error.location}: {error.message}")
    return Outcome("pass")


def check_all(options: argparse.Namespace) -> int:
    """Checks all forms in a folder."""
    from hipgraft.onnx_backend.cases import OUTCOMES, run_contained

    paths = [
        one for one in sorted(options.folder.glob("*.onnx")) if re.search(options.regex, one.stem)
    ]
    jobs = (
        ((path.stem, target), partial(check, path, target))
        for path in paths
        for target in options.targets.split(",")
    )
    counts: dict[str, Counter[str]] = {}
    rows: list[dict[str, Any]] = []
    for (name, target), outcome in run_contained(jobs, workers=options.j, timeout=options.timeout):
        counts.setdefault(target, Counter())[outcome.kind] += 1
        row = {"model": name, "target": target, "kind": outcome.kind, "detail": outcome.detail}
        rows.append({**row, "seconds": outcome.seconds})
        if outcome.kind != "pass" or options.verbose:
            print(
                f"{outcome.kind}: {name} {target} {outcome.seconds:.0f} s: {outcome.detail[:400]}",
                flush=True,
            )
    kinds = [*OUTCOMES[:2], "near-tie", *OUTCOMES[2:]]
    for target, one in counts.items():
        print(target, ", ".join(f"{one[kind]} {kind}" for kind in kinds))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    failures = kinds[3 if options.near_ties else 2 :]
    return int(any(one[kind] for one in counts.values() for kind in failures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("export")
    one.add_argument("folder", type=Path)
    one.add_argument("models", nargs="*", help="by default all")
    one.add_argument("--forms", default="", help="separated by commas; by default all")
    other = commands.add_parser("check")
    other.add_argument("folder", type=Path)
    other.add_argument("regex", nargs="?", default="")
    other.add_argument("-j", type=int, default=2, help="models at a time")
    other.add_argument("--targets", default="cpu")
    other.add_argument("--timeout", type=float, default=300)
    other.add_argument("--json", type=Path)
    other.add_argument("--near-ties", action="store_true", help="near ties are no failures")
    other.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.command == "check":
        return check_all(options)
    export(options.folder, options.models, [one for one in options.forms.split(",") if one])
    return 0


if __name__ == "__main__":
    sys.exit(main())
