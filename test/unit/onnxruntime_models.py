"""Models for onnxruntime sessions, and the results of onnxruntime itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

Arrays = dict[str, np.ndarray[Any, Any]]


def _model(nodes: Any, inputs: Any, outputs: Any, initializers: Any) -> bytes:
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def small_model(rows: int = 8) -> tuple[bytes, Arrays]:
    """Conv and Relu, a Sigmoid, Mul and Add."""
    draw = np.random.default_rng(0)
    weight = draw.standard_normal((16, 3, 3, 3)).astype(np.float32)
    model = _model(
        [
            helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
            helper.make_node("Relu", ["c"], ["r"]),
            helper.make_node("Sigmoid", ["r"], ["s"]),
            helper.make_node("Mul", ["s", "r"], ["m"]),
            helper.make_node("Add", ["m", "r"], ["y"]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, rows, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 16, rows, 8])],
        [numpy_helper.from_array(weight, "w")],
    )
    return model, reference_inputs(model)


def model_of_all_kinds() -> tuple[bytes, Arrays]:
    """Attributes of all types but graphs of graphs, strings, an If with values from outside."""
    draw = np.random.default_rng(1)
    weight = draw.standard_normal((8, 40)).astype(np.float32)
    branches = {
        name: helper.make_graph(
            [helper.make_node(op, ["h", "small"], [f"{name}_out"])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)],
        )
        for name, op in (("then_branch", "Add"), ("else_branch", "Sub"))
    }
    labels = ["a", "bc", ""]
    model = _model(
        [
            helper.make_node("Gemm", ["x", "w"], ["g"], name="gemm", alpha=0.5),
            helper.make_node("LeakyRelu", ["g"], ["h"], alpha=0.25),
            helper.make_node("If", ["flag"], ["i"], **branches),
            helper.make_node("ReduceMax", ["i"], ["top"], axes=[1], keepdims=0),
            helper.make_node(
                "LabelEncoder",
                ["n"],
                ["e"],
                domain="ai.onnx.ml",
                keys_int64s=[0, 1, 2],
                values_strings=labels,
                default_string="none",
            ),
            helper.make_node(
                "LabelEncoder",
                ["e"],
                ["f"],
                domain="ai.onnx.ml",
                keys_strings=labels,
                values_floats=[0.5, 1.5, -2.5],
                default_float=7.0,
            ),
            helper.make_node("Add", ["top", "f"], ["y"]),
        ],
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 8]),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
            helper.make_tensor_value_info("n", TensorProto.INT64, ["rows"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows"])],
        [
            numpy_helper.from_array(weight, "w"),
            numpy_helper.from_array(np.array([3.0], np.float32), "small"),
        ],
    )
    whole = onnx.load_from_string(model)
    whole.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    inputs = {
        "x": draw.standard_normal((4, 8)).astype(np.float32),
        "flag": np.array(True),
        "n": np.array([0, 2, 1, 9]),
    }
    return whole.SerializeToString(), inputs


def models_of_views() -> Iterator[tuple[bytes, Arrays]]:
    """Relu, and an op whose results are parts of its operand, or its operand."""
    indices = [numpy_helper.from_array(np.array([n]), name) for n, name in enumerate("012")]
    indices.append(numpy_helper.from_array(np.array([4]), "4"))
    for op, inputs, results, attributes in (
        ("Transpose", ["h"], {"y": [6, 3, 4]}, {"perm": [2, 0, 1]}),
        ("Split", ["h"], {"a": [3, 4, 3], "b": [3, 4, 3]}, {"axis": 2}),
        ("Slice", ["h", "0", "4", "1", "2"], {"y": [3, 2, 6]}, {}),
        ("ReduceSum", ["h"], {"y": []}, {"keepdims": 0}),
    ):
        model = _model(
            [
                helper.make_node("Relu", ["x"], ["h"]),
                helper.make_node(op, inputs, list(results), **attributes),
            ],
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 4, 6])],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in results.items()
            ],
            [one for one in indices if one.name in inputs],
        )
        yield model, reference_inputs(model)


def rows_model() -> bytes:
    """A product of rows, whose numbers n and m are symbolic, in a shape that is computed."""
    weight = np.random.default_rng(4).standard_normal((8, 6)).astype(np.float32)
    return _model(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"]),
            helper.make_node("Shape", ["x"], ["all"]),
            helper.make_node("Slice", ["all", "0", "1"], ["n"]),
            helper.make_node("Concat", ["n", "rest"], ["shape"], axis=0),
            helper.make_node("Reshape", ["p", "shape"], ["r"]),
            helper.make_node("Softmax", ["r"], ["y"]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(weight, "w"),
            *(numpy_helper.from_array(np.array([n]), name) for name, n in
              (("0", 0), ("1", 1), ("rest", -1))),
        ],
    )  # fmt: skip


def drawn_inputs(model: bytes, **extents: int) -> Arrays:
    """Random inputs of a model, given the extents of its symbolic dimensions."""
    draw = np.random.default_rng(5)
    return {
        one.name: draw.standard_normal(
            [extents.get(dim.dim_param, dim.dim_value) for dim in one.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for one in onnx.load_from_string(model).graph.input
    }


def product_by_constant(size: int) -> bytes:
    """MatMul by a matrix of equal elements, and Softmax."""
    weight = np.full((size, size), 1.5, np.float32)
    return _model(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
            helper.make_node("Softmax", ["p"], ["y"]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [size, size])],
        [numpy_helper.from_array(weight, "w")],
    )


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    """A node's attributes by name; graphs by their ops."""
    return {
        one.name: [inner.op_type for inner in one.g.node]
        if one.type == onnx.AttributeProto.GRAPH
        else helper.get_attribute_value(one)
        for one in node.attribute
    }


