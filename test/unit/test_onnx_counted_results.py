"""Results of ONNX models whose number of rows depends on values, against onnxruntime."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from benchmark_modules import benchmark
from onnx import TensorProto, helper
from small_onnx import F32, I64, check, save

import hipgraft
from hipgraft.frontends.onnx.model import read_model
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.bundle import Bundle

X = np.array([[1.0, -2, 3], [-4, 5, 6]], np.float32)
BOXES = np.array([[0, 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 7, 7], [0, 4, 1, 5]], np.float32)
SCORES = np.array([0.5, 0.9, 0.3, 0.7], np.float32)

node = helper.make_node


def saved_selection(folder: Path) -> Path:
    """Positive elements, and where they are."""
    nodes = [
        node("Greater", ["x", "zero"], ["mask"]),
        node("NonZero", ["mask"], ["places"], name="select"),
        node("Transpose", ["places"], ["points"]),
        node("GatherND", ["x", "points"], ["values"]),
    ]
    results = [("values", F32), ("places", I64)]
    return save(folder / "m.onnx", nodes, {"x": X}, results, {"zero": np.float32(0)})


@pytest.mark.parametrize("values", [X, np.abs(X), -np.abs(X)])
def test_selected_elements(tmp_path, values):
    check(saved_selection(tmp_path), {"x": values})


def test_the_last_selected_row(tmp_path):
    """Numbers that count from the end count from the last row that there is."""
    nodes = [
        node("Greater", ["scores", "least"], ["mask"]),
        node("Compress", ["boxes", "mask"], ["rows"], axis=0),
        node("Gather", ["rows", "number"], ["y"]),
    ]
    constants = {"least": np.float32(0.6), "number": np.array(-1)}
    inputs = {"boxes": BOXES, "scores": SCORES[::-1].copy()}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)], constants), inputs)


@pytest.mark.parametrize("values", [X, np.abs(X), -np.abs(X)])
def test_the_number_of_selected_elements(tmp_path, values):
    """As detectors return the number of boxes of each image."""
    nodes = [
        node("Greater", ["x", "zero"], ["mask"]),
        node("NonZero", ["mask"], ["places"], name="select"),
        node("Shape", ["places"], ["extents"]),
        node("Cast", ["extents"], ["numbers"], to=TensorProto.INT32),
        node("Add", ["numbers", "numbers"], ["twice"]),
    ]
    results = [("extents", I64), ("twice", TensorProto.INT32)]
    path = save(tmp_path / "m.onnx", nodes, {"x": X}, results, {"zero": np.float32(0)})
    check(path, {"x": values})


@pytest.mark.parametrize("is_reversed", [False, True])
def test_columns_of_selected_rows(tmp_path, is_reversed):
    """As PyTorch exports `rows[:, 2:] = rows[:, :2]`; other rows must not be written."""
    nodes = [
        node("Greater", ["scores", "least"], ["mask"]),
        node("Compress", ["boxes", "mask"], ["rows"], axis=0),
        node("Gather", ["rows", "first"], ["corners"], axis=1),
        node("Shape", ["rows"], ["count"], end=1),
        node("Squeeze", ["count"], ["end"]),
        node("Range", ["zero", "end", "one"], ["numbers"]),
        node("Sub", ["zero", "numbers"], ["negative"]),
        node("Unsqueeze", ["negative" if is_reversed else "numbers", "at_1"], ["line"]),
        node("Shape", ["corners"], ["extents"]),
        node("Expand", ["line", "extents"], ["row"]),
        node("Expand", ["last", "extents"], ["column"]),
        node("Unsqueeze", ["row", "at_2"], ["row_at"]),
        node("Unsqueeze", ["column", "at_2"], ["column_at"]),
        node("Concat", ["row_at", "column_at"], ["index"], axis=-1),
        node("ScatterND", ["rows", "index", "corners"], ["y"]),
    ]
    constants = {
        "least": np.float32(0.4),
        "first": np.array([0, 1]),
        "last": np.array([2, -1]),
        "zero": np.array(0),
        "one": np.array(1),
        "at_1": np.array([1]),
        "at_2": np.array([2]),
    }
    inputs = {"boxes": BOXES, "scores": SCORES}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)], constants)
    if is_reversed:
        with pytest.raises(HipgraftError, match="ScatterND"):
            read_model(path, counted=True)
    else:
        check(path, inputs)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    with hipgraft.compile(saved_selection(tmp_path_factory.mktemp("selection")), "cpu") as made:
        yield made


def test_outputs_have_all_positions(program):
    """Results that the caller allocates have a row for each position, and their number."""
    outputs = [np.ones(6, np.float32), np.ones((2, 6), np.int64), np.ones([], np.int64)]
    program.run([X], outputs=outputs)
    np.testing.assert_array_equal(outputs[0], [1, 3, 5, 6, 0, 0])
    np.testing.assert_array_equal(outputs[1], [[0, 0, 1, 1, 0, 0], [0, 2, 1, 2, 0, 0]])
    assert outputs[2] == 4
    assert [one.name for one in program.recording("cpu").results] == [
        "values",
        "places",
        "values.rows",
    ]


def test_results_have_names(program):
    results = program.run_named([X])
    assert list(results) == ["values", "places"]
    np.testing.assert_array_equal(results["values"], [1, 3, 5, 6])


def test_a_bundle_knows_the_numbers(program, tmp_path):
    program.save_bundle(tmp_path / "b.hgb")
    with Bundle(tmp_path / "b.hgb") as bundle:
        np.testing.assert_array_equal(bundle.run([X])[0], [1, 3, 5, 6])


def test_hosts_that_allocate_results_refuse_them(tmp_path):
    """Unless it is asked for, no result has more rows than the model's."""
    with pytest.raises(HipgraftError, match="shape of its result depends on values") as caught:
        read_model(saved_selection(tmp_path))
    assert "select" in caught.value.location


