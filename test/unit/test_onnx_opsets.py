"""Models of old opsets, whose operators mean something else, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from small_onnx import F32, check, drawn, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.usefixtures("shared_worker")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize(
    ("operator", "opset", "scales"),
    [
        ("Upsample", 9, [1, 1, 2, 3]),
        ("Upsample", 9, [1, 1, 1.5, 2.4]),
        ("Resize", 10, [1, 1, 1.5, 2.4]),
        ("Resize", 10, [1, 1, 0.6, 0.5]),
    ],
)
def test_resizing(tmp_path, operator, opset, scales, mode):
    node = helper.make_node(operator, ["x", "s"], ["y"], mode=mode)
    inputs, constants = {"x": drawn(1, 3, 5, 6)}, {"s": np.array(scales, np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants, opset=opset)
    check(path, inputs)


def test_scales_that_are_an_attribute(tmp_path):
    node = helper.make_node("Upsample", ["x"], ["y"], mode="linear", scales=[1.0, 1.0, 2.0, 3.0])
    inputs = {"x": drawn(1, 3, 5, 6)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], opset=7), inputs)


def test_resizing_both_ways_to_the_nearest_is_refused(tmp_path):
    node = helper.make_node("Resize", ["x", "s"], ["y"], name="both")
    inputs, constants = {"x": drawn(1, 3, 4, 4)}, {"s": np.array([1, 1, 0.5, 2], np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants, opset=10)
    with pytest.raises(HipgraftError, match="shrinks one dimension and grows another") as error:
        frontends.read(path)
    assert error.value.location == "m.onnx:both"
