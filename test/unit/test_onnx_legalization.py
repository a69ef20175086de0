"""ONNX operators that torch-mlir or IREE lower wrongly or not at all, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from small_onnx import F32, I64, check, drawn, results_of, save

import hipgraft
from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("amounts", [[0, 1, -1, 0, -1, 2], [0, -2, 3, 0, 1, -4]])
def test_pad_by_amounts_of_both_signs(tmp_path, amounts):
    node = helper.make_node("Pad", ["x", "p", "v"], ["y"])
    constants = {"p": np.array(amounts), "v": np.float32(3)}
    inputs = {"x": drawn(1, 5, 6)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants), inputs)


PADDINGS = [
    # What is cropped is not repeated.
    ("wrap", (4,), [2, -1]),
    ("wrap", (3, 4), [-1, 2, 1, 0]),
    ("wrap", (3, 4), [4, 0, 0, 9]),
    ("reflect", (2, 5), [0, -1, 0, 2]),
    # torch pads up to three dimensions, the last of several.
    ("edge", (4,), [1, 2]),
    ("edge", (2, 2, 3, 4), [1, 1, 1, 1, 0, 0, 1, 2]),
    ("edge", (1, 2, 2, 3, 4), [0, 0, 1, 1, 1, 0, 0, 1, 0, 2]),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("mode", "shape", "amounts"), PADDINGS)
def test_repeated_elements(tmp_path, mode, shape, amounts):
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)
    inputs, constants = {"x": drawn(*shape)}, {"p": np.array(amounts)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants), inputs)


def test_edges_of_dynamic_images(tmp_path):
    kind = helper.make_tensor_value_info("x", F32, ["n", 2, 3, 4])
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode="edge")
    amounts = helper.make_tensor("p", I64, [8], [0, 0, 1, 0, 0, 0, 0, 2])
    result = helper.make_tensor_value_info("y", F32, ["n", 2, 4, 6])
    graph, path = helper.make_graph([node], "g", [kind], [result], [amounts]), tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), path)
    inputs = drawn(3, 2, 3, 4)
    (found,) = results_of(path, [inputs])
    expected = np.pad(inputs, [(0, 0), (0, 0), (1, 0), (0, 2)], mode="edge")
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("mode", ["wrap", "edge", "reflect"])
@pytest.mark.parametrize("amounts", [[0, -4, 0, 2], [0, 2, 0, -4]])
def test_no_elements_are_left_to_repeat(tmp_path, mode, amounts):
    node = helper.make_node("Pad", ["x", "p"], ["y"], mode=mode)
    constants = {"p": np.array(amounts)}
    path = save(tmp_path / "m.onnx", [node], {"x": drawn(3, 4)}, [("y", F32)], constants)
    with pytest.raises(HipgraftError, match="repeats elements of axis 1, which are all cropped"):
        hipgraft.compile(path, target="cpu")


@pytest.mark.parametrize(("shape", "places", "batches"), [((3, 4), (2, 3), 0), ((3, 4), (3, 2), 1)])
def test_gather_at_no_indices_selects_the_whole_tensor(tmp_path, shape, places, batches):
    """torch-mlir's importer crashes on it, and onnxruntime refuses it."""
    node = helper.make_node("GatherND", ["x", "i"], ["y"], batch_dims=batches)
    inputs, constants = {"x": drawn(*shape)}, {"i": np.zeros((*places, 0), np.int64)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants)
    (found,) = results_of(path, list(inputs.values()))
    ones = (1,) * (len(places) - batches)
    wide = inputs["x"].reshape(*shape[:batches], *ones, *shape[batches:])
    np.testing.assert_array_equal(found, np.broadcast_to(wide, (*places, *shape[batches:])))


