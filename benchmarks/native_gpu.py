"""Prepares a folder that checks libhipgraft and hipDNN's plugin on a GPU of another machine.

    python benchmarks/native_gpu.py FOLDER [--target=sm_80] [CASE | MODEL.onnx]...
    python3 FOLDER/run.py --costs            # there; needs Python, NumPy and the driver only

Compiles hipDNN graphs and models for the target, and stores inputs with the results of the CPU. For
a model that `families.py` exported, the folder gets its inputs and the results of onnxruntime.
`native_gpu_run.py` is the program that runs on the other machine.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hipgraft
from hipgraft.compiler.plan import graph_boundary
from hipgraft.compiler.program import Program, compile
from hipgraft.hipdnn_io import import_document, read_json
from hipgraft.hipdnn_io.plan_payload import ENGINE_NAME, Payload, encode_payload
from hipgraft.hipdnn_io.wiring import wire
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.native import library_path, plugin_path
from hipgraft.runtime.bundle import bundle_bytes
from hipgraft.runtime.comparison import tolerance
from hipgraft.runtime.plan import PlanMetadata
from hipgraft.runtime.recording import Launch, Recording

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "test" / "unit"
MODEL = ROOT / "examples" / "resnet50_bn_tiny.onnx"

sys.path.insert(0, str(TESTS))
from families import tolerances  # noqa: E402
from hipdnn_graphs import (  # noqa: E402
    GRAPHS,
    SDPA,
    attention_inputs,
    attention_outputs,
    graph,
    node,
    pointwise,
    tensor,
    uids,
)
from hipdnn_host import in_memory, span  # noqa: E402

_SMALL = ("layernorm", "sdpa", "relu_bwd", "conv_dgrad", "conv_wgrad", "layernorm_backward")
_SMALL += ("batchnorm_backward", "sdpa_backward", "matmul", "reduction")


def matmul_gelu(m: int, k: int, n: int) -> Any:
    return graph(
        [
            node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3)),
            pointwise("gelu_fwd", 3, out=4),
        ],
        [
            tensor(1, [1, m, k], "half"),
            tensor(2, [1, k, n], "half"),
            tensor(3, [1, m, n], virtual=True),
            tensor(4, [1, m, n], "half"),
        ],
    )


def conv_bias_relu(n: int, c: int, size: int, k: int) -> Any:
    """Returns the graph in channels-last layout."""
    last = [[size * size * each, 1, size * each, each] for each in (c, k)]
    window = {"pre_padding": [1, 1], "post_padding": [1, 1], "stride": [1, 1], "dilation": [1, 1]}
    y = [n, k, size, size]
    return graph(
        [
            node(
                "ConvolutionFwdAttributes",
                inputs=uids(x=1, w=2),
                outputs=uids(y=4),
                parameters=window | {"conv_mode": "CROSS_CORRELATION"},
            ),
            pointwise("add", 4, 3, out=5, name="bias"),
            pointwise("relu_fwd", 5, out=6, name="relu"),
        ],
        [
            tensor(1, [n, c, size, size], "half", strides=last[0]),
            tensor(2, [k, c, 3, 3], "half", strides=[9 * c, 1, 3 * c, c]),
            tensor(3, [1, k, 1, 1], "half"),
            tensor(4, y, strides=last[1], virtual=True),
            tensor(5, y, strides=last[1], virtual=True),
            tensor(6, y, "half", strides=last[1]),
        ],
    )


def sdpa(batch: int, heads: int, length: int, width: int) -> Any:
    dims = [batch, heads, length, width]
    return graph(
        [
            node(
                "SdpaAttributes",
                inputs=attention_inputs(q=1, k=2, v=3),
                outputs=attention_outputs(o=4),
                attributes=SDPA | {"attn_scale_value": width**-0.5, "right_bound": -1},
            )
        ],
        [tensor(uid, dims, "half") for uid in (1, 2, 3, 4)],
    )


def graphs() -> dict[str, Any]:
    return {name: GRAPHS[name] for name in _SMALL} | {
        "matmul_gelu": matmul_gelu(9, 16, 24),
        "conv_bias_relu": json.loads(
            (ROOT / "test/lit/tools/Inputs/conv_bias_relu.json").read_text()
        ),
        "matmul_gelu_large": matmul_gelu(512, 1024, 2048),
        "conv_bias_relu_large": conv_bias_relu(8, 64, 56, 64),
        "sdpa_large": sdpa(2, 8, 512, 64),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("cases", nargs="*", help="names; all by default")
    flags = parser.parse_args(arguments)
    folder: Path = flags.folder
    folder.mkdir(parents=True, exist_ok=True)
    for path in (library_path(), plugin_path()):
        shutil.copy(path, folder)
    shutil.copy(ROOT / "benchmarks" / "native_gpu_run.py", folder / "run.py")
    loops = ["cc", "-shared", "-fPIC", "-O2", ROOT / "benchmarks" / "native_gpu.c"]
    subprocess.run([*loops, "-o", folder / "loops.so"], check=True)
    known = {
        name: partial(prepare_graph, name, source, flags.target, folder)
        for name, source in graphs().items()
    }
    known[MODEL.stem] = partial(prepare_model, MODEL, flags.target, folder)
    cases: list[Any] = []
    for name in flags.cases or known:
        make = known.get(name) or partial(prepare_model, Path(name), flags.target, folder)
        try:
            cases.append(make())
        except HipgraftError as error:
            print(f"{name} is left out: {error.message}", flush=True)
    (folder / "cases.json").write_text(json.dumps(cases))


def prepare_graph(name: str, source: Any, target: str, folder: Path) -> Any:
    """Writes the bundle, the plan and the tensors of a graph; returns its entry for `run.py`."""
    document = read_json(json.dumps(source))
    wiring = wire(document)
    boundary = graph_boundary(import_document(document))
    metadata = PlanMetadata(
        ENGINE_NAME,
        [one.uid for one in boundary.inputs],
        [one.uid for one in boundary.results],
        [],
        [target],
    )
    program = compile(boundary.module, target)
    bundle = bundle_bytes(program.recordings(target), metadata.to_json())
    (folder / f"{name}.hgb").write_bytes(bundle)
    (folder / f"{name}.plan").write_bytes(encode_payload(Payload(bundle)))
    reference = compile(import_document(document), "cpu")
    inputs, expected = reference_run(reference)
    arrays = {
        f"in.{one.uid}": in_memory(values, one.strides)
        for one, values in zip(wiring.arguments, inputs, strict=True)
    }
    results: dict[int, Any] = {}
    for one, values in zip(wiring.results, expected, strict=True):
        arrays[f"out.{one.uid}"] = comparable(values.reshape(one.dims))
        results[one.uid] = layout(values.dtype, one.dims, one.strides)
    np.savez(folder / f"{name}.npz", allow_pickle=False, **arrays)
    recording = program.recordings(target)[0]
    return described(name, metadata, results, recording, folder) | {"plan": True}


def is_of_families(path: Path) -> bool:
    """Whether `families.py` wrote an archive of arrays, which has onnxruntime's results too."""
    if not path.exists():
        return False
    with np.load(path) as held:
        return "wanted0" in held.files