def reference_inputs(model: bytes) -> Arrays:
    draw = np.random.default_rng(2)
    return {
        one.name: draw.standard_normal(
            [dim.dim_value for dim in one.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for one in onnx.load_from_string(model).graph.input
    }


def references(model: bytes, inputs: Arrays) -> list[np.ndarray[Any, Any]]:
    """Returns the results of onnxruntime's own provider."""
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = ort.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    return made.run(None, inputs)


def reference(model: bytes, inputs: Arrays) -> np.ndarray[Any, Any]:
    """The first of them."""
    return references(model, inputs)[0]


def _square(name: str, seed: int) -> onnx.TensorProto:
    draw = np.random.default_rng(seed)
    return numpy_helper.from_array(draw.normal(size=(6, 6)).astype(np.float32) / 3, name)


def _floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _step(body: str) -> list[onnx.NodeProto]:
    """A recurrence: `state` and `x` to `next` and `y`, by an outer `w`."""
    return [
        helper.make_node("MatMul", ["state", "w"], ["product"]),
        helper.make_node("Add", ["product", "x"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next"], name=f"{body}_tanh"),
        helper.make_node("Exp", ["next"], ["y"]),
    ]


def loop_model() -> tuple[bytes, Arrays]:
    """A Loop whose trip count is an input, between nodes outside of it."""
    number, flag = (
        helper.make_tensor_value_info(name, kind, [])
        for name, kind in (("i", TensorProto.INT64), ("go", TensorProto.BOOL))
    )
    ends = helper.make_tensor_value_info("going", TensorProto.BOOL, [])
    body = helper.make_graph(
        [*_step("loop"), helper.make_node("Identity", ["go"], ["going"])],
        "body",
        [number, flag, _floats("state", 4, 6)],
        [ends, _floats("next", 4, 6), _floats("y", 4, 6)],
    )
    model = _model(
        [
            helper.make_node("Sigmoid", ["x0"], ["x"]),
            helper.make_node("Loop", ["rounds", "", "x"], ["last", "all"], body=body),
            helper.make_node("MatMul", ["last", "w"], ["z"]),
            helper.make_node("Relu", ["z"], ["r"]),
        ],
        [_floats("x0", 4, 6), helper.make_tensor_value_info("rounds", TensorProto.INT64, [])],
        [_floats("r", 4, 6), helper.make_tensor_value_info("all", TensorProto.FLOAT, None)],
        [_square("w", 6)],
    )
    draw = np.random.default_rng(7)
    return model, {"x0": draw.normal(size=(4, 6)).astype(np.float32), "rounds": np.array(5)}


def scan_model(rows: int | str = 4) -> tuple[bytes, Arrays]:
    """A Scan over the rows of a sequence."""
    body = helper.make_graph(
        _step("scan"),
        "body",
        [_floats("state", rows, 6), _floats("x", rows, 6)],
        [_floats("next", rows, 6), _floats("y", rows, 6)],
    )
    model = _model(
        [
            helper.make_node("Scan", ["first", "xs"], ["last", "ys"], body=body, num_scan_inputs=1),
            helper.make_node("Softmax", ["ys"], ["p"]),
        ],
        [_floats("first", rows, 6), _floats("xs", 5, rows, 6)],
        [_floats("last", rows, 6), _floats("p", 5, rows, 6)],
        [_square("w", 8)],
    )
    return model, drawn_inputs(model, rows=4)


def growing_model() -> tuple[bytes, Arrays]:
    """A Loop whose state gains rows in each iteration, in a dimension always named `rows`."""
    flags = [helper.make_tensor_value_info(n, TensorProto.BOOL, []) for n in ("go", "going")]
    body = helper.make_graph(
        [
            helper.make_node("MatMul", ["state", "w"], ["product"]),
            helper.make_node("Tanh", ["product"], ["bent"]),
            helper.make_node("Concat", ["bent", "first"], ["next"], axis=0),
            helper.make_node("ReduceSum", ["bent", "axis"], ["y"], keepdims=0),
            helper.make_node("Identity", ["go"], ["going"]),
        ],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), flags[0],
         _floats("state", "rows", 6)],
        [flags[1], _floats("next", "rows", 6), _floats("y", 6)],
    )  # fmt: skip
    model = _model(
        [helper.make_node("Loop", ["rounds", "", "first"], ["last", "all"], body=body)],
        [
            _floats("first", "rows", 6),
            helper.make_tensor_value_info("rounds", TensorProto.INT64, []),
        ],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("last", "all")],
        [_square("w", 12), numpy_helper.from_array(np.array([0]), "axis")],
    )
    draw = np.random.default_rng(13)
    return model, {"first": draw.normal(size=(2, 6)).astype(np.float32), "rounds": np.array(4)}


def branch_model(rows: int | str = 4) -> tuple[bytes, Arrays]:
    """An If in a branch of an If, with constants of both scopes."""
    inner = {
        name: helper.make_graph(
            [helper.make_node("MatMul", ["a", "w"], [f"{name}_p"]),
             helper.make_node(op, [f"{name}_p"], [f"{name}_r"])],
            name,
            [],
            [_floats(f"{name}_r", rows, 6)],
        )
        for name, op in (("then_branch", "Tanh"), ("else_branch", "Sigmoid"))
    }  # fmt: skip
    first = helper.make_graph(
        [helper.make_node("If", ["second"], ["t"], **inner),
         helper.make_node("Mul", ["t", "own"], ["u"])],
        "then_branch",
        [],
        [_floats("u", rows, 6)],
        [_square("v", 9), numpy_helper.from_array(np.full(6, 2.0, np.float32), "own")],
    )  # fmt: skip
    other = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["v"])], "else", [], [_floats("v", rows, 6)]
    )
    flags = [helper.make_tensor_value_info(n, TensorProto.BOOL, []) for n in ("first", "second")]
    model = _model(
        [
            helper.make_node("Exp", ["x"], ["a"]),
            helper.make_node("If", ["first"], ["b"], then_branch=first, else_branch=other),
            helper.make_node("Add", ["a", "b"], ["y"]),
        ],
        [_floats("x", rows, 6), *flags],
        [_floats("y", rows, 6)],
        [_square("w", 10)],
    )
    x = np.random.default_rng(11).normal(size=(4, 6)).astype(np.float32)
    return model, {"x": x, "first": np.array(True), "second": np.array(True)}