def saved_detector(folder: Path, *, threshold: float) -> Path:
    """As torchvision exports it: nothing is suppressed if there are no boxes."""
    empty = helper.make_graph(
        [node("Constant", [], ["none"], value=onnx.numpy_helper.from_array(np.zeros(0, np.int64)))],
        "empty",
        [],
        [helper.make_tensor_value_info("none", I64, None)],
    )
    other = helper.make_graph(
        [
            node("Unsqueeze", ["some", "first"], ["boxes1"]),
            node("Unsqueeze", ["certain", "two"], ["scores1"]),
            node("NonMaxSuppression", ["boxes1", "scores1", "many", "overlap"], ["found"]),
            node("Gather", ["found", "column"], ["numbers"], axis=1),
            node("Squeeze", ["numbers", "one"], ["kept"]),
        ],
        "other",
        [],
        [helper.make_tensor_value_info("kept", I64, None)],
    )
    nodes = [
        node("Greater", ["scores", "threshold"], ["mask"]),
        node("NonZero", ["mask"], ["places"]),
        node("Squeeze", ["places", "first"], ["index"]),
        node("Gather", ["boxes", "index"], ["some"]),
        node("Gather", ["scores", "index"], ["certain"]),
        node("Shape", ["some"], ["shape"]),
        node("ReduceProd", ["shape"], ["size"], keepdims=0),
        node("Equal", ["size", "zero"], ["is_empty"]),
        node("If", ["is_empty"], ["keep"], then_branch=empty, else_branch=other),
        node("Slice", ["keep", "first", "most", "first"], ["best"]),
        node("Gather", ["some", "best"], ["y"]),
        node("Gather", ["certain", "best"], ["z"]),
    ]
    constants = {
        "threshold": np.float32(threshold),
        "first": np.array([0]),
        "one": np.array([1]),
        "two": np.array([0, 1]),
        "most": np.array([2]),
        "zero": np.array(0),
        "many": np.array([(1 << 63) - 1]),
        "overlap": np.array([0.5], np.float32),
        "column": np.array([2]),
    }
    inputs = {"boxes": BOXES, "scores": SCORES}
    return save(folder / "m.onnx", nodes, inputs, [("y", F32), ("z", F32)], constants)


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.1, 0.6, 0.8, 2.0])
def test_detected_boxes(tmp_path, threshold):
    check(saved_detector(tmp_path, threshold=threshold), {"boxes": BOXES, "scores": SCORES})


@pytest.mark.parametrize("start", range(0, 60, 12))
def test_random_rows(start):
    """Fixed rounds of the search; see `benchmarks/random_rows.py`."""
    onnxruntime.set_default_logger_severity(4)
    search = benchmark("random_rows")
    outcomes = []
    for number in range(start, start + 12):
        builder = search.Builder(random.Random(f"0 {number}"))
        for _ in range(builder.rng.randrange(1, 6)):
            builder.step()
        outcomes.append(search.checked(builder, compiles=False))
    assert not [one for one in outcomes if one.startswith("wrong")]
    assert outcomes.count("right") > 9


@pytest.mark.parametrize("noted", ["array<i64: 0, 1>", "array<i64: 9, 0, 2>", '"all"'])
def test_malformed_counts(program, tmp_path, noted):
    path = tmp_path / "m.mlir"
    program.save(path)
    text = path.read_text()
    start = text.index("hipgraft.row_counts = ") + len("hipgraft.row_counts = ")
    end = text.index(">", start) + 1
    path.write_text(text[:start] + noted + text[end:])
    with pytest.raises(HipgraftError, match=r"row_counts|result"):
        hipgraft.compile(path, "cpu").run([X])
