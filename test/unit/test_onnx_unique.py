"""Different elements, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from small_onnx import F32, I64, check, save

from hipgraft.frontends import read
from hipgraft.ir.diagnostics import HipgraftError


@pytest.mark.sampled(8)
@pytest.mark.parametrize("values", [[3, 1, 3, 2, 1, 1, 0], [5], [2, 2, 2]])
@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("element", ["f4", "i8"])
def test_different_elements(tmp_path, values, is_sorted, element):
    node = helper.make_node("Unique", ["x"], ["y", "i", "v", "c"], sorted=is_sorted)
    inputs = {"x": np.array(values, element)}
    kind = F32 if element == "f4" else I64
    results = [("y", kind), ("i", I64), ("v", I64), ("c", I64)]
    check(save(tmp_path / "m.onnx", [node], inputs, results), inputs)


def test_elements_of_a_matrix(tmp_path):
    node = helper.make_node("Unique", ["x"], ["y", "", "v"])
    inputs = {"x": np.array([[2.0, 1, 2], [0, 0, 1]], np.float32)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32), ("v", I64)]), inputs)


def test_too_many_pairs(tmp_path):
    node = helper.make_node("Unique", ["x"], ["y", "", "", "c"], name="u")
    inputs = {"x": np.zeros(9000, np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32), ("c", I64)])
    with pytest.raises(HipgraftError, match="'Unique' of 9000 elements") as caught:
        read(path)
    assert "u (Unique)" in caught.value.location