def prepare_model(path: Path, target: str, folder: Path) -> Any:
    """Writes the bundle and the tensors of a model; returns its entry for `run.py`."""
    program = hipgraft.compile(path, target)
    recording = program.recordings(target)[0]
    exported = path.with_suffix(".npz")
    if is_of_families(exported):
        with np.load(exported) as held:
            inputs = [held[f"input:{one.name}"] for one in recording.inputs]
            expected = [held[f"wanted{number}"] for number in range(len(recording.results))]
        rtol, atol = tolerances(path, expected)
    else:
        inputs, expected = reference_run(hipgraft.compile(path, "cpu"))
        rtol, atol = None, None
    metadata = PlanMetadata(
        "", list(range(len(inputs))), [10000 + i for i in range(len(expected))], [], [target]
    )
    (folder / f"{path.stem}.hgb").write_bytes(bundle_bytes([recording], metadata.to_json()))
    arrays = {f"in.{number}": one for number, one in enumerate(inputs)}
    results: dict[int, Any] = {}
    for uid, values in zip(metadata.results, expected, strict=True):
        arrays[f"out.{uid}"] = comparable(values)
        steps = [step // values.itemsize for step in np.empty_like(values, order="C").strides]
        results[uid] = layout(values.dtype, values.shape, steps)
        if rtol is not None:
            results[uid] |= {"tolerance": rtol, "absolute": atol}
    np.savez(folder / f"{path.stem}.npz", allow_pickle=False, **arrays)
    return described(path.stem, metadata, results, recording, folder)


def reference_run(program: Program) -> tuple[list[Any], list[Any]]:
    """Returns random inputs, and the results of a program for the CPU."""
    draw = np.random.default_rng(0)
    inputs: list[Any] = []
    for one in program.recordings("cpu")[0].inputs:
        dtype = numpy_dtype(one.element_type)
        is_integer = dtype.kind in "iub"
        values = draw.integers(0, 2, one.shape) if is_integer else draw.uniform(-1, 1, one.shape)
        inputs.append(np.asarray(values).astype(dtype))
    return inputs, program.run(inputs, device="cpu")


def comparable(values: Any) -> Any:
    return values.astype(np.float32) if values.dtype.kind == "f" else values


def layout(dtype: Any, dims: Sequence[int], strides: Sequence[int]) -> Any:
    return {
        "dtype": dtype.name,
        "dims": list(dims),
        "strides": list(strides),
        "nbytes": span(dims, strides) * dtype.itemsize,
        "tolerance": tolerance(dtype),
    }


def described(
    name: str, metadata: PlanMetadata, results: Any, recording: Recording, folder: Path
) -> Any:
    launches = [one for one in recording.commands if isinstance(one, Launch)]
    for number, data in enumerate(recording.objects):
        (folder / f"{name}.{number}.code").write_bytes(data)
    return {
        "name": name,
        "inputs": metadata.inputs,
        "results": [[uid, results[uid]] for uid in metadata.results],
        "calls": len(recording.commands),
        "objects": len(recording.objects),
        "kernels": recording.kernels,
        "buffers": [one.nbytes for one in recording.buffers],
        "launches": [
            {
                "kernel": one.kernel,
                "grid": one.grid,
                "block": one.block,
                "shared": one.shared_bytes,
                "kernarg": one.kernarg.hex(),
                "pointers": [[at, place.buffer, place.offset] for at, place in one.pointers],
            }
            for one in launches
        ],
    }


if __name__ == "__main__":
    main()
