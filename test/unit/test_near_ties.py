"""Rankings of elements that are almost equal, in `benchmarks/near_ties.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper
from small_onnx import F32, I64, save

from hipgraft.onnx_backend.cases import Case

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from near_ties import checked

pytestmark = pytest.mark.slow


def case_of(path: Path, elements, wanted, doubled) -> Case:
    """Takes the row with the greatest element, and doubles all elements."""
    nodes = [
        helper.make_node("ArgMax", ["x"], ["best"], name="/head/ArgMax", axis=0, keepdims=0),
        helper.make_node("Gather", ["rows", "best"], ["y"]),
        helper.make_node("Add", ["x", "x"], ["z"]),
    ]
    inputs = {"x": np.array(elements, np.float32)}
    rows = {"rows": np.array([[1.0, 2.0], [7.0, 8.0]], np.float32)}
    outputs = [("best", I64), ("y", F32), ("z", F32)]
    model = onnx.load(save(path / "m.onnx", nodes, inputs, outputs, rows))
    expected = [np.array(wanted), rows["rows"][wanted], np.array(doubled, np.float32)]
    return Case("m", model, list(inputs.values()), expected)


def test_a_near_tie_is_told(tmp_path):
    outcome = checked(case_of(tmp_path, [1.0, 1.000001], 0, [2, 2]), "cpu")
    assert outcome.kind == "near-tie"
    assert outcome.detail.startswith("/head/ArgMax: result 0:")


def test_other_elements_are_wrong(tmp_path):
    assert checked(case_of(tmp_path, [1.0, 1.5], 0, [2, 3]), "cpu").kind == "wrong"


def test_results_that_no_ranking_reaches_are_wrong(tmp_path):
    assert checked(case_of(tmp_path, [1.0, 1.000001], 0, [2, 3]), "cpu").kind == "wrong"


def test_right_results_pass(tmp_path):
    assert checked(case_of(tmp_path, [1.0, 1.000001], 1, [2, 2]), "cpu").kind == "pass"
