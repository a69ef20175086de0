"""Compares random ONNX models whose rows are selected by values with onnxruntime.

    python benchmarks/random_rows.py [--rounds 200] [--seed 0] [--compile]

Models select, order, cut, suppress, join and write rows of boxes, scores and labels, as detectors
do, and return rows of an unknown number. By default, the reference implementation evaluates the
model as the frontend has rewritten it; with `--compile`, it is compiled for the CPU and run. Each
model runs on inputs that select none, some and all rows. The status is 1 if a result is wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx_oracles import evaluate

from hipgraft.compiler.program import compile as compile_model
from hipgraft.frontends.onnx.model import read_model
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import ROW_COUNTS

Frame = dict[str, str]
"""Values of the same rows by their role: boxes [rows, 4], scores [rows] and labels [rows]."""


class Builder:
    """Builds a model of random steps."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.rows = rng.choice([1, 3, 5, 8])
        self.frames: list[Frame] = [{role: role for role in ("boxes", "scores", "labels")}]

    def op(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: object) -> str:
        """Adds a node and returns the name of its first result; others have a suffix."""
        name = f"{op_type}{len(self.nodes)}"
        names = [name, *(f"{name}:{n}" for n in range(1, outputs))]
        self.nodes.append(helper.make_node(op_type, inputs, names, name=name, **attributes))
        return name

    def const(self, *values: float, scalar: bool = False, element: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        array = np.array(values[0] if scalar else values, element)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def take(self, frame: Frame, index: str) -> Frame:
        """Reads the rows of all values at an index."""
        return {role: self.op("Gather", name, index, axis=0) for role, name in frame.items()}

    def step(self) -> None:
        """Adds a random step to a random frame."""
        steps = (self.select, self.compress, self.top, self.sort, self.cut, self.suppress,
                 self.compute, self.join, self.split, self.write, self.extend,
                 self.number, self.columns, self.scale)  # fmt: skip
        frame = self.rng.choice(self.frames[-3:])
        made = self.rng.choice(steps)(frame)
        self.frames.append(made)

    def condition(self, frame: Frame) -> str:
        least = self.const(self.rng.choice([-2.0, 0.0, 0.3, 5.0]), scalar=True, element=np.float32)
        return self.op("Greater", frame["scores"], least)

    def selected(self, frame: Frame) -> str:
        index = self.op("Transpose", self.op("NonZero", self.condition(frame)), perm=[1, 0])
        return self.op("Squeeze", index, self.const(1))

    def select(self, frame: Frame) -> Frame:
        if self.rng.random() < 0.5:
            return self.take(frame, self.selected(frame))
        index = self.op("Transpose", self.op("NonZero", self.condition(frame)), perm=[1, 0])
        return {role: self.op("GatherND", name, index) for role, name in frame.items()}

    def compress(self, frame: Frame) -> Frame:
        mask = self.condition(frame)
        return {role: self.op("Compress", name, mask, axis=0) for role, name in frame.items()}

    def top(self, frame: Frame) -> Frame:
        size = self.op("Concat", self.const(self.rng.choice([1, 2, 4])),
                       self.op("Shape", frame["scores"]), axis=0)  # fmt: skip
        least = self.op("ReduceMin", size, keepdims=1)
        largest = self.rng.randrange(2)
        best = self.op("TopK", frame["scores"], least, outputs=2, axis=0, largest=largest)
        others = {role: name for role, name in frame.items() if role != "scores"}
        return {**self.take(others, f"{best}:1"), "scores": best}

    def sort(self, frame: Frame) -> Frame:
        best = self.op(
            "TopK", frame["scores"], self.op("Shape", frame["scores"]), outputs=2, axis=0
        )
        others = {role: name for role, name in frame.items() if role != "scores"}
        return {**self.take(others, f"{best}:1"), "scores": best}

    def cut(self, frame: Frame) -> Frame:
        start = self.rng.choice([0, 0, 1])
        bounds = (start, start + self.rng.choice([1, 2, 4, 1 << 40]), 0)
        names = [self.const(one) for one in bounds]
        return {role: self.op("Slice", name, *names) for role, name in frame.items()}

    def suppress(self, frame: Frame) -> Frame:
        boxes = self.op("Unsqueeze", frame["boxes"], self.const(0))
        scores = self.op("Unsqueeze", frame["scores"], self.const(0, 1))
        most = self.const(self.rng.choice([2, (1 << 63) - 1]))
        thresholds = [self.const(0.4, element=np.float32)]
        if self.rng.random() < 0.5:
            thresholds.append(self.const(0.1, element=np.float32))
        found = self.op("NonMaxSuppression", boxes, scores, most, *thresholds)
        index = self.op("Gather", found, self.const(2, scalar=True), axis=1)
        if self.rng.random() < 0.5:
            bounds = [self.const(one) for one in (0, self.rng.choice([1, 3]), 0)]
            index = self.op("Slice", index, *bounds)
        return self.take(frame, index)

    def compute(self, frame: Frame) -> Frame:
        two = self.const(0.5, scalar=True, element=np.float32)
        sums = self.op("ReduceSum", frame["boxes"], self.const(1), keepdims=0)
        return {
            "boxes": self.op("Softmax", self.op("Mul", frame["boxes"], two), axis=1),
            "scores": self.op("Sub", frame["scores"], self.op("Mul", sums, two)),
            "labels": self.op("Add", frame["labels"], self.const(1, scalar=True)),
        }

    def columns(self, frame: Frame) -> Frame:
        """Writes some columns of all boxes."""
        chosen = self.rng.sample(range(4), self.rng.choice([1, 2, 4]))
        count = self.op("Shape", frame["scores"])
        rows = self.op("Range", self.const(0, scalar=True), self.op("Squeeze", count),
                       self.const(1, scalar=True))  # fmt: skip
        places = self.op("Concat", count, self.const(len(chosen)), axis=0)
        parts = [self.op("Expand", self.op("Unsqueeze", rows, self.const(1)), places),
                 self.op("Expand", self.const(*chosen), places)]  # fmt: skip
        parts = [self.op("Unsqueeze", part, self.const(2)) for part in parts]
        scores = self.op("Expand", self.op("Unsqueeze", frame["scores"], self.const(1)), places)
        index = self.op("Concat", *parts, axis=-1)
        return {**frame, "boxes": self.op("ScatterND", frame["boxes"], index, scores)}

    def count(self, frame: Frame) -> str:
        """Returns the number of rows."""
        return self.op("Gather", self.op("Shape", frame["scores"]), self.const(0, scalar=True))

    def scale(self, frame: Frame) -> Frame:
        """Divides scores by the number of rows."""
        count = self.op("Cast", self.count(frame), to=TensorProto.FLOAT)
        return {**frame, "scores": self.op("Div", frame["scores"], count)}

    def join(self, frame: Frame) -> Frame:
        other = self.rng.choice(self.frames)
        return {role: self.op("Concat", one, other[role], axis=0) for role, one in frame.items()}

    def extend(self, frame: Frame) -> Frame:
        """Adds rows of zeros."""
        some = [self.rng.randrange(2) for _ in range(2)]
        wide, narrow = self.const(some[0], 0, some[1], 0), self.const(*some)
        return {role: self.op("Pad", name, wide if role == "boxes" else narrow)
                for role, name in frame.items()}  # fmt: skip

    def number(self, frame: Frame) -> Frame:
        """Sums the labels of all rows before each, or after it."""
        attributes = {name: self.rng.randrange(2) for name in ("exclusive", "reverse")}
        axis = self.const(0, scalar=True)
        return {**frame, "labels": self.op("CumSum", frame["labels"], axis, **attributes)}

    def split(self, frame: Frame) -> Frame:
        """Makes two rows of each row."""
        wide = self.op("Concat", frame["boxes"], frame["boxes"], axis=1)
        labels = self.op("Unsqueeze", frame["labels"], self.const(1))
        pair = self.op("Slice", frame["boxes"], self.const(0), self.const(2), self.const(1))
        return {
            "boxes": self.op("Reshape", wide, self.const(-1, 4)),
            "scores": self.op("Reshape", pair, self.const(-1)),
            "labels": self.op("Reshape", self.op("Concat", labels, labels, axis=1), self.const(-1)),
        }

    def write(self, frame: Frame) -> Frame:
        """Doubles the scores of some rows."""
        index = self.selected(frame)
        some = self.op("Gather", frame["scores"], index, axis=0)
        doubled = self.op("Add", some, some)
        return {**frame, "scores": self.op("ScatterElements", frame["scores"], index, doubled)}

    def padded(self, frame: Frame) -> str:
        """Pads flattened boxes to a known number."""
        rows = self.op("Shape", frame["scores"])
        most = self.const(self.rng.choice([2, 9, 40]))
        missing = self.op("Mul", self.op("Sub", most, rows), self.const(4))
        amounts = self.op("Concat", self.const(0), missing, axis=0)
        flat = self.op("Reshape", frame["boxes"], self.const(-1))
        return self.op("Pad", flat, amounts, self.const(0.5, scalar=True, element=np.float32))

    def model(self) -> onnx.ModelProto:
        """Returns the model, whose results are values of the last frames."""
        kinds = {
            "boxes": TensorProto.FLOAT,
            "scores": TensorProto.FLOAT,
            "labels": TensorProto.INT64,
        }
        inputs = [
            helper.make_tensor_value_info(
                role, kind, [self.rows, *([4] if role == "boxes" else [])]
            )
            for role, kind in kinds.items()
        ]
        last = [self.frames[-1], *self.rng.sample(self.frames, 1)]
        names = dict.fromkeys((name, role) for frame in last for role, name in frame.items())
        chosen = [pair for pair in names if pair[0] not in kinds]
        results = [
            helper.make_tensor_value_info(
                name, kinds[role], ["n", *([4] if role == "boxes" else [])]
            )
            for name, role in chosen
        ]
        if self.rng.random() < 0.4:
            kind = TensorProto.FLOAT
            results.append(helper.make_tensor_value_info(self.padded(last[0]), kind, ["k"]))
        if self.rng.random() < 0.4:
            kind, element = self.rng.choice(
                [(TensorProto.INT64, np.int64), (TensorProto.INT32, np.int32)]
            )
            count = self.op("Cast", self.count(last[0]), to=kind)
            op = self.rng.choice(["Add", "Mul", "Sub"])
            count = self.op(op, count, self.const(2, scalar=True, element=element))
            results.append(helper.make_tensor_value_info(count, kind, []))
        graph = helper.make_graph(self.nodes, "g", inputs, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)

    def inputs(self, kind: int) -> dict[str, np.ndarray]:
        """Returns inputs: scores above, around or below all thresholds."""
        generator = np.random.default_rng(self.rng.randrange(1 << 30))
        corners = generator.random((self.rows, 2, 2)).cumsum(1).reshape(self.rows, 4)
        scores = generator.standard_normal(self.rows) + (9.0, 0.0, -9.0)[kind]
        scores = np.round(scores * 4) / 4  # with ties
        labels = generator.integers(0, 5, self.rows)
        return {"boxes": corners.astype("f4"), "scores": scores.astype("f4"), "labels": labels}


def valid_rows(results: list[np.ndarray], model: onnx.ModelProto) -> list[np.ndarray]:
    """Returns the valid rows of the results of a rewritten model."""
    noted = next((one.value for one in model.metadata_props if one.key == ROW_COUNTS), "")
    numbers = [int(one) for one in noted.split()]
    counts = {
        number: (axis, count) for number, axis, count in zip(*[iter(numbers)] * 3, strict=True)
    }
    kept: list[np.ndarray] = []
    for number, result in enumerate(results):
        if number in {count for _, count in counts.values()}:
            continue
        if number in counts:
            axis, count = counts[number]
            result = result.take(range(int(results[count])), axis)
        kept.append(result)
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="compile and run on the CPU")
    options = parser.parse_args()
    onnxruntime.set_default_logger_severity(4)
    outcomes: Counter[str] = Counter()
    for number in range(options.rounds):
        builder = Builder(random.Random(f"{options.seed} {number}"))
        for _ in range(builder.rng.randrange(1, 6)):
            builder.step()
        outcome = checked(builder, compiles=options.compile)
        outcomes[outcome.partition(":")[0]] += 1
        if not outcome.startswith("right"):
            print(f"{options.seed}-{number}: {outcome}", flush=True)
    print(dict(outcomes))
    return int(bool(outcomes["wrong"]))


def checked(builder: Builder, *, compiles: bool) -> str:
    """Returns `right`, or what differs or is refused."""
    model = builder.model()
    if not model.graph.output:
        return "right"
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        try:
            rewritten = read_model(path, counted=True)
            program = compile_model(path) if compiles else None
        except HipgraftError as error:
            return f"refused: {error.location}: {error.message}"
        for kind in range(3):
            inputs = builder.inputs(kind)
            wanted = session.run(None, inputs)
            if program:
                got = program.run(inputs)
            else:
                got = valid_rows(evaluate(rewritten, list(inputs.values())) or [], rewritten)
            for result, (one, want) in enumerate(zip(got, wanted, strict=True)):
                if one.shape != want.shape:
                    return f"wrong: result {result} has shape {one.shape} instead of {want.shape}"
                if not np.allclose(one, want, 1e-4, 1e-5):
                    return f"wrong: result {result} differs with inputs {kind}"
    return "right"


if __name__ == "__main__":
    sys.exit(main())
