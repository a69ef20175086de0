"""Recurrent networks, loops and branches, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from small_onnx import F32, I64, check, drawn, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

STEPS, BATCH, FEATURES, HIDDEN = 4, 3, 5, 6

NETWORKS = {
    "lstm": ("LSTM", {}, ()),
    "lstm, both directions, peepholes, lengths": (
        "LSTM",
        {"direction": "bidirectional", "clip": 0.5},
        ("b", "lengths", "h", "c", "p"),
    ),
    "lstm, reverse, input forgets": (
        "LSTM",
        {"direction": "reverse", "input_forget": 1},
        ("b", "lengths"),
    ),
    "gru, resets last": ("GRU", {"linear_before_reset": 1}, ("b", "lengths", "h")),
    "gru, both directions": ("GRU", {"direction": "bidirectional"}, ("b",)),
    "rnn, other activations": (
        "RNN",
        {"direction": "bidirectional", "activations": ["Relu", "LeakyRelu"],
         "activation_alpha": [0.1]},
        ("b", "h"),
    ),
}  # fmt: skip


def network(path, form):
    """A network with random weights; returns the model and its inputs."""
    kind, attributes, given = NETWORKS[form]
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    count = 2 if attributes.get("direction") == "bidirectional" else 1
    weights = {
        "w": drawn(count, gates * HIDDEN, FEATURES) / 2,
        "r": drawn(count, gates * HIDDEN, HIDDEN)[:, ::-1] / 2,
        "b": drawn(count, 2 * gates * HIDDEN),
        "p": drawn(count, 3 * HIDDEN),
    }
    inputs = {
        "x": drawn(STEPS, BATCH, FEATURES),
        "lengths": np.array([STEPS, 2, 1], np.int32),
        "h": drawn(count, BATCH, HIDDEN),
        "c": -drawn(count, BATCH, HIDDEN),
    }
    names = ["x", "w", "r", *(n if n in given else "" for n in ("b", "lengths", "h", "c", "p"))]
    while not names[-1]:
        names.pop()
    inputs = {name: inputs[name] for name in names if name in inputs}
    results = ["y", "y_h", "y_c"] if kind == "LSTM" else ["y", "y_h"]
    node = helper.make_node(kind, names, results, hidden_size=HIDDEN, **attributes)
    constants = {name: weights[name] for name in names if name in weights}
    return save(path, [node], inputs, [(name, F32) for name in results], constants), inputs


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", NETWORKS)
def test_recurrent_network(tmp_path, form):
    path, inputs = network(tmp_path / "m.onnx", form)
    check(path, inputs)


@pytest.mark.parametrize("first", [0.0, 0.5])
def test_first_state_that_is_a_constant(tmp_path, first):
    constants = {
        "w": drawn(1, 4 * HIDDEN, FEATURES) / 2,
        "r": drawn(1, 4 * HIDDEN, HIDDEN) / 2,
        "h": np.full((1, BATCH, HIDDEN), first, np.float32),
    }
    names, inputs = ["x", "w", "r", "", "", "h", "h"], {"x": drawn(2, BATCH, FEATURES)}
    node = helper.make_node("LSTM", names, ["y", "y_h", "y_c"], hidden_size=HIDDEN)
    results = [("y", F32), ("y_h", F32), ("y_c", F32)]
    check(save(tmp_path / "m.onnx", [node], inputs, results, constants), inputs)


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def test_scan_backward(tmp_path):
    nodes = [
        helper.make_node("Add", ["s", "e"], ["t"]),
        helper.make_node("Mul", ["t", "e"], ["o"]),
    ]
    body = helper.make_graph(
        nodes, "b", [info("s", F32, [2]), info("e", F32, [2])],
        [info("t", F32, [2]), info("o", F32, [2])],
    )  # fmt: skip
    node = helper.make_node(
        "Scan", ["a", "x"], ["y", "z"], body=body, num_scan_inputs=1, scan_input_axes=[1],
        scan_input_directions=[1], scan_output_axes=[1],
    )  # fmt: skip
    inputs = {"a": drawn(2), "x": drawn(2, 3)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32), ("z", F32)]), inputs)


@pytest.mark.parametrize("ends", [False, True])
def test_loop_of_constant_length(tmp_path, ends):
    """A loop that may end before its trip count computes all steps, and drops the last ones."""
    nodes = [
        helper.make_node("Mul", ["v", "k"], ["w"]),
        helper.make_node("ReduceMax", ["w"], ["top"], keepdims=0),
        helper.make_node("Less", ["top", "limit"], ["go"]),
    ]
    if not ends:
        nodes = [nodes[0], helper.make_node("Identity", ["c"], ["go"])]
    body = helper.make_graph(
        nodes, "b", [info("i", I64, []), info("c", TensorProto.BOOL, []), info("v", F32, [3])],
        [info("go", TensorProto.BOOL, []), info("w", F32, [3])],
    )  # fmt: skip
    node = helper.make_node("Loop", ["n", "yes", "x"], ["y"], body=body)
    inputs = {"x": np.array([1, -2, 3], np.float32)}
    constants = {"n": np.array(5), "yes": np.array(True), "k": np.float32(2),
                 "limit": np.float32(20)}  # fmt: skip
    path = save(tmp_path / "m.onnx", [node], inputs, [("y", F32)], constants)
    model = onnx.load(path)
    model.graph.output[0].CopyFrom(info("y", F32, [3]))  # which inference does not find
    onnx.save(model, path)
    check(path, inputs)


@pytest.mark.parametrize("condition", [True, False])
def test_branches_by_an_input(tmp_path, condition):
    def branch(op):
        nodes = [helper.make_node(op, ["x"], [f"{op}_y"])]
        return helper.make_graph(nodes, op, [], [info(f"{op}_y", F32, [4])])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("Abs"),
                            else_branch=branch("Neg"))  # fmt: skip
    inputs = {"c": np.array(condition), "x": drawn(4)}
    check(save(tmp_path / "m.onnx", [node], inputs, [("y", F32)]), inputs)


def test_a_branch_of_another_rank(tmp_path):
    """PyTorch's export of `scatter_reduce` declares the type of the branch that is not taken."""

    def branch(op, shape, *operands):
        node = helper.make_node(op, ["x", *operands], [f"{op}_y"])
        return helper.make_graph([node], op, [], [info(f"{op}_y", F32, shape)])

    nodes = [
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Equal", ["size", "none"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch("Reshape", ["n"], "line"),
                         else_branch=branch("Identity", ["n"])),
        helper.make_node("Abs", ["y"], ["z"]),
    ]  # fmt: skip
    inputs = {"x": drawn(2, 3)}
    constants = {"none": np.array(0), "line": np.array([-1])}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants)
    whole = onnx.load(path)
    whole.graph.output[0].CopyFrom(info("z", F32, [2, 3]))
    onnx.save(whole, path)
    check(path, inputs)


def test_scans_with_a_batch_dimension_are_refused(tmp_path):
    """Converted to a later opset, they were scans over another dimension."""
    shapes = {"s": [1, 2], "x": [1, 3, 2], "y": [1, 2], "z": [1, 3, 2]}
    typed = {name: helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()}
    inner = [helper.make_tensor_value_info(name, 1, [2]) for name in ("a", "b", "c", "d")]
    nodes = [helper.make_node("Add", ["a", "b"], ["c"]), helper.make_node("Identity", ["c"], ["d"])]
    body = helper.make_graph(nodes, "body", inner[:2], inner[2:])
    scan = helper.make_node("Scan", ["", "s", "x"], ["y", "z"], num_scan_inputs=1, body=body)
    graph = helper.make_graph([scan], "g", [typed["s"], typed["x"]], [typed["y"], typed["z"]])
    opsets = [helper.make_opsetid("", 8)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=3), tmp_path / "m.onnx")
    with pytest.raises(HipgraftError, match="'Scan' of opset 8 is not supported"):
        frontends.read(tmp_path / "m.onnx")
