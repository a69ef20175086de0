"""Selected rows that are quantised by the range of all of them, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from small_onnx import F32, check, drawn, save

pytestmark = pytest.mark.slow

CONSTANTS = {
    "w": np.random.default_rng(1).integers(-64, 65, (4, 3)).astype(np.int8),
    "wz": np.array(3, np.int8),
    "ws": np.array(0.02, np.float32),
    "last": np.array([1]),
    "none": np.zeros((6, 3), np.float32),
}
NODES = [
    helper.make_node("NonZero", ["mask"], ["found"]),
    helper.make_node("Transpose", ["found"], ["at"], perm=[1, 0]),
    helper.make_node("GatherND", ["x", "at"], ["rows"]),
    helper.make_node("DynamicQuantizeLinear", ["rows"], ["q", "s", "z"]),
    helper.make_node("MatMulInteger", ["q", "w", "z", "wz"], ["whole"]),
    helper.make_node("Cast", ["whole"], ["product"], to=F32),
    helper.make_node("Mul", ["s", "ws"], ["scale"]),
    helper.make_node("Mul", ["product", "scale"], ["scaled"]),
    helper.make_node("ScatterND", ["none", "at", "scaled"], ["y"]),
]


@pytest.mark.parametrize("mask", ["010110", "111111"])
def test_rows_quantized_by_their_range(tmp_path, mask):
    inputs = {"x": drawn(6, 4), "mask": np.array([one == "1" for one in mask])}
    inputs["x"][0] *= 9  # a row that is not selected by the first mask
    check(save(tmp_path / "m.onnx", NODES, inputs, [("y", F32)], CONSTANTS), inputs)


def test_no_row(tmp_path):
    """onnxruntime quantises no rows by a range of zero."""
    inputs = {"x": drawn(6, 4), "mask": np.zeros(6, np.bool_)}
    check(save(tmp_path / "m.onnx", NODES, inputs, [("y", F32)], CONSTANTS), inputs)