def volume_model() -> tuple[bytes, Arrays]:
    """A determinant that the compiler refuses, on one of two paths."""
    model = _model(
        [
            helper.make_node("Sigmoid", ["x"], ["a"]),
            helper.make_node("Det", ["a"], ["d"], name="volume"),
            helper.make_node("MatMul", ["a", "a"], ["e"]),
            helper.make_node("Mul", ["e", "d"], ["y"]),
        ],
        [_floats("x", 7, 7)],
        [_floats("y", 7, 7)],
        [],
    )
    return model, reference_inputs(model)


def function_model() -> tuple[bytes, Arrays]:
    """An ONNX function that no provider takes for all extents; the second query has its body."""
    model = _model(
        [
            helper.make_node("Exp", ["x"], ["a"]),
            helper.make_node("GroupNormalization", ["a", "scale", "bias"], ["g"], num_groups=2),
            helper.make_node("Neg", ["g"], ["y"]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, "m"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4, "m"])],
        [
            numpy_helper.from_array(np.array([0.5, 1, 2, 3], np.float32), "scale"),
            numpy_helper.from_array(np.array([0, 1, 0, -1], np.float32), "bias"),
        ],
    )
    whole = onnx.load_from_string(model)
    whole.opset_import[0].version = 21
    whole.ir_version = 10
    model = whole.SerializeToString()
    return model, drawn_inputs(model, n=2, m=5)
