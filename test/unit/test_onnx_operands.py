"""Operands that are inputs although compilers expect constants, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from small_onnx import F32, I64, check, drawn, results_of, save

import hipgraft
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

X = drawn(3, 2, 4)

FORMS = {
    "slice": ("Slice", ["x", "a", "b", "c", "d"], {}, [2, 2, 2],
              {"x": X, "a": np.array([-1, 1]), "b": np.array([-9, 9]), "c": np.array([0, 2]),
               "d": np.array([-2, 2])}),
    "pad": ("Pad", ["x", "a", "", "c"], {"mode": "reflect"}, [3, 2, 8],
            {"x": X, "a": np.array([3, 1]), "c": np.array([-1])}),
    "tile": ("Tile", ["x", "a"], {}, [3, 6, 4], {"x": X, "a": np.array([1, 3, 1])}),
    "reduction that keeps": ("ReduceL1", ["x", "a"], {}, [3, 1, 1],
                             {"x": X, "a": np.array([-1, 1])}),
    "reduction of one of two equal extents": (
        "ReduceMean", ["x", "a"], {"keepdims": 0}, [3, 2],
        {"x": drawn(3, 2, 2), "a": np.array([1])}),
    "sums along either axis": ("CumSum", ["x", "a"], {"reverse": 1}, [3, 4],
                               {"x": drawn(3, 4), "a": np.array(-1, np.int32)}),
    "one hot": ("OneHot", ["x", "a", "b"], {"axis": 1}, [3, 5],
                {"x": np.array([4, -2, 9]), "a": np.array(5), "b": drawn(2)}),
    "upper triangle": ("Trilu", ["x", "a"], {}, [3, 2, 4], {"x": X, "a": np.array(-1)}),
    "triangle": ("Trilu", ["x", "a"], {"upper": 0}, [3, 2, 4], {"x": X, "a": np.array(-1)}),
    "compressed": ("Compress", ["x", "a"], {"axis": 2}, [3, 2, 2],
                   {"x": X, "a": np.array([True, False, False, True])}),
    "reversed": ("ReverseSequence", ["x", "a"], {"batch_axis": 1, "time_axis": 0}, [3, 2, 4],
                 {"x": X, "a": np.array([2, 3])}),
    "range": ("Range", ["a", "b", "c"], {}, [3],
              {"a": np.float32(1), "b": np.float32(3.5), "c": np.float32(1)}),
    "cropped and padded": ("CenterCropPad", ["x", "a"], {}, [2, 5, 4],
                           {"x": X, "a": np.array([2, 5, 4])}),
    "top of many": ("TopK", ["x", "a"], {"sorted": 1, "axis": 1}, [3, 2, 4],
                    {"x": X, "a": np.array([2])}),
}  # fmt: skip


@pytest.mark.sampled(8)
@pytest.mark.parametrize("form", FORMS)
def test_operand_that_is_an_input(tmp_path, form):
    op, names, attributes, shape, inputs = FORMS[form]
    results = ["y", "i"] if op == "TopK" else ["y"]
    node = helper.make_node(op, names, results, **attributes)
    inputs = {name: np.asarray(array) for name, array in inputs.items()}
    path = save(tmp_path / "m.onnx", [node], inputs, [(name, F32) for name in results])
    model = onnx.load(path)
    for value, name in zip(model.graph.output, results, strict=True):
        kind = I64 if name == "i" else F32
        value.CopyFrom(helper.make_tensor_value_info(name, kind, shape))
    onnx.save(model, path)
    check(path, inputs)


@pytest.mark.parametrize(
    ("op", "dtype", "value"),
    [
        ("ReduceSum", np.float32, 0),
        ("ReduceProd", np.float32, 1),
        ("ReduceMax", np.float32, -np.inf),
        ("ReduceMin", np.uint64, 2**64 - 1),
        ("ReduceMin", np.int64, 2**63 - 1),
    ],
)
def test_reduction_of_no_elements(tmp_path, op, dtype, value):
    """The result is not a number that a kernel computes."""
    node = helper.make_node(op, ["x", "a"], ["y"])
    inputs = {"x": np.zeros((2, 0, 3), dtype)}
    constants = {"a": np.array([1])}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", kind)], constants)
    (got,) = results_of(path, list(inputs.values()))
    np.testing.assert_array_equal(got, np.full((2, 1, 3), value, dtype))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("start", [1 << 62, 5, 4, -1])
@pytest.mark.parametrize("step", [-1, -2])
def test_slices_backward_from_beyond_the_end(tmp_path, start, step):
    x = {"x": drawn(2, 5, 3)}
    node = helper.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])
    bounds = {"starts": [1, start], "ends": [2, -(1 << 62)], "axes": [0, -2], "steps": [1, step]}
    dtype = np.int64 if start > 5 else np.int32
    limits = np.iinfo(dtype)
    constants = {
        name: np.array(values).clip(limits.min, limits.max).astype(dtype)
        for name, values in bounds.items()
    }
    check(save(tmp_path / "m.onnx", [node], x, [("y", F32)], constants), x)


def test_a_mean_over_an_axis_that_is_named_twice(tmp_path):
    x = {"x": drawn(2, 3)}
    node = helper.make_node("ReduceMean", ["x", "axes"], ["y"])
    check(save(tmp_path / "m.onnx", [node], x, [("y", F32)], {"axes": np.array([1, -1])}), x)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("op", ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"])
@pytest.mark.parametrize(
    ("shape", "axes"), [((2, 1), [1]), ((1, 1), []), ((1, 3), [0]), ((), []), ((2, 1, 3), [1])]
)
def test_reductions_of_single_elements(tmp_path, op, shape, axes):
    x = {"x": np.asarray(np.abs(drawn(*shape)), np.float32)}
    nodes = [helper.make_node(op, ["x", "axes"], [f"y{keeps}"], keepdims=keeps) for keeps in (0, 1)]
    outputs, constants = [("y0", F32), ("y1", F32)], {"axes": np.array(axes, np.int64)}
    check(save(tmp_path / "m.onnx", nodes, x, outputs, constants), x)


def test_celu_of_a_negative_alpha(tmp_path):
    node = helper.make_node("Celu", ["x"], ["y"], alpha=-2.0)
    inputs = {"x": drawn(3, 5)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


CONSTANTS = {
    "GlobalMaxPool": ({}, [drawn(2, 3, 4)]),
    "LRN": ({"size": 3}, [drawn(2, 4, 3, 3)]),
    "LpNormalization": ({"p": 1}, [drawn(2, 4)]),
    "NonZero": ({}, [np.array([3.0, 0.0, 2.0], np.float32)]),
    "NonMaxSuppression": ({}, [
        np.sort(np.abs(drawn(1, 8, 4)).reshape(1, 8, 2, 2), 2).reshape(1, 8, 4),
        np.abs(drawn(1, 2, 8)), np.array([3]), np.array([0.3], np.float32)]),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", CONSTANTS)
def test_operators_of_constants(tmp_path, op):
    """Their results are declared without a shape; some the reference implementation gets wrong."""
    attributes, operands = CONSTANTS[op]
    constants = {f"c{i}": one for i, one in enumerate(operands)}
    node = helper.make_node(op, list(constants), ["y"], **attributes)
    kind = I64 if op.startswith("N") else F32
    check(save(tmp_path / "m.onnx", [node], {}, [("y", kind)], constants), {})


@pytest.mark.parametrize("shape", [[2, 16], [0, 14], [31]])
@pytest.mark.parametrize("is_constant", [False, True])
def test_shapes_of_other_numbers_of_elements(tmp_path, shape, is_constant):
    """torch-mlir would read beyond the end of a constant in memory."""
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"], name="wrong"),
        helper.make_node("Add", ["r", "other"], ["y"]),
    ]
    given = [("other", [1])] if is_constant else [("other", [1]), ("x", [2, 15])]
    extents = [f"d{dim}" for dim in range(len(shape))]
    constants = {"shape": np.array(shape)} | ({"x": drawn(2, 15)} if is_constant else {})
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, F32, dims) for name, dims in given],
        [helper.make_tensor_value_info("y", F32, extents)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), path)
    with pytest.raises(HipgraftError, match=r"wrong.*30 elements cannot result in shape \["):
        hipgraft.compile(path, "cpu")
