"""Compares the estimated time of linear layers with that of plain `iree-compile`.

    python benchmarks/linear_layers.py [LAYER...] [--target gfx942] [--write DIR]

A row for each layer `relu(x · wᵀ + bias)`, as `estimated_times.py` prints it; its name gives the
element type and the extents of rows, sums and columns. `i8` means weights of 8 bits with a scale
for each column, `rows` weights that the model stores row by row, as `MatMul` has them. `f8` means
weights in f8E4M3FN, and `f8f8` that `x` is quantised to it, too; these have no ratio, because
`iree-compile` does not import such operators. `--write` also keeps the models, which
`cuda_models.py` measures on an NVIDIA GPU. Without names, the layers have few rows.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from estimated_times import measure
from onnx import TensorProto, helper, numpy_helper

from hipgraft.codegen.chips import CHIPS
from hipgraft.codegen.target import Target

# Squeeze and excitation, classifiers, gates of recurrent cells, and decoders of language models.
LAYERS = [
    "f32_1x672x28",
    "f32_1x1152x320",
    "f32_1x2048x1000",
    "f32_4x672x112",
    "f32_8x1152x48",
    "f32_16x768x768",
    "f16_1x768x3072",
    "f16_1x4096x4096",
    "f16_4x4096x64",
    "f16_8x1024x1024",
    "f32_rows_8x768x768",
    "f32_rows_16x2048x1024",
    "f16_rows_8x2048x1024",
    "f32_i8_1x2048x1024",
    "f32_i8_4x2048x1024",
    "f16_i8_1x4096x4096",
    "f16_i8_4x4096x4096",
    "f16_i8_12x2048x2048",
]

_F8 = ml_dtypes.float8_e4m3fn
_KINDS = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16)}


def write_layer(path: Path, element: str, rows: int, depth: int, columns: int) -> Path:
    """Writes a layer with random constant weights."""
    element, _, form = element.partition("_")
    kind, dtype = _KINDS[element]
    random = np.random.default_rng(0)
    w = 0.1 * random.standard_normal((columns, depth))
    constants = {"w": w.astype(dtype), "b": random.standard_normal(columns).astype(dtype)}
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["sum"], transB=1),
        helper.make_node("Relu", ["sum"], ["y"]),
    ]
    if form == "rows":
        constants["w"] = np.ascontiguousarray(constants["w"].T)
        nodes[:1] = [
            helper.make_node("MatMul", ["x", "w"], ["product"]),
            helper.make_node("Add", ["product", "b"], ["sum"]),
        ]
    elif form:
        quantized = np.rint(300 * w).astype(np.int8) if form == "i8" else w.astype(_F8)
        scale = np.full(columns, 1 / 300 if form == "i8" else 1, dtype)
        constants |= {"q": quantized, "s": scale}
        del constants["w"]
        nodes.insert(0, helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=0))
    if form == "f8f8":
        constants |= {"t": np.array(0.1, dtype), "z": np.array(0, _F8)}
        nodes[1].input[0] = "rounded"
        nodes[:0] = [
            helper.make_node("QuantizeLinear", ["x", "t", "z"], ["codes"]),
            helper.make_node("DequantizeLinear", ["codes", "t"], ["rounded"]),
        ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", kind, [rows, depth])],
        [helper.make_tensor_value_info("y", kind, [rows, columns])],
        [numpy_helper.from_array(a, name) for name, a in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.save(model, path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", nargs="*", metavar="LAYER", help="for example f16_i8_4x2048x1024")
    parser.add_argument("--target", default="gfx942", choices=CHIPS)
    parser.add_argument("--write", type=Path)
    flags = parser.parse_args()
    print("| layer | launches | iree-compile | µs | iree-compile | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        directory = flags.write or Path(folder)
        directory.mkdir(parents=True, exist_ok=True)
        for name in flags.layers or LAYERS:
            element, _, extents = name.rpartition("_")
            path = write_layer(directory / f"{name}.onnx", element, *map(int, extents.split("x")))
            measure(path, Target.parse(flags.target), 0)


if __name__ == "__main__":
    main()