@pytest.mark.parametrize(
    "op", ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"]
)
@pytest.mark.parametrize("shape", [(3, 4), (1, 2, 1)])
def test_reductions_over_no_axes_compute_the_other_steps(tmp_path, op, shape):
    node = helper.make_node(op, ["x"], ["y"], noop_with_empty_axes=1)
    inputs = {"x": drawn(*shape)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


@pytest.mark.parametrize("places", [(), (3,), (2, 0), (1, 2)])
def test_updates_at_no_indices_replace_the_whole_tensor(tmp_path, places):
    node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"])
    inputs = {"x": drawn(3, 4), "u": drawn(*places, 3, 4) + 1}
    constants = {"i": np.zeros((*places, 0), np.int64)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants)
    (found,) = results_of(path, list(inputs.values()))
    updates = [inputs["x"], *inputs["u"].reshape(-1, 3, 4)]
    np.testing.assert_array_equal(found, updates[-1])


def test_combined_whole_tensors_are_refused(tmp_path):
    node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")
    inputs, constants = {"x": drawn(3, 4), "u": drawn(3, 4)}, {"i": np.zeros(0, np.int64)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants)
    with pytest.raises(HipgraftError, match="'ScatterND' that combines whole tensors"):
        hipgraft.compile(path, target="cpu")


@pytest.mark.parametrize("mode", ["CRD", "DCR"])
def test_depth_to_space(tmp_path, mode):
    node = helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)
    inputs = {"x": drawn(1, 64, 4, 4)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


POOLS = [
    {"kernel_shape": [8, 8], "strides": [8, 8], "ceil_mode": 1, "count_include_pad": 1},
    {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": 1},
    {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1, "pads": [1, 0, 0, 0]},
    {"kernel_shape": [2, 3], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [2, 3], "strides": [2, 2], "auto_pad": "SAME_LOWER", "count_include_pad": 1},
    {"kernel_shape": [2, 2], "dilations": [2, 1], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("attributes", POOLS)
def test_average_pool(tmp_path, attributes):
    node = helper.make_node("AveragePool", ["x"], ["y"], **attributes)
    inputs = {"x": drawn(1, 2, 5, 6)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


@pytest.mark.parametrize("attributes", [one for one in POOLS if "count_include_pad" not in one])
def test_max_pool(tmp_path, attributes):
    node = helper.make_node("MaxPool", ["x"], ["y"], **attributes)
    inputs = {"x": drawn(1, 2, 5, 6)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


def test_pooling_that_needs_static_shapes_names_its_node(tmp_path):
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], ceil_mode=1, name="p")
    path = save(tmp_path / "m.onnx", [node], {"x": drawn(1, 2, 5, 6)}, [("y", F32)])
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "rows"
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "windows"
    onnx.save(model, path)
    with pytest.raises(HipgraftError, match="'AveragePool' with rounded-up extents") as error:
        frontends.read(path, dynamic=True)
    assert error.value.location == "m.onnx:p (AveragePool)"


@pytest.mark.parametrize("slope", [(), (1,), (5,), (5, 1), (5, 5), (3, 1, 1), (3, 5, 5)])
def test_slopes_of_prelu_broadcast_from_the_last_dimension(tmp_path, slope):
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    inputs = {"x": drawn(3, 5, 5)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], {"s": drawn(*slope)})
    check(path, inputs)


@pytest.mark.parametrize("shape", [(4, 2, 1, 1), (3, 1)])
def test_softmax_over_one_element(tmp_path, shape):
    node = helper.make_node("Softmax", ["x"], ["y"])
    inputs = {"x": drawn(*shape)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


def test_sigmoid_before_an_operator_that_hipdnn_lacks(tmp_path):
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["s"]),
        helper.make_node("TopK", ["s", "k"], ["y", "i"], axis=1),
    ]
    inputs = {"x": drawn(2, 16)}
    outputs = [("y", F32), ("i", I64)]
    check(save(tmp_path / "m.onnx", nodes, inputs, outputs, {"k": np.array([4])}), inputs)


def test_attention_without_its_optional_mask(tmp_path):
    names = ["q", "k", "v", "", "pk", "pv"]
    node = helper.make_node("Attention", names, ["y", "nk", "nv"])
    inputs = {name: drawn(1, 2, 4, 8) for name in names if name}
    outputs = [(name, F32) for name in ("y", "nk", "nv")]
    check(save(tmp_path / "m.onnx", [node], inputs, outputs, opset=23), inputs)


GRIDS = [
    {"mode": "nearest"},
    {"mode": "cubic", "padding_mode": "reflection"},
    {"mode": "linear", "padding_mode": "reflection", "align_corners": 1},
    {"mode": "linear", "padding_mode": "border"},
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("attributes", GRIDS)
def test_grid_sample(tmp_path, attributes):
    node = helper.make_node("GridSample", ["x", "g"], ["y"], **attributes)
    inputs = {"x": drawn(2, 3, 4, 5), "g": drawn(2, 3, 7, 2)}  # also points far outside
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs, 1e-4)


def test_windows_and_affine_grids_are_tables(tmp_path):
    nodes = [
        helper.make_node("HannWindow", ["n"], ["w"]),
        helper.make_node("AffineGrid", ["t", "s"], ["g"], align_corners=1),
    ]
    inputs = {"t": drawn(2, 2, 3)}
    constants = {"n": np.array(9), "s": np.array([2, 1, 3, 4])}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("w", F32), ("g", F32)], constants)
    check(path, inputs)


