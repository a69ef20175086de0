"""Searches for single operators of odd sizes that take far longer than their memory traffic.

    python benchmarks/slow_ops.py [REGEX] [--target gfx942]

A ratio to `iree-compile` does not show operators that are slow in both. Each row has the estimated
µs of one operator, the µs to move its operands and results past the last cache, and the ratio of
the two; the largest ratios deserve a look. Up to 23 workgroups of each launch are executed, on
zero-filled memory.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from estimated_times import hipgraft_parts, rows_of, total
from onnx import TensorProto, helper, numpy_helper

from hipgraft.codegen.chips import CHIPS
from hipgraft.codegen.target import Target
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.tuning.counted import launches

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """An operator with inputs of f32, and constants: shapes of f32, or arrays."""

    kind: str
    inputs: Sequence[Shape]
    constants: Sequence[Shape | np.ndarray]
    attributes: dict[str, Any]

    @property
    def name(self) -> str:
        shapes = ["x".join(map(str, shape)) for shape in self.inputs]
        axis = [f"axis {self.attributes['axis']}"] if "axis" in self.attributes else []
        return " ".join([self.kind, *shapes, *axis])

    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(f"x{index}", TensorProto.FLOAT, shape)
            for index, shape in enumerate(self.inputs)
        ]
        draw = np.random.default_rng(0)
        constants = [
            numpy_helper.from_array(
                draw.standard_normal(one).astype(np.float32) if isinstance(one, tuple) else one,
                f"c{index}",
            )
            for index, one in enumerate(self.constants)
        ]
        names = [*(one.name for one in inputs), *(one.name for one in constants)]
        if self.kind == "Resize":
            names.insert(1, "")
        nodes = [helper.make_node(self.kind, names, ["y"], **self.attributes)]
        output = helper.make_empty_tensor_value_info("y")
        graph = helper.make_graph(nodes, "op", inputs, [output], constants)
        opsets = [helper.make_opsetid("", 20)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)


ROWS = (
    ((1000, 300), 0),
    ((64, 197, 300), 1),
    ((8, 1000, 77), 1),
    ((8, 77, 1000), 2),
    ((48, 50000), 1),
    ((1024, 197), 1),
    ((16384, 49), 1),
)
IMAGES = ((8, 32, 56, 56), (8, 100, 25, 25), (2, 320, 17, 17), (16, 3, 224, 224))


def ops() -> Iterator[Op]:
    """Yields all operators."""
    for shape, axis in ROWS:
        for kind in ("Softmax", "ArgMax"):
            yield Op(kind, [shape], [], {"axis": axis})
        for kind in ("ReduceSum", "ReduceMax"):
            yield Op(kind, [shape], [np.array([axis])], {"keepdims": 1})
        yield Op("CumSum", [shape], [np.array(axis)], {})
        width = shape[-1:]
        yield Op("LayerNormalization", [shape], [width, width], {"axis": -1})
    for shape in IMAGES:
        channels = shape[1:2]
        around = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        yield Op("InstanceNormalization", [shape], [channels, channels], {})
        yield Op("GlobalAveragePool", [shape], [], {})
        yield Op("MaxPool", [shape], [], {**around, "strides": [2, 2]})
        yield Op("AveragePool", [shape], [], around)
        yield Op("LRN", [shape], [], {"size": 5})
        yield Op("LpNormalization", [shape], [], {"axis": 1})
        yield Op("Softmax", [shape], [], {"axis": 1})
        yield Op("Transpose", [shape], [], {"perm": [0, 2, 3, 1]})
        yield Op("Pad", [shape], [np.array([0, 0, 3, 3, 0, 0, 3, 3])], {"mode": "reflect"})
        for mode, scale in (("linear", 2), ("cubic", 1.5)):
            yield Op(
                "Resize", [shape], [np.array([1, 1, scale, scale], np.float32)], {"mode": mode}
            )
    for left, right in (((1, 1000), (1000, 333)), ((4, 200), (200, 1000)), ((197, 300), (300, 77))):
        yield Op("MatMul", [left], [right], {})
    for left, right in (((12, 197, 64), (12, 64, 197)), ((12, 197, 197), (12, 197, 64))):
        yield Op("MatMul", [left, right], [], {})
    for image, filters, group in (
        ((8, 100, 25, 25), (100, 1, 3, 3), 100),
        ((1, 100, 25, 25), (77, 100, 3, 3), 1),
        ((1, 96, 28, 28), (96, 24, 3, 3), 4),
        ((1, 80, 3000), (384, 80, 3), 1),
        ((1, 16, 8, 30, 30), (32, 16, 3, 3, 3), 1),
    ):
        pads = [1] * 2 * (len(image) - 2)
        yield Op("Conv", [image], [filters], {"group": group, "pads": pads})


def measure(op: Op, target: Target, folder: Path) -> tuple[float, float]:
    """Returns the estimated µs of an operator, and those of its memory."""
    path = folder / "op.onnx"
    onnx.save(op.model(), path)
    parts = hipgraft_parts(path, target)
    _, microseconds = total(rows_of(parts), target)
    bindings = {
        (binding.buffer, binding.offset): binding.length
        for part in parts
        for _, launch, _ in launches(part.kernel)
        for binding in launch.bindings
    }
    chip = CHIPS[target.name]
    bandwidth = chip.far_bandwidth if chip.far_size else chip.memory_bandwidth
    return microseconds, 1e6 * (chip.kernel_seconds + sum(bindings.values()) / bandwidth)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pattern", nargs="?", default="", help="operators whose name matches")
    parser.add_argument("--target", default="gfx942", choices=CHIPS)
    flags = parser.parse_args()
    found: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for op in ops():
            if not re.search(flags.pattern, op.name):
                continue
            try:
                took, least = measure(op, Target.parse(flags.target), Path(folder))
            except HipgraftError as error:
                print(f"{op.name}: {error}", file=sys.stderr)
                continue
            found.append((took / least, f"| {op.name} | {took:,.1f} | {least:,.1f} |"))
    print("| operator | µs | µs of its memory | ratio |")
    print("| --- | --- | --- | --- |")
    for ratio, row in sorted(found, reverse=True):
        print(f"{row} {ratio:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
