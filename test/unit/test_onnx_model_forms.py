"""Forms of models that ONNX allows but exporters rarely write, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from small_onnx import F32, check, drawn, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow


def untyped(path, nodes, inputs, outputs, constants=()):
    """Saves a model that declares no types of its results, and returns it."""
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in inputs.items()
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(nodes, "g", infos, results, constants)
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def sparse(name: str, indices) -> onnx.SparseTensorProto:
    values = helper.make_tensor(name, F32, [2], [3.0, 5.0])
    places = np.array(indices)
    at = helper.make_tensor("at", TensorProto.INT64, places.shape, places.reshape(-1))
    return helper.make_sparse_tensor(values, at, [2, 3])


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]])
def test_sparse_initializers(tmp_path, indices):
    inputs = {"x": drawn(2, 3)}
    path = untyped(tmp_path / "m.onnx", [helper.make_node("Add", ["x", "w"], ["y"])], inputs, "y")
    model = onnx.load(path)
    model.graph.sparse_initializer.append(sparse("w", indices))
    onnx.save(model, path)
    check(path, inputs)


def test_sparse_constants(tmp_path):
    inputs = {"x": drawn(2, 3)}
    nodes = [
        helper.make_node("Constant", [], ["w"], sparse_value=sparse("w", [1, 5])),
        helper.make_node("Add", ["x", "w"], ["y"]),
    ]
    check(save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)]), inputs)


@pytest.mark.parametrize("indices", [[1, 6], [1, -1], [[0, 1], [2, 0]]])
def test_indices_outside_of_a_sparse_tensor(tmp_path, indices):
    nodes = [helper.make_node("Constant", [], ["y"], sparse_value=sparse("w", indices))]
    path = untyped(tmp_path / "m.onnx", nodes, {"x": drawn(2, 3)}, "y")
    with pytest.raises(HipgraftError, match="malformed sparse tensor 'w'") as error:
        frontends.read(path)
    assert error.value.location.endswith("m.onnx")


def test_results_that_are_inputs_and_constants(tmp_path):
    inputs = {"x": drawn(3)}
    constants = [numpy_helper.from_array(drawn(2), "w")]
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    check(untyped(tmp_path / "m.onnx", nodes, inputs, "yxw", constants), inputs)


def test_a_result_whose_type_is_told_without_its_shape(tmp_path):
    inputs = {"x": drawn(3)}
    path = save(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], inputs, [("y", F32)])
    model = onnx.load(path)
    model.graph.value_info.append(helper.make_tensor_value_info("y", F32, None))
    onnx.save(model, path)
    check(path, inputs)


def test_what_reads_a_group_normalization(tmp_path):
    """ONNX does not infer its type, and the resize needs the shape."""
    inputs = {"x": drawn(1, 4, 3, 3), "s": drawn(4), "b": drawn(4)}
    nodes = [
        helper.make_node("GroupNormalization", ["x", "s", "b"], ["n"], num_groups=2),
        helper.make_node("Resize", ["n", "", "", "size"], ["y"], mode="cubic", exclude_outside=1),
    ]
    size = [numpy_helper.from_array(np.array([1, 4, 5, 7]), "size")]
    check(untyped(tmp_path / "m.onnx", nodes, inputs, "y", size), inputs, tolerance=1e-4)


def test_branches_that_name_values_alike(tmp_path):
    inputs = {"c": np.array(True), "x": drawn(3)}
    branches = {
        f"{branch}_branch": helper.make_graph(
            [helper.make_node(op, ["x"], ["t"]), helper.make_node("Add", ["t", "x"], ["u"])],
            branch,
            [],
            [helper.make_tensor_value_info("u", F32, [3])],
        )
        for branch, op in (("then", "Neg"), ("else", "Exp"))
    }
    nodes = [helper.make_node("If", ["c"], ["y"], **branches)]
    check(untyped(tmp_path / "m.onnx", nodes, inputs, "y"), inputs)