RESIZES = [
    {"mode": "nearest", "nearest_mode": "ceil"},
    {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
    {"mode": "cubic", "cubic_coeff_a": -0.5, "coordinate_transformation_mode": "asymmetric"},
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("attributes", RESIZES)
def test_resize_by_scales_that_are_inputs(tmp_path, attributes):
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], **attributes)
    inputs = {"x": drawn(1, 2, 4, 5), "s": np.array([1, 1, 1.5, 2], np.float32)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)])
    model = onnx.load(path)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [1, 2, 6, 10]))
    onnx.save(model, path)
    check(path, inputs, 1e-4)


@pytest.mark.parametrize("fmod", [0, 1])
def test_remainders_of_integers(tmp_path, fmod):
    node = helper.make_node("Mod", ["x", "y"], ["z"], fmod=fmod)
    inputs = {"x": np.array([-7, 7, -7, 7]), "y": np.array([4, -4, -4, 4])}
    check(save(tmp_path / "m.onnx", [node], inputs, [("z", I64)]), inputs)


def test_operand_that_must_be_constant_names_its_node(tmp_path):
    node = helper.make_node("Col2Im", ["x", "n", "n"], ["y"], name="image")
    inputs = {"x": drawn(1, 4, 1), "n": np.array([2, 2])}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)])
    model = onnx.load(path)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", F32, [1, 1, 2, 2]))
    onnx.save(model, path)
    with pytest.raises(HipgraftError, match="'Col2Im' with operands that are inputs") as error:
        frontends.read(path)
    assert error.value.location == "m.onnx:image (Col2Im)"


@pytest.mark.parametrize("shape", [(2, 2), (2, 1, 3, 3), (1, 1), (4, 4)])
def test_determinants_with_zeros_on_the_diagonal(tmp_path, shape):
    x = drawn(*shape)
    x[..., 0, 0] = 0
    node = helper.make_node("Det", ["x"], ["y"])
    check(save(tmp_path / "m.onnx", [node], {"x": x}, [("y", F32)]), {"x": x})


@pytest.mark.parametrize(
    ("mode", "reason"), [(True, "drops at random"), (None, "training mode is an input")]
)
def test_dropout_in_training_is_refused(tmp_path, mode, reason):
    node = helper.make_node("Dropout", ["x", "ratio", "mode"], ["y"], name="drop")
    given = {"x": drawn(2, 3)} | ({"mode": np.array(True)} if mode is None else {})
    constants = {"ratio": np.float32(0.5)} | ({} if mode is None else {"mode": np.array(mode)})
    path = save(tmp_path / "m.onnx", [node], given, [("y", F32)], constants)
    with pytest.raises(HipgraftError, match=f"'Dropout' .*{reason}") as error:
        frontends.read(path)
    assert error.value.location == "m.onnx:drop (Dropout)"


def test_strings_are_refused(tmp_path):
    node = helper.make_node("Equal", ["a", "b"], ["y"], name="same")
    inputs = [helper.make_tensor_value_info(n, onnx.TensorProto.STRING, [2]) for n in "ab"]
    result = helper.make_tensor_value_info("y", onnx.TensorProto.BOOL, [2])
    graph = helper.make_graph([node], "g", inputs, [result])
    opsets = [helper.make_opsetid("", 19)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    with pytest.raises(HipgraftError, match="'Equal' on strings"):
        frontends.read(tmp_path / "m.onnx")


@pytest.mark.parametrize(("p", "axis"), [(1, 0), (2, -1), (2, 1)])
def test_norms_of_zeros(tmp_path, p, axis):
    x = drawn(3, 4, 2)
    x[:, 1] = 0
    x[2] = 0
    node = helper.make_node("LpNormalization", ["x"], ["y"], p=p, axis=axis)
    check(save(tmp_path / "m.onnx", [node], {"x": x}, [("y", F32)]), {"x": x})


@pytest.mark.parametrize("is_nested", [False, True])
def test_mean_variance_over_the_default_axes(tmp_path, is_nested):
    """ONNX's shape inference does not know them."""
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"])
    inputs = {"x": drawn(2, 3, 4, 5)}
    if is_nested:
        result = helper.make_tensor_value_info("y", F32, [2, 3, 4, 5])
        bodies = dict.fromkeys(
            ("then_branch", "else_branch"), helper.make_graph([node], "b", [], [result])
        )
        node = helper.make_node("If", ["c"], ["z"], **bodies)
    path = save(tmp_path / "m.onnx", [node], inputs, [(node.output[0], F32)], {"c": np.array(True)})
    x = inputs["x"].astype(np.float64)
    centered = x - x.mean((0, 2, 3), keepdims=True)
    expected = centered / np.sqrt((centered**2).mean((0, 2, 3), keepdims=True))
    (found,) = results_of(path, [inputs["x"]])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [2], "p": 3},
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]},
        {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "p": 1},
    ],
)
def test_lp_pool(tmp_path, attributes):
    inputs = {"x": drawn(1, 3, *[7] * len(attributes["kernel_shape"]))}
    node = helper.make_node("LpPool", ["x"], ["y"], **attributes)
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


