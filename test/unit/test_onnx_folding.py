"""Constant operands whose results ONNX's reference implementation gets wrong, so nothing folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from benchmark_modules import benchmark
from onnx import TensorProto, helper
from small_onnx import F32, drawn, save

from hipgraft.frontends.onnx.model import read_model

I64 = TensorProto.INT64
NAN = np.array([[2.0, np.nan, 3.0], [-1.0, np.inf, np.nan]], np.float32)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "element"),
    [
        ("RNN", [drawn(4, 2, 2), drawn(1, 1, 2), drawn(1, 1, 1), None, np.int32([4, 1])],
         {"hidden_size": 1}, F32),
        ("LSTM", [drawn(3, 2, 2), drawn(1, 4, 2), drawn(1, 4, 1), None, np.int32([3, 1])],
         {"hidden_size": 1}, F32),
        ("GRU", [drawn(3, 2, 2), drawn(1, 3, 2), drawn(1, 3, 1), None, np.int32([3, 1])],
         {"hidden_size": 1}, F32),
        ("LogSoftmax", [np.array([[0.0, 1e4], [2.0, 1.0]], np.float32)], {}, F32),
        ("ArgMax", [NAN], {"axis": 1}, I64),
    ],
)  # fmt: skip
def test_constants(
    tmp_path: Path,
    op: str,
    operands: list[np.ndarray | None],
    attributes: dict[str, int],
    element: int,
) -> None:
    names = ["" if one is None else f"c{index}" for index, one in enumerate(operands)]
    constants = {n: one for n, one in zip(names, operands, strict=True) if one is not None}
    node = helper.make_node(op, names, ["y"], **attributes)
    path = save(tmp_path / "m.onnx", [node], {}, [("y", element)], constants, opset=17)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {})
    results = benchmark("differential").evaluate(read_model(path), [])
    np.testing.assert_allclose(results[0], wanted, rtol=1e-5, atol=1e-6)
