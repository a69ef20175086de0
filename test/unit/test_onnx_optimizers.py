"""Steps of optimizers against ONNX's reference implementation."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator
from small_onnx import drawn, results_of

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

DOMAIN = "ai.onnx.preview.training"
SETTINGS = {
    "Adagrad": {"norm_coefficient": 0.01, "epsilon": 1e-5, "decay_factor": 0.1},
    "Adam": {"norm_coefficient": 0.01, "norm_coefficient_post": 0.1, "beta": 0.9},
    "Momentum": {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 0.8, "mode": "nesterov"},
}


def model(path, op, inputs, names, results, **settings):
    node = helper.make_node(op, names, results, domain=DOMAIN, **settings)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in inputs.items()
    ]
    outputs = [helper.make_tensor_value_info(name, 1, [3, 4]) for name in results]
    graph = helper.make_graph([node], "g", infos, outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(DOMAIN, 1)])
    made.ir_version = 10
    onnx.save(made, path)
    return path


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("op", SETTINGS)
def test_step(tmp_path, op, count):
    kinds = 4 if op == "Adam" else 3
    tensors = np.split(drawn(3 * kinds, 4), kinds)
    tensors[-1] = np.abs(tensors[-1])  # squares
    operands = {"r": np.float32(0.1), "t": np.int64(count)}
    operands |= {f"x{index}": tensor for index, tensor in enumerate(tensors)}
    inputs = {name: np.asarray(one) for name, one in operands.items()}
    results = [f"y{index}" for index in range(kinds - 1)]
    path = model(tmp_path / "m.onnx", op, inputs, list(inputs), results, **SETTINGS[op])
    found = results_of(path, list(inputs.values()))
    wanted = ReferenceEvaluator(onnx.load(path)).run(None, inputs)
    for one, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-5, atol=1e-6)


def test_gradients_are_refused(tmp_path):
    inputs = {"x": drawn(3, 4)}
    path = model(tmp_path / "m.onnx", "Gradient", inputs, ["x"], ["y"], xs=["x"], y="x")
    with pytest.raises(HipgraftError, match="Gradient' is not supported"):
        frontends.load(path)
