"""Sequences of tensors whose members are known, and loops that end by counting."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, ValueInfoProto, helper
from small_onnx import F32, I64, check, drawn, save

from hipgraft import frontends
from hipgraft.ir.diagnostics import HipgraftError

pytestmark = pytest.mark.slow

BAGS, FEATURES = 3, 4


def untyped(*names):
    """Values of a body whose types inference finds."""
    return [ValueInfoProto(name=name) for name in names]


def bags(limit):
    """The nodes by which PyTorch exports `EmbeddingBag`: a loop over bags that counts itself."""
    body = helper.make_graph(
        [
            helper.make_node("Gather", ["offsets", "i"], ["start"], axis=0),
            helper.make_node("Add", ["i", "one"], ["next"]),
            helper.make_node("Gather", ["offsets", "next"], ["end"], axis=0),
            helper.make_node("Unsqueeze", ["start", "axis"], ["starts"]),
            helper.make_node("Unsqueeze", ["end", "axis"], ["ends"]),
            helper.make_node("Slice", ["rows", "starts", "ends", "axis"], ["bag"]),
            helper.make_node("ReduceSum", ["bag", "axis"], ["sum"], keepdims=1),
            helper.make_node("SequenceInsert", ["s", "sum"], ["t"]),
            helper.make_node("Less", ["next", limit], ["go"]),
        ],
        "bags",
        [
            helper.make_tensor_value_info("n", I64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            *untyped("i", "s"),
        ],
        untyped("go", "next", "t"),
    )
    return [
        helper.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
        helper.make_node("SequenceEmpty", [], ["empty"], dtype=F32),
        helper.make_node("Loop", ["", "yes", "zero", "empty"], ["last", "all"], body=body),
        helper.make_node("ConcatFromSequence", ["all"], ["rows of bags"], axis=0),
        helper.make_node("Reshape", ["rows of bags", "shape"], ["y"]),
    ]


CONSTANTS = {
    "offsets": np.array([0, 2, 2, 5]), "one": np.array(1), "zero": np.array(0),
    "count": np.array(BAGS), "axis": np.array([0]), "yes": np.array(True),
    "shape": np.array([BAGS, FEATURES]),
}  # fmt: skip


def test_bags_of_embeddings(tmp_path):
    inputs = {"ids": np.array([3, 0, 7, 7, 1])}
    constants = {**CONSTANTS, "table": drawn(8, FEATURES)}
    path = save(tmp_path / "m.onnx", bags("count"), inputs, [("y", F32)], constants)
    check(path, inputs)


def test_end_that_is_an_input(tmp_path):
    inputs = {"ids": np.array([3, 0, 7, 7, 1]), "count": np.array(BAGS)}
    constants = {name: one for name, one in CONSTANTS.items() if name != "count"}
    constants["table"] = drawn(8, FEATURES)
    path = save(tmp_path / "m.onnx", bags("count"), inputs, [("y", F32)], constants)
    with pytest.raises(HipgraftError, match="'Loop' of an unknown number of steps"):
        frontends.load(path)


READERS = {
    "inserted, erased, at": [
        helper.make_node("SequenceConstruct", ["a", "b"], ["s"]),
        helper.make_node("SequenceInsert", ["s", "c", "minus"], ["t"]),
        helper.make_node("SequenceErase", ["t", "zero"], ["u"]),
        helper.make_node("Identity", ["u"], ["v"]),
        helper.make_node("SequenceAt", ["v", "zero"], ["y"]),
    ],
    "stacked": [
        helper.make_node("SequenceConstruct", ["a", "b", "c"], ["s"]),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1),
    ],
    "length": [
        helper.make_node("SequenceConstruct", ["a", "b"], ["s"]),
        helper.make_node("SequenceLength", ["s"], ["n"]),
        helper.make_node("CastLike", ["n", "a"], ["m"]),
        helper.make_node("Mul", ["a", "m"], ["y"]),
    ],
    "split in twos": [
        helper.make_node("SplitToSequence", ["a", "two"], ["s"], axis=1),
        helper.make_node("SequenceAt", ["s", "minus"], ["y"]),
    ],
    "split by extents": [
        helper.make_node("SplitToSequence", ["a", "extents"], ["s"], axis=-1),
        helper.make_node("SequenceAt", ["s", "minus"], ["y"]),
    ],
    "split in ones": [
        helper.make_node("SplitToSequence", ["a"], ["s"], axis=1, keepdims=0),
        helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0),
    ],
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("form", READERS)
def test_known_members(tmp_path, form):
    inputs = {"a": drawn(2, 5), "b": -drawn(2, 5), "c": 2 * drawn(2, 5)}
    constants = {
        "zero": np.array(0), "minus": np.array(-1), "two": np.array(2),
        "extents": np.array([1, 3, 1]),
    }  # fmt: skip
    check(save(tmp_path / "m.onnx", READERS[form], inputs, [("y", F32)], constants), inputs)


def test_position_beyond_the_end(tmp_path):
    nodes = [
        helper.make_node("SequenceConstruct", ["a"], ["s"]),
        helper.make_node("SequenceAt", ["s", "one"], ["y"]),
    ]
    inputs = {"a": drawn(2)}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("y", F32)], {"one": np.array(1)})
    with pytest.raises(HipgraftError, match="'SequenceAt' at 1 of 1 tensors is invalid"):
        frontends.load(path)


def test_operator_whose_shapes_a_loop_tells(tmp_path):
    """It is refused without them only once the loop is written out, which tells them."""
    loop = bags("count")[:-1]
    nodes = [
        *loop,
        helper.make_node("Transpose", ["rows of bags"], ["columns"]),
        helper.make_node("DynamicQuantizeLinear", ["columns"], ["q", "s", "z"]),
        helper.make_node("MatMulInteger", ["weights", "q", "zeros", "z"], ["products"]),
        helper.make_node("Reshape", ["products", "pair"], ["y"]),
    ]
    inputs = {"ids": np.array([3, 0, 7, 7, 1])}
    constants = {
        **CONSTANTS, "table": drawn(8, FEATURES), "zeros": np.uint8(3),
        "pair": np.array([2, BAGS]),
        "weights": np.arange(2 * FEATURES, dtype=np.uint8).reshape(2, -1),
    }  # fmt: skip
    outputs = [("y", TensorProto.INT32)]
    path = save(tmp_path / "m.onnx", nodes, inputs, outputs, constants)
    check(path, inputs)
