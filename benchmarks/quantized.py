"""Quantises models of `models/` with onnxruntime, as input of other benchmarks.

    python benchmarks/quantized.py benchmarks/models/resnet50.onnx.xz build/resnet50_qdq8.onnx
    python benchmarks/launches.py --no-code build/resnet50_qdq8.onnx

Weights are random constants, per channel if they are a convolution's. `QuantizeLinear` and
`DequantizeLinear` are around each operator, with ranges of two random inputs. Activations are uint8
in models with convolutions, int8 in others.
"""

from __future__ import annotations

import argparse
import lzma
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from constant_weights import is_parameter, with_weights
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process


def is_weight(name: str) -> bool:
    """Whether an input is a parameter, or a constant that the exporter computed of one."""
    return is_parameter(name) or name.startswith("val_")


class _Reader(quantization.CalibrationDataReader):
    """Two random inputs."""

    def __init__(self, model: onnx.ModelProto):
        self._left = self._drawn(model)

    def get_next(self) -> dict[str, Any] | None:
        return next(self._left, None)

    def _drawn(self, model: onnx.ModelProto) -> Iterator[dict[str, Any]]:
        random = np.random.default_rng(0)
        for _ in range(2):
            drawn: dict[str, Any] = {}
            for value in model.graph.input:
                kind = value.type.tensor_type
                dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
                normal = random.standard_normal([one.dim_value for one in kind.shape.dim])
                drawn[value.name] = (normal if dtype.kind == "f" else np.abs(normal)).astype(dtype)
            yield drawn


def main() -> None:
    """Runs the tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, help="an ONNX model, which may be compressed by xz")
    parser.add_argument("output", type=Path)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, ready = folder / "plain.onnx", folder / "ready.onnx"
        data = flags.model.read_bytes()
        plain.write_bytes(lzma.decompress(data) if flags.model.suffix == ".xz" else data)
        (folder / "filled").mkdir()
        filled = with_weights(plain, folder / "filled", is_weight)
        quant_pre_process(filled, ready, skip_symbolic_shape=True)
        model = onnx.load(ready)
        has_convolutions = any(node.op_type == "Conv" for node in model.graph.node)
        flags.output.parent.mkdir(parents=True, exist_ok=True)
        quantization.quantize_static(
            ready,
            flags.output,
            _Reader(model),
            per_channel=has_convolutions,
            activation_type=getattr(
                quantization.QuantType, "QUInt8" if has_convolutions else "QInt8"
            ),
        )


if __name__ == "__main__":
    main()
