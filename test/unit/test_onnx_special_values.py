"""ONNX's elementwise operators on NaN, infinities and zeros, against two other implementations."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import onnx
import pytest
from benchmark_modules import benchmark
from onnx import TensorProto, defs, helper

import hipgraft

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::RuntimeWarning")]

VALUES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 0.25, 100.0, -100.0, 1e4, -1e4]
X, Y = (np.array(one, np.float32).reshape(-1) for one in np.meshgrid(VALUES, VALUES))
FEEDS = {"x": X, "y": Y}
UNKNOWN = np.float32(12345)
ALPHAS: tuple[dict[str, float], ...] = ({}, {"alpha": 0.5}, {"alpha": -0.5})


def operands(schema: defs.OpSchema) -> int:
    """Returns the number of tensors that an operator computes with; 0 for other operators."""
    options = [one.option for one in schema.inputs]
    if options and options[0] == defs.OpSchema.FormalParameterOption.Variadic:
        return 2
    required = options.count(defs.OpSchema.FormalParameterOption.Single)
    is_plain = not schema.domain and len(schema.outputs) == 1 and not schema.deprecated
    return required if is_plain and required <= 2 else 0


def model_of(nodes: list[onnx.NodeProto], opset: int) -> onnx.ModelProto:
    size = [len(X)]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name in "xy"]
    results = [
        helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, size) for node in nodes
    ]
    graph = helper.make_graph(nodes, "g", inputs, results)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model


def agreed(node: onnx.NodeProto, opset: int) -> np.ndarray | None:
    """Returns the results of a node, `UNKNOWN` where oracles differ; None if it is invalid."""
    oracles, found = benchmark("onnx_oracles"), []
    with suppress(RuntimeError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        model = model_of([node], opset)
        found = [one(model, FEEDS) for one in (oracles.by_onnxruntime, oracles.by_reference)]
    if not found or None in found:
        return None
    (one,), (other,) = found
    if one.shape != X.shape or np.shape(other) != X.shape or one.dtype != np.float32:
        return None
    return np.where(np.isclose(one, other, 1e-4, 1e-5, equal_nan=True), one, UNKNOWN)


def draw_nodes(opset: int) -> dict[str, tuple[onnx.NodeProto, np.ndarray]]:
    """Returns each operator as a node, and what it computes; see `agreed`."""
    found: dict[str, tuple[onnx.NodeProto, np.ndarray]] = {}
    for schema in sorted(defs.get_all_schemas(), key=lambda one: one.name):
        count = operands(schema)
        for number, attributes in enumerate(ALPHAS if "alpha" in schema.attributes else [{}]):
            name = f"{schema.name}{number}"
            node = helper.make_node(schema.name, ["x", "y"][:count], [name], **attributes)
            expected = agreed(node, opset) if count else None
            if expected is not None and "Random" not in name:
                found[name] = (node, expected)
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("opset", [13, 22])
def test_special_values(tmp_path, opset):
    found = draw_nodes(opset)
    assert len(found) > 40
    path = tmp_path / "m.onnx"
    onnx.save(model_of([node for node, _ in found.values()], opset), path)
    results = hipgraft.compile(path, "cpu").run([X, Y])
    for name, result, (_, expected) in zip(found, results, found.values(), strict=True):
        known = expected != UNKNOWN
        np.testing.assert_allclose(
            result[known], expected[known], rtol=1e-4, atol=1e-5, err_msg=name
        )
