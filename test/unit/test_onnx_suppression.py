"""Boxes that are selected by their scores and overlaps, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from small_onnx import F32, I64, check, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow


def drawn_boxes(batches: int, classes: int, count: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    boxes = draw.uniform(0, 4, (batches, count, 4)).astype(np.float32)
    scores = np.round(draw.uniform(0, 1, (batches, classes, count)), 1)  # some are equal
    return {"boxes": boxes, "scores": scores.astype(np.float32)}


def sized(path, rows: int):
    """Declares the number of rows of the result."""
    model = onnx.load(path)
    shape = model.graph.output[0].type.tensor_type.shape
    for dim, extent in zip(shape.dim, (rows, 3), strict=True):
        dim.dim_value = extent
    onnx.save(model, path)
    return path


@pytest.mark.sampled(24)
@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize(("most", "overlap", "score"), [(3, 0.2, 0.35), (9, 0.6, None), (2, 0, 0)])
def test_a_known_number_of_boxes(tmp_path, center, most, overlap, score):
    inputs = drawn_boxes(2, 2, 8)
    limits = {"most": np.array([most]), "overlap": np.array([overlap], np.float32)}
    if score is not None:
        limits["score"] = np.array([score], np.float32)
    node = helper.make_node(
        "NonMaxSuppression", ["boxes", "scores", *limits], ["y"], center_point_box=center
    )
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", I64)], limits)
    check(sized(path, len(selected(path, inputs))), inputs)


def selected(path, inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


@pytest.mark.thorough
def test_limits_that_are_inputs(tmp_path):
    inputs = drawn_boxes(1, 2, 6) | {"most": np.array(2), "overlap": np.array([0.5], np.float32)}
    node = helper.make_node("NonMaxSuppression", list(inputs), ["y"])
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", I64)])
    check(sized(path, len(selected(path, inputs))), inputs)


def test_what_reads_an_unknown_number_of_boxes(tmp_path):
    """Marks the selected boxes of each batch, and sums their coordinates."""
    inputs = drawn_boxes(2, 2, 6)
    constants = {
        "most": np.array([3]),
        "overlap": np.array([0.3], np.float32),
        "first": np.array([0, 2]),
        "none": np.zeros((2, 6, 4), np.float32),
    }
    nodes = [
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["chosen"]),
        helper.make_node("Gather", ["chosen", "first"], ["at"], axis=1),
        helper.make_node("GatherND", ["boxes", "at"], ["rows"]),
        helper.make_node("ScatterND", ["none", "at", "rows"], ["kept"]),
        helper.make_node("ReduceSum", ["rows"], ["total"]),
    ]
    path = save(tmp_path / "m.onnx", nodes, inputs, [("kept", F32), ("total", F32)], constants)
    check(path, inputs)


def test_an_unknown_number_that_is_a_result(tmp_path):
    inputs = drawn_boxes(1, 2, 6)
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most"], ["y"], name="nms")
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", I64)], {"most": np.array([3])})
    check(path, inputs)


def test_too_many_boxes(tmp_path):
    inputs = drawn_boxes(1, 1, 1100)
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most"], ["y"], name="nms")
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", I64)], {"most": np.array([1100])})
    with pytest.raises(HipgraftError, match="'NonMaxSuppression' of up to 1100 boxes of a class"):
        frontends.load(path)
