"""Models of old opsets, in which operators have other semantics, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper
from small_onnx import F32, check, drawn, results_of, save

from hipgraft import frontends
from hipgraft.frontends.onnx.model import read_model
from hipgraft.ir.diagnostics import HipgraftError

I32 = TensorProto.INT32

pytestmark = pytest.mark.slow


@pytest.mark.sampled(6)
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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_hardmax(tmp_path, axis):
    node = helper.make_node("Hardmax", ["x"], ["y"], **({} if axis is None else {"axis": axis}))
    inputs = {"x": drawn(3, 5, 2)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], opset=11), inputs)


def test_bodies(tmp_path):
    """Upgraded like the model itself."""
    inputs = {"c": np.array(True), "x": drawn(1, 3, 4, 5)}
    bodies = [
        helper.make_graph(
            [helper.make_node("Upsample", ["x"], [mode], mode=mode, scales=[1.0, 1.0, 2.0, 2.0])],
            mode,
            [],
            [helper.make_tensor_value_info(mode, F32, None)],
        )
        for mode in ("linear", "nearest")
    ]
    node = helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], opset=7)
    for condition in (True, False):
        check(path, {**inputs, "c": np.array(condition)})


def test_resizing_both_ways_to_the_nearest_is_refused(tmp_path):
    node = helper.make_node("Resize", ["x", "s"], ["y"], name="both")
    inputs, constants = {"x": drawn(1, 3, 4, 4)}, {"s": np.array([1, 1, 0.5, 2], np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants, opset=10)
    with pytest.raises(HipgraftError, match="shrinks one dimension and grows another") as error:
        frontends.read(path)
    assert error.value.location == "m.onnx:both"


def test_constants_are_folded_once_upgraded(tmp_path):
    node = helper.make_node("ReduceSumSquare", ["c"], ["y"], keepdims=0)
    constants = {"c": np.array([11, 2], np.int32)}
    path = save(tmp_path / "m.onnx", [node], {}, [("y", I32)], constants, opset=12)
    assert not [a for n in read_model(path).graph.node for a in n.attribute if a.HasField("g")]
    check(path, {})


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("x", "slope"), [((2, 3, 3), 3), ((2, 3, 4, 5), 3), ((2, 3), 3), ((2, 3, 4), 1)]
)
def test_slopes_of_prelu_are_of_channels(tmp_path, x, slope, constant):
    """Up to opset 6; onnxruntime supports none of these."""
    inputs, slopes = {"x": drawn(*x)}, {"s": -1 - np.abs(drawn(slope))}
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    given = inputs if constant else inputs | slopes
    constants = slopes if constant else {}
    path = save(tmp_path / "m.onnx", [node], given, [("y", F32)], constants, opset=6)
    (found,) = results_of(path, list(given.values()))
    factors = slopes["s"].reshape(-1, *[1] * (len(x) - 2))
    wanted = np.where(inputs["x"] < 0, inputs["x"] * factors, inputs["x"])
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_slopes_in_a_branch_are_of_channels(tmp_path):
    """The branch reads values of the graph around it."""
    x, slopes = drawn(2, 3, 4), {"s": -1 - np.abs(drawn(3))}
    made = helper.make_tensor_value_info("r", F32, x.shape)
    bodies = [
        helper.make_graph([helper.make_node(*operator)], "b", [], [made])
        for operator in (("PRelu", ["x", "s"], ["r"]), ("Neg", ["x"], ["r"]))
    ]
    node = helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
    inputs = {"x": x, "c": np.array(True)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], slopes, opset=6)
    (found,) = results_of(path, list(inputs.values()))
    np.testing.assert_allclose(found, np.where(x < 0, x * slopes["s"].reshape(3, 1), x), rtol=1e-6)


def test_slopes_of_operands_of_unknown_ranks_are_refused(tmp_path):
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        helper.make_node("PRelu", ["r", "s"], ["y"], name="p"),
    ]
    inputs = {"x": drawn(2, 3), "shape": np.array([2, 3])}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)], {"s": drawn(3)}, opset=6)
    with pytest.raises(HipgraftError, match="needs operands of known ranks") as error:
        frontends.read(path)
    assert str(error.value.location).startswith("m.onnx:p")


NORM = ["x", "scale", "bias", "mean", "variance"]


def statistics(*shape: int) -> dict[str, np.ndarray]:
    names = ["scale", "bias", "mean", "variance"]
    return {name: np.abs(drawn(*shape)) + index for index, name in enumerate(names)}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("opset", [7, 8, 9, 13, 14, 15])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 5)])
def test_batch_norms(tmp_path, opset, shape):
    node = helper.make_node("BatchNormalization", NORM, ["y"], epsilon=1e-2)
    inputs = {"x": drawn(*shape)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], statistics(3), opset=opset)
    check(path, inputs)


@pytest.mark.parametrize("opset", [7, 8])
@pytest.mark.parametrize("constant", [True, False])
def test_batch_norms_of_each_element(tmp_path, opset, constant):
    node = helper.make_node("BatchNormalization", NORM, ["y"], spatial=0)
    given = statistics(3, 4)
    inputs = {"x": drawn(2, 3, 4)} | ({} if constant else given)
    constants = given if constant else {}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants, opset=opset)
    check(path, inputs)


@pytest.mark.parametrize("opset", [14, 15])
def test_batch_norms_in_training(tmp_path, opset):
    results = ["y", "new_mean", "new_variance"]
    node = helper.make_node("BatchNormalization", NORM, results, training_mode=1, momentum=0.7)
    inputs = {"x": drawn(2, 3, 4, 5)} | statistics(3)
    outputs = [(name, F32) for name in results]
    check(save(tmp_path / "m.onnx", [node], inputs, outputs, opset=opset), inputs)
