"""Models with tensors in the form of onnxruntime's quantiser, also random models.

    python test/unit/quantized_models.py [--rounds 200] [--seed 0]

compiles random ones for the CPU and compares them with onnxruntime.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from emulator import open_emulator
from onnx import TensorProto, helper, numpy_helper

import hipgraft

F32 = TensorProto.FLOAT
FLOATS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
)
KINDS = (np.int8, np.uint8, *FLOATS)


class Pairs:
    """A model with tensors in the form of onnxruntime's quantiser."""

    def __init__(self, seed: int, kind: Any):
        self.random = np.random.default_rng(seed)
        self.kind = np.dtype(kind)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}

    def name(self) -> str:
        return f"v{len(self.nodes) + len(self.constants)}"

    def constant(self, value: object, dtype: Any) -> str:
        name = self.name()
        self.constants[name] = np.asarray(value, dtype)
        return name

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        name = self.name()
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], **attributes))
        return name

    def activation(self, x: str) -> str:
        """A tensor, quantised and dequantised by one scale and a zero point.

        No scale is a multiple of another, so that few quotients are half-way between integers.
        """
        scale = self.random.uniform(0.04, 0.1)
        zero = 0
        if self.kind.kind in "iu":
            zero = np.iinfo(self.kind).min + self.random.integers(100, 150)
        parameters = [self.constant(scale, np.float32), self.constant(zero, self.kind)]
        return self.node(
            "DequantizeLinear", self.node("QuantizeLinear", x, *parameters), *parameters
        )

    def weights(self, *shape: int, axis: int | None = None, zero: int = 0) -> str:
        """Constant bytes, with a scale and a zero point for each index of an axis.

        Args:
            shape: their shape.
            axis: that dimension; None for one scale.
            zero: distance of the integers' zero points from the middle of the range.
        """
        is_integer = self.kind.kind in "iu"
        low, high = -128, 128
        if is_integer:
            low, high = np.iinfo(self.kind).min, np.iinfo(self.kind).max + 1
        data = self.constant(self.random.integers(low, high, shape), self.kind)
        count = [] if axis is None else [shape[axis]]
        scale = self.constant(self.random.uniform(0.005, 0.01, count), np.float32)
        middle = (low + high) // 2 + zero if is_integer else 0
        zeros = self.constant(np.full(count, middle), self.kind)
        named = {} if axis is None else {"axis": axis}
        return self.node("DequantizeLinear", data, scale, zeros, **named)

    def check(self, path: Path, x: np.ndarray[Any, Any], y: str, target: str = "cpu") -> None:
        """Compares the program with onnxruntime; a few results may be the next byte."""
        graph = helper.make_graph(
            self.nodes,
            "pairs",
            [helper.make_tensor_value_info("x", F32, x.shape)],
            [helper.make_tensor_value_info(y, F32, None)],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        opset = [helper.make_opsetid("", 17 if self.kind.kind in "iu" else 19)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        (wanted,) = session.run(None, {"x": x})
        device = "cpu" if target == "cpu" else open_emulator(target)
        with hipgraft.compile(path, target) as program:
            (found,) = program.run([x], device)
        steps = np.abs(np.asarray(found) - wanted) / 0.1
        assert (steps > 0.01).mean() < 0.02, (
            f"{(steps > 0.01).mean()} differ, by up to {steps.max()}"
        )


def draw(seed: int, kind: Any = None) -> tuple[Pairs, np.ndarray[Any, Any], str]:
    """A chain of random operators, each of which is between pairs; its input, and its result."""
    random = np.random.default_rng(seed)
    pairs = Pairs(seed, KINDS[random.integers(len(KINDS))] if kind is None else kind)
    batch, channels = (int(random.integers(1, 4)) for _ in range(2))
    height, width = (int(random.integers(3, 7)) for _ in range(2))
    shape = [batch, channels, height, width]
    x = random.standard_normal(shape).astype(np.float32)
    y = pairs.activation("x")
    for _ in range(random.integers(1, 5)):
        y, shape = _step(pairs, y, shape)
        if random.integers(4):
            y = pairs.activation(y)
    return pairs, x, pairs.activation(y)


def _step(pairs: Pairs, y: str, shape: list[int]) -> tuple[str, list[int]]:
    random, kind = pairs.random, pairs.random.integers(8)
    if kind == 0 and len(shape) == 4 and min(shape[2:]) > 2:
        return _convolution(pairs, y, shape)
    if kind in (1, 2):
        columns, axis = int(random.integers(1, 9)), [None, 1][random.integers(2)]
        weights = pairs.weights(shape[-1], columns, axis=axis, zero=int(random.integers(-1, 2)))
        product = pairs.node("MatMul", y, weights)
        if random.integers(2):
            bias = pairs.constant(random.standard_normal(columns), np.float32)
            product = pairs.node("Add", product, bias)
        return product, [*shape[:-1], columns]
    if kind == 3:
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        return pairs.node("Transpose", y, perm=order), [shape[axis] for axis in order]
    if kind == 4:
        flat = [int(np.prod(shape[:-1])), shape[-1]]
        return pairs.node("Reshape", y, pairs.constant(flat, np.int64)), flat
    if kind == 5:
        order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        other = pairs.activation(pairs.node("Transpose", y, perm=order))
        return pairs.node("MatMul", y, other), [*shape[:-1], shape[-2]]
    if kind == 6:
        return pairs.node("Add", y, pairs.activation(pairs.node("Sigmoid", y))), shape
    return pairs.node("Relu", y), shape


def _convolution(pairs: Pairs, y: str, shape: list[int]) -> tuple[str, list[int]]:
    random = pairs.random
    group = shape[1] if random.integers(2) else 1
    outputs = group * int(random.integers(1, 4))
    padding, stride = int(random.integers(2)), int(random.integers(1, 3))
    axis, zero = [None, 0][random.integers(2)], int(random.integers(-1, 2))
    filters = pairs.weights(outputs, shape[1] // group, 3, 3, axis=axis, zero=zero)
    named = {"group": group, "pads": [padding] * 4, "strides": [stride] * 2}
    extents = [(extent + 2 * padding - 3) // stride + 1 for extent in shape[2:]]
    return pairs.node("Conv", y, filters, **named), [shape[0], outputs, *extents]


def main() -> int:
    """Runs random models and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    flags = parser.parse_args()
    failed: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(flags.seed, flags.seed + flags.rounds):
            pairs, x, y = draw(seed)
            try:
                pairs.check(Path(folder, "m.onnx"), x, y)
            except Exception as error:  # every failure is counted
                failed.append(seed)
                print(f"{seed}: {' '.join(str(error).split())[:200]}", flush=True)
    print(f"{flags.rounds - len(failed)} of {flags.rounds} are right")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