def test_unknown_orders_of_blocks_are_refused(tmp_path):
    node = helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=2, mode="linear")
    path = save(tmp_path / "m.onnx", [node], {"x": drawn(1, 4, 2, 2)}, [("y", F32)])
    with pytest.raises(HipgraftError, match="with mode = 'linear' is not supported"):
        frontends.read(path)


@pytest.mark.parametrize("op", ["LpPool", "GlobalLpPool"])
def test_pools_of_order_0_are_refused(tmp_path, op):
    """The number of elements has an infinite root."""
    kernel = {"kernel_shape": [3]} if op == "LpPool" else {}
    node = helper.make_node(op, ["x"], ["y"], name="pool", p=0, **kernel)
    path = save(tmp_path / "m.onnx", [node], {"x": drawn(1, 2, 3)}, [("y", F32)])
    with pytest.raises(HipgraftError, match=f"'{op}' of order 0 is not supported"):
        frontends.read(path)


def test_operators_of_other_domains_are_refused_by_name(tmp_path):
    node = helper.make_node("Binarizer", ["x"], ["y"], name="b", domain="ai.onnx.ml")
    values = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    opsets = [helper.make_opsetid("ai.onnx.ml", 3)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    with pytest.raises(HipgraftError, match=r"'ai\.onnx\.ml\.Binarizer' is not supported") as error:
        frontends.read(tmp_path / "m.onnx")
    assert error.value.location == "m.onnx:b"


def test_operands_of_another_rank_are_refused(tmp_path):
    node = helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="net", hidden_size=4)
    inputs = {"x": drawn(2, 1, 3), "w": drawn(1, 16, 3), "r": drawn(16, 4)}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)])
    with pytest.raises(HipgraftError) as error:
        frontends.read(path)
    assert error.value.location == "m.onnx:net (LSTM)"


def test_initializers_of_another_size_are_refused(tmp_path):
    node = helper.make_node("Add", ["x", "c"], ["y"])
    path = save(tmp_path / "m.onnx", [node], {"x": drawn(2)}, [("y", F32)], {"c": drawn(2)})
    model = onnx.load(path)
    model.graph.initializer[0].raw_data = bytes(12)
    onnx.save(model, path)
    with pytest.raises(HipgraftError, match=r"m\.onnx: error: .*c"):
        frontends.read(path)


def test_comparison_of_opset_14(tmp_path):
    node = helper.make_node("GreaterOrEqual", ["x", "z"], ["y"])
    inputs = {"x": np.array([-1, 0, 1]), "z": np.array([0, 0, 0])}
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", onnx.TensorProto.BOOL)], opset=14)
    check(path, inputs)


def test_attributes_of_functions_have_their_defaults(tmp_path):
    node = helper.make_node("SwiGLU", ["x", "z"], ["y"])
    x, z = drawn(2, 3), drawn(2, 3) + 1
    path = save(tmp_path / "m.onnx", [node], {"x": x, "z": z}, [("y", F32)], opset=28)
    (y,) = hipgraft.compile(path, "cpu").run([x, z])
    np.testing.assert_allclose(y, x / (1 + np.exp(-x)) * z, rtol=1e-5)


EINSUMS = {
    "a,ab": [(3,), (3, 2)],
    "ij,jk": [(2, 3), (3, 4)],
    "...ba": [(2, 3, 4)],
    "ba, ... a": [(2, 3), (4, 3)],
    "tki,tkhi,tk->th": [(2, 3, 4), (2, 3, 5, 4), (2, 3)],
    "ab,ac,ad->bcd": [(2, 3), (2, 4), (2, 5)],
    "ab,ab,ab->a": [(2, 3)] * 3,
    "...i,...j,ij->...": [(2, 3), (2, 4), (3, 4)],
    "...eba->...a": [(2, 3, 4, 5)],
    "...bc,...ddd->...cb": [(1, 3, 4), (2, 2, 2, 2)],
    "ab,b->a": [(2, 1), (3,)],
    "ab,ab,ca->cb": [(1, 3), (2, 1), (2, 2)],
    "ab,bc,cd,ad->": [(2, 3), (3, 4), (4, 5), (2, 5)],
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("equation", EINSUMS)
def test_einsum(tmp_path, equation):
    names = [f"x{number}" for number in range(len(EINSUMS[equation]))]
    inputs = {name: drawn(*shape) for name, shape in zip(names, EINSUMS[equation], strict=True)}
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)
