"""Rows that `NonZero` selects, as mixtures of experts process them, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper
from small_onnx import F32, I64, check, drawn, save

import hipgraft
from hipgraft.frontends import load
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.io import walk

pytestmark = pytest.mark.slow

TOKENS, SLOTS, FEATURES = 5, 2, 4
W = drawn(FEATURES, FEATURES)

CHOICES = {
    "some tokens": [[0, 2], [1, 0], [2, 1], [2, 0], [1, 2]],
    "no token": [[1, 2]] * TOKENS,
    "all tokens": [[0, 1]] * TOKENS,
    "a token twice": [[0, 0], [1, 0], [0, 0], [2, 1], [0, 0]],
}
"""The experts that each token chooses; those of expert 0 are selected."""


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"/moe/{op}/{outputs[0]}", **attributes)


def selecting(index: str):
    """Selects the slots and tokens that chose expert 0, `[n, 1]` each if `index` is "rows"."""
    shape = [node("Unsqueeze", [one, "last"], [f"{one}_at"]) for one in ("slot", "token")]
    return [
        node("Equal", ["chosen", "expert"], ["by_token"]),
        node("Transpose", ["by_token"], ["mask"], perm=[1, 0]),
        node("NonZero", ["mask"], ["found"]),
        node("Split", ["found", "halves"], ["slots", "tokens"], axis=0),
        node("Squeeze", ["slots", "first"], ["slot"]),
        node("Squeeze", ["tokens", "first"], ["token"]),
        *(shape if index == "rows" else []),
    ]


def expert():
    """The expert's product and the shares of its rows."""
    return [
        node("Gather", ["x", "token"], ["rows"]),
        node("MatMul", ["rows", "w"], ["product"]),
        node("Softmax", ["product"], ["output"], axis=-1),
        node("Concat", ["token_at", "slot_at"], ["both"], axis=1),
        node("GatherND", ["shares", "both"], ["share"]),
        node("Unsqueeze", ["share", "last"], ["factor"]),
        node("Mul", ["output", "factor"], ["weighted"]),
    ]


CONSTANTS = {
    "expert": np.array(0), "halves": np.array([1, 1]), "first": np.array([0]),
    "last": np.array([1]), "w": W, "two": np.array(2), "one": np.array(1),
    "order": np.array([3, 0, 4, 4, 1]), "features": np.array([FEATURES]),
    "column": np.array([[0]]), "columns": np.array([0]),
}  # fmt: skip


def inputs_of(choice):
    return {
        "x": drawn(TOKENS, FEATURES),
        "y": drawn(TOKENS, FEATURES)[::-1].copy(),
        "shares": np.abs(drawn(TOKENS, SLOTS)),
        "chosen": np.array(CHOICES[choice]),
    }


WRITES = {
    "rows added": [node("ScatterND", ["y", "token_at", "weighted"], ["z"], reduction="add")],
    "rows multiplied": [node("ScatterND", ["y", "token_at", "weighted"], ["z"], reduction="mul")],
    "greatest rows": [node("ScatterND", ["y", "token_at", "weighted"], ["z"], reduction="max")],
    "rows written over others": [node("ScatterND", ["y", "token_at", "weighted"], ["z"])],
    "elements added": [
        node("Shape", ["weighted"], ["shape"]),
        node("Expand", ["token_at", "shape"], ["whole"]),
        node("ScatterElements", ["y", "whole", "weighted"], ["z"], axis=0, reduction="add"),
    ],
    "elements of a slice of as many rows": [
        node("Shape", ["token_at"], ["sizes"], end=1),
        node("Slice", ["weighted", "first", "sizes"], ["taken"]),
        node("Concat", ["sizes", "features"], ["shape"], axis=0),
        node("Expand", ["token_at", "shape"], ["whole"]),
        node("ScatterElements", ["y", "whole", "taken"], ["z"], axis=0, reduction="add"),
    ],
    "rows read, added and written": [
        node("GatherND", ["y", "token_at"], ["old"]),
        node("Add", ["old", "weighted"], ["new"]),
        node("ScatterND", ["y", "token_at", "new"], ["z"]),
    ],
    "rows at indices looked up in a table": [
        node("Gather", ["order", "token"], ["place"]),
        node("Unsqueeze", ["place", "last"], ["place_at"]),
        node("ScatterND", ["y", "place_at", "weighted"], ["z"], reduction="add"),
    ],
    "rows at indices that the model computes": [
        node("ArgMax", ["x"], ["best"], axis=1, keepdims=0),
        node("Gather", ["best", "token"], ["place"]),
        node("Gather", ["y", "place"], ["more"]),
        node("Add", ["more", "weighted"], ["new"]),
        node("Unsqueeze", ["place", "last"], ["place_at"]),
        node("ScatterND", ["y", "place_at", "new"], ["z"], reduction="add"),
    ],
    "elements at indices that the model computes": [
        node("ArgMax", ["x"], ["best"], axis=1, keepdims=1),
        node("Gather", ["best", "token"], ["place"]),
        node("Shape", ["weighted"], ["shape"]),
        node("Expand", ["place", "shape"], ["whole"]),
        node("ScatterElements", ["y", "whole", "weighted"], ["z"], axis=0, reduction="add"),
    ],
    "elements of each row, by indices that it computes": [
        node("Log", ["rows"], ["logs"]),
        node("Exp", ["logs"], ["some"]),
        node("Cast", ["some"], ["numbers"], to=TensorProto.INT64),
        node("GatherElements", ["weighted", "numbers"], ["picked"], axis=1),
        node("ScatterND", ["y", "token_at", "picked"], ["z"], reduction="add"),
    ],
    "shares alone": [
        node("ReduceMax", ["weighted", "last"], ["best_share"], keepdims=0),
        node("ScatterND", ["shares", "both", "best_share"], ["z"]),
    ],
}  # fmt: skip


@pytest.mark.sampled(120)
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("form", WRITES)
def test_experts_compute_the_rows_of_their_tokens(tmp_path, form, choice):
    if form == "rows written over others" and choice == "a token twice":
        pytest.skip("ONNX does not say which of two rows remains; see the next test")
    nodes = [*selecting("rows"), *expert(), *WRITES[form]]
    inputs = inputs_of(choice)
    if form.startswith("elements of each row"):
        # Only the selected rows have logarithms; the others' indices are outside.
        chosen = (inputs["chosen"] == 0).any(1)
        inputs["x"] = np.where(chosen[:, None], np.abs(inputs["x"]) % 3, -1e9).astype(np.float32)
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], CONSTANTS), inputs)


def test_the_last_of_several_rows_remains(tmp_path):
    """PyTorch and onnxruntime write rows in order, so the last one remains."""
    nodes = [*selecting("rows"), *expert(), *WRITES["rows written over others"]]
    inputs = inputs_of("a token twice")
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], CONSTANTS), inputs)


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_])
def test_a_mask_selects_the_elements_that_are_not_zero(tmp_path, kind):
    """Two selections; the second one reads the tensor that the first one writes."""
    nodes = [
        node("NonZero", ["m"], ["found"]),
        node("Transpose", ["found"], ["at"], perm=[1, 0]),
        node("GatherND", ["x", "at"], ["rows"]),
        node("Neg", ["rows"], ["negated"]),
        node("ScatterND", ["x", "at", "negated"], ["y"]),
        node("Less", ["m", "limit"], ["others"]),
        node("NonZero", ["others"], ["found2"]),
        node("Transpose", ["found2"], ["at2"], perm=[1, 0]),
        node("GatherND", ["y", "at2"], ["rows2"]),
        node("ReduceSum", ["rows2", "last"], ["sums"]),
        node("Add", ["rows2", "sums"], ["more"]),
        node("ScatterND", ["y", "at2", "more"], ["z"]),
    ]
    mask = np.array([[0, 2, 0, 1], [1, 0, 0, -1]]).astype(kind)
    inputs = {"m": mask, "x": drawn(2, 4, 3)}
    constants = {"limit": np.ones([], kind), "last": np.array([1])}
    if kind is np.bool_:
        nodes[5] = node("Not", ["m"], ["others"])
        del constants["limit"]
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants), inputs)


def writing_elements(count: str):
    """`y[mask] = rows` as exporters write it: a mask of elements, and rows in one line."""
    return [
        node("NonZero", ["m"], ["found"]),
        node("Transpose", ["found"], ["at"], perm=[1, 0]),
        node("GatherND", ["x", "at"], ["rows"]),
        node("Softmax", ["rows"], ["output"]),
        *LINES[count],
        node("Unsqueeze", ["m", "last"], ["m1"]),
        node("Expand", ["m1", "whole"], ["m3"]),
        node("NonZero", ["m3"], ["elements"]),
        node("Transpose", ["elements"], ["places"], perm=[1, 0]),
        *SLICES[count],
        node("ScatterND", ["x", "places", "updates"], ["z"]),
    ]


LINES = {
    "counted": [
        node("Reshape", ["m", "minus"], ["flat"]),
        node("Cast", ["flat"], ["numbers"], to=TensorProto.INT64),
        node("ReduceSum", ["numbers"], ["count"]),
        node("Concat", ["count", "features"], ["shape"], axis=0),
        node("Expand", ["output", "shape"], ["expanded"]),
        node("Reshape", ["expanded", "minus"], ["updates"]),
    ],
    "sliced": [node("Reshape", ["output", "minus"], ["line"])],
}
SLICES = {
    "counted": [],
    "sliced": [
        node("Shape", ["places"], ["sizes"], end=1),
        node("Slice", ["line", "first", "sizes", "first"], ["updates"]),
    ],
}


def test_a_number_written_by_a_mask(tmp_path):
    nodes = [
        node("NonZero", ["m"], ["found"]),
        node("Transpose", ["found"], ["at"], perm=[1, 0]),
        node("Shape", ["at"], ["count"], end=1),
        node("Concat", ["count", "features"], ["shape"], axis=0),
        node("Expand", ["number", "shape"], ["rows"]),
        node("ScatterND", ["x", "at", "rows"], ["z"]),
    ]
    inputs = {"m": np.array([[0, 1, 1], [1, 0, 0]], bool), "x": drawn(2, 3, 4)}
    constants = {"features": np.array([4]), "number": np.float32(-7)}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants), inputs)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
def test_a_number_written_by_a_counted_mask(tmp_path, shape):
    """`y[y == 5] = 0` of PyTorch's exporter, and of a mask of the first dims."""
    nodes = [
        node("Equal", ["ids", "five"], ["m"]),
        node("NonZero", ["m"], ["found"]),
        node("Transpose", ["found"], ["at"], perm=[1, 0]),
        node("Reshape", ["m", "minus"], ["flat"]),
        node("Cast", ["flat"], ["numbers"], to=TensorProto.INT64),
        node("ReduceSum", ["numbers"], ["count"]),
        node("Concat", ["count", "features"], ["size"], axis=0),
        node("Expand", ["zero", "size" if len(shape) > 2 else "count"], ["rows"]),
        node("ScatterND", ["x", "at", "rows"], ["z"]),
    ]
    inputs = {"ids": np.array([[5, 1, 5], [2, 5, 3]]), "x": drawn(*shape)}
    constants = {"five": np.array(5), "minus": np.array([-1]), "features": np.array([4])}
    constants["zero"] = np.array(0, np.float32)
    path = save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants)
    check(path, inputs)
    ops = [op.name for op in walk(load(path).operation)]
    assert ops.count("torch.aten.where.self") == 1


@pytest.mark.parametrize("count", LINES)
@pytest.mark.parametrize("mask", [[[0, 1, 1], [1, 0, 0]], [[0] * 3] * 2, [[1] * 3] * 2])
def test_rows_written_by_a_mask_of_elements(tmp_path, count, mask):
    inputs = {"m": np.array(mask, bool), "x": drawn(2, 3, 4)}
    constants = {
        "first": np.array([0]),
        "features": np.array([4]),
        "minus": np.array([-1]),
        "whole": np.array([2, 3, 4]),
        "last": np.array([2]),
    }
    nodes = writing_elements(count)
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants), inputs)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("opset", [20, 13])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_compressed_rows_are_written_back(tmp_path, axis, opset):
    """The mask of `Compress` and that of `NonZero` are computed by two nodes."""
    kept = {} if axis is None else {"axis": axis}
    shape = {None: (4,), 0: (4, 3), 1: (3, 4)}[axis]
    order = [1, 0] if axis == 1 else list(range(len(shape)))
    nodes = [
        node("Greater", ["c", "limit"], ["mask"]),
        node("Compress", ["x", "mask"], ["rows"], **kept),
        node("Exp", ["rows"], ["new"]),
        node("Greater", ["c", "limit2"], ["mask2"]),
        node("NonZero", ["mask2"], ["found"]),
        node("Transpose", ["found"], ["at"], perm=[1, 0]),
        node("Transpose", ["new"], ["lines"], perm=order),
        node("ScatterND", ["y", "at", "lines"], ["z"]),
    ]
    y = drawn(*shape).transpose(order).copy()
    inputs = {"x": drawn(*shape), "y": y, "c": np.array([1, 5, 2, 7], np.float32)}
    constants = {"limit": np.float32(3), "limit2": np.float32(3)}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants, opset), inputs)


@pytest.mark.parametrize("shape", [(5,), (7,), (2, 4), (3, 1)])
@pytest.mark.parametrize("axis", [None, 0])
def test_conditions_are_flattened_and_cut(tmp_path, shape, axis):
    """As onnxruntime does; ONNX allows neither several dimensions nor more elements."""
    condition = (np.arange(np.prod(shape)) % 3 != 1).reshape(shape)
    nodes = [node("Compress", ["x", "mask"], ["z"], **({} if axis is None else {"axis": axis}))]
    inputs = {"x": drawn(5)}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], {"mask": condition}), inputs)


@pytest.mark.parametrize("axis", [0, 1])
def test_conditions_of_symbolic_inputs(tmp_path, axis):
    """Only conditions along static dimensions are known not to be longer than the input."""
    text = f"""<ir_version: 10, opset_import: ["": 14]>
    g (float[rows, 5] x) => (float[m, n] z) <bool[5] mask = {{1, 0, 1, 0, 1}}>
    {{ z = Compress <axis = {axis}> (x, mask) }}"""
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    if axis == 0:
        with pytest.raises(HipgraftError, match="'Compress' is not supported"):
            hipgraft.compile(path, target="cpu")
        return
    x = drawn(3, 5)
    (z,) = hipgraft.compile(path, target="cpu").run([x], "cpu")
    np.testing.assert_array_equal(z, x[:, ::2])


REFUSED = {
    "rows that another mask selects": (
        [
            node("Not", ["mask"], ["others"]),
            node("NonZero", ["others"], ["found3"]),
            node("Gather", ["found3", "one"], ["token3"]),
            node("Gather", ["x", "token3"], ["rows3"]),
            node("Add", ["rows", "rows3"], ["out"]),
        ],
        "Add",
        "combines rows that more than one 'NonZero' selects",
    ),
    "a softmax over rows": (
        [node("Softmax", ["rows"], ["s"], axis=0), node("MatMul", ["s", "w"], ["out"])],
        "Softmax",
        "combines rows",
    ),
    "a logarithm of a sum of rows": (
        [node("ReduceLogSum", ["rows", "columns"], ["s"]), node("Sub", ["rows", "s"], ["out"])],
        "ReduceLogSum",
        "combines rows",
    ),
    "products of pairs of rows": (
        [
            node("Transpose", ["rows"], ["t"], perm=[1, 0]),
            node("MatMul", ["rows", "t"], ["p"]),
            node("MatMul", ["p", "rows"], ["out"]),
        ],
        "MatMul",
        "combines pairs of rows",
    ),
    "rows in reverse": (
        [node("Slice", ["rows", "minus", "least", "columns", "minus"], ["out"])],
        "Slice",
        "combines rows",
    ),
    "rows viewed in another order": (
        [
            node("Reshape", ["rows", "turned"], ["r"]),
            node("Transpose", ["r"], ["out"], perm=[1, 0]),
        ],
        "Reshape",
        "combines rows",
    ),
    "one row more than there are": (
        [
            node("Shape", ["rows"], ["s"], end=1),
            node("Add", ["s", "one"], ["more"]),
            node("Expand", ["w1", "more"], ["out"]),
        ],
        "Expand",
        "combines rows",
    ),
}  # fmt: skip


COUNTED = {
    "a mean by the number of rows": [
        node("Shape", ["rows"], ["s"], end=1),
        node("Cast", ["s"], ["n"], to=TensorProto.FLOAT),
        node("Div", ["rows", "n"], ["out"]),
    ],
    "whether there are any rows": [
        node("Shape", ["rows"], ["s"], end=1),
        node("Cast", ["s"], ["some"], saturate=1, to=TensorProto.BOOL),
        node("Where", ["some", "rows", "w1"], ["out"]),
    ],
    "a number of rows that a selection depends on": [
        node("Shape", ["rows"], ["s"], end=1),
        node("Equal", ["s", "one"], ["single"]),
        node("Where", ["single", "rows", "w1"], ["out"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("form", COUNTED)
def test_the_number_of_rows_is_a_value(tmp_path, form, choice):
    nodes = [
        *selecting("rows"),
        node("Gather", ["x", "token"], ["rows"]),
        *COUNTED[form],
        node("ScatterND", ["y", "token_at", "out"], ["z"], reduction="add"),
    ]
    inputs, constants = inputs_of(choice), CONSTANTS | {"w1": W[:1]}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants), inputs)


@pytest.mark.parametrize("form", REFUSED)
def test_programs_that_combine_rows_are_refused(tmp_path, form):
    middle, op, reason = REFUSED[form]
    nodes = [
        *selecting("rows"),
        node("Gather", ["x", "token"], ["rows"]),
        *middle,
        node("ScatterND", ["y", "token_at", "out"], ["z"], reduction="add"),
    ]
    constants = {
        **CONSTANTS,
        "minus": np.array([-1]),
        "least": np.array([-(2**62)]),
        "turned": np.array([FEATURES, -1]),
        "w1": W[:1],
    }
    path = save(tmp_path / "m.onnx", nodes, inputs_of("some tokens"), [("z", F32)], constants)
    with pytest.raises(HipgraftError, match=f"'{op}' {reason}") as error:
        load(path)
    assert error.value.location.startswith(f"m.onnx:/moe/{op}/")


@pytest.mark.parametrize("edges", [[[0, 1, 2, 2], [1, 1, 0, 2]], [[0, 1, 2, 2], [0, 1, 2, 2]]])
def test_edges_joined_with_loops(tmp_path, edges):
    """Graph networks join the edges that are not loops with one loop per node."""
    nodes = [
        node("Split", ["edges", "halves"], ["from", "to"], axis=0),
        node("Sub", ["from", "to"], ["difference"]),
        node("Squeeze", ["difference", "first"], ["kept"]),
        node("NonZero", ["kept"], ["found"]),
        node("Squeeze", ["found", "first"], ["edge"]),
        node("Gather", ["edges", "edge"], ["others"], axis=1),
        node("Concat", ["others", "loops"], ["all"], axis=1),
        node("Gather", ["all", "zero"], ["source"]),
        node("Gather", ["all", "one"], ["target"]),
        node("Gather", ["x", "source"], ["messages"]),
        node("ReduceMax", ["messages"], ["greatest"], keepdims=0),
        node("ReduceSum", ["messages", "first"], ["total"], keepdims=0),
        node("Shape", ["messages"], ["shape"]),
        node("Gather", ["shape", "one"], ["width"]),
        node("Reshape", ["width", "only"], ["widths"]),
        node("Concat", ["nodes", "widths"], ["sizes"], axis=0),
        node("ConstantOfShape", ["sizes"], ["empty"]),
        node("Reshape", ["target", "column"], ["targets"]),
        node("Expand", ["targets", "shape"], ["at"]),
        node("ScatterElements", ["empty", "at", "messages"], ["z"], axis=0, reduction="add"),
    ]
    constants = {
        "halves": np.array([1, 1]), "first": np.array([0]), "zero": np.array(0), "one": np.array(1),
        "loops": np.array([[0, 1, 2]] * 2), "only": np.array([-1]), "nodes": np.array([3]),
        "column": np.array([-1, 1]),
    }  # fmt: skip
    inputs = {"x": drawn(3, 2), "edges": np.array(edges)}
    outputs = [("z", F32), ("greatest", F32), ("total", F32)]
    check(save(tmp_path / "m.onnx", nodes, inputs, outputs, constants, opset=18), inputs)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", ["counted first", "joined first"])
@pytest.mark.parametrize("edges", [[[0, 1, 2, 2], [1, 1, 0, 2]], [[0, 1, 2, 2], [0, 1, 2, 2]]])
def test_counted_edges_joined_with_loops(tmp_path, edges, order):
    """PyTorch's exports of graph networks: `ones(edges.shape[1] + nodes)` has joined rows, too."""
    joined = node("Concat", ["others", "loops"], ["all"], axis=1)
    counted = [
        node("Shape", ["others"], ["size"], start=1),
        node("Squeeze", ["size"], ["count"]),
        node("Add", ["nodes", "count"], ["sum"]),
        node("Reshape", ["sum", "only"], ["total"]),
    ]
    nodes = [
        node("Split", ["edges", "halves"], ["from", "to"], axis=0),
        node("Equal", ["from", "to"], ["are_loops"]),
        node("Not", ["are_loops"], ["kept"]),
        node("Squeeze", ["kept", "first"], ["mask"]),
        node("NonZero", ["mask"], ["found"]),
        node("Squeeze", ["found", "first"], ["edge"]),
        node("Gather", ["edges", "edge"], ["others"], axis=1),
        *([*counted, joined] if order == "counted first" else [joined, *counted]),
        node("Gather", ["all", "zero"], ["source"]),
        node("Gather", ["all", "one"], ["target"]),
        node("Expand", ["weight", "total"], ["ones"]),
        node("ScatterElements", ["none", "target", "ones"], ["degrees"], reduction="add"),
        node("Gather", ["degrees", "source"], ["shares"]),
        node("Gather", ["x", "source"], ["values"]),
        node("Div", ["values", "shares"], ["messages"]),
        node("ScatterElements", ["none", "target", "messages"], ["z"], reduction="add"),
    ]
    constants = {
        "halves": np.array([1, 1]), "first": np.array([0]), "zero": np.array(0), "one": np.array(1),
        "loops": np.array([[0, 1, 2]] * 2), "only": np.array([-1]), "nodes": np.array(3),
        "weight": np.float32(1), "none": np.zeros(3, np.float32),
    }  # fmt: skip
    inputs = {"x": drawn(3), "edges": np.array(edges)}
    outputs = [("z", F32), ("degrees", F32)]
    check(save(tmp_path / "m.onnx", nodes, inputs, outputs, constants, opset=18), inputs)


def test_counted_rows_of_two_masks(tmp_path):
    nodes = [
        node("NonZero", ["mask"], ["some"]),
        node("Not", ["mask"], ["others"]),
        node("NonZero", ["others"], ["more"]),
        node("Concat", ["some", "more"], ["at"], axis=1),
        *(node("Shape", [one], [f"{one}_count"], start=1) for one in ("some", "more")),
        node("Add", ["some_count", "more_count"], ["count"]),
        node("Expand", ["half", "count"], ["halves"]),
        node("Squeeze", ["at", "first"], ["line"]),
        node("ScatterElements", ["x", "line", "halves"], ["z"], reduction="add"),
    ]
    constants = {"half": np.float32(0.5), "first": np.array([0])}
    inputs = {"x": drawn(4), "mask": np.array([True, False, True, True])}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants, opset=18), inputs)


def test_a_number_of_rows_beside_a_sum(tmp_path):
    """The primes that stand for the rows of two masks differ by 18, the number of added loops."""
    nodes = [
        node("NonZero", ["mask"], ["some"]),
        node("Not", ["mask"], ["others"]),
        node("NonZero", ["others"], ["more"]),
        node("Concat", ["more", "loops"], ["at"], axis=1),
        node("Shape", ["some"], ["count"], start=1),
        node("Expand", ["half", "count"], ["halves"]),
        node("ReduceSum", ["halves"], ["z"], keepdims=0),
        node("Squeeze", ["at", "first"], ["line"]),
        node("Gather", ["x", "line"], ["values"]),
        node("ReduceSum", ["values"], ["total"], keepdims=0),
    ]
    constants = {
        "half": np.float32(0.5), "first": np.array([0]), "loops": np.arange(18)[None] % 4
    }  # fmt: skip
    inputs = {"x": drawn(4), "mask": np.array([True, False, True, True])}
    outputs = [("z", F32), ("total", F32)]
    check(save(tmp_path / "m.onnx", nodes, inputs, outputs, constants, opset=18), inputs)


@pytest.mark.parametrize("bounds", [[1, 3], [2, 2], [-4, 99]])
def test_bags_between_offsets(tmp_path, bounds):
    """PyTorch's export of `EmbeddingBag`: a mean of rows, or zeros if there are none."""

    def branch(name, nodes, shape):
        result = helper.make_tensor_value_info(name, F32, shape)
        return helper.make_graph(nodes, name, [], [result])

    mean = [
        node("Slice", ["words", "start", "end"], ["bag"]),
        node("Gather", ["w", "bag"], ["rows"]),
        node("ReduceMean", ["rows"], ["mean"], axes=[0]),
    ]
    none = [node("Identity", ["zeros"], ["none"])]
    nodes = [
        node("Equal", ["start", "end"], ["is_empty"]),
        node("If", ["is_empty"], ["z"], then_branch=branch("none", none, [1, FEATURES]),
             else_branch=branch("mean", mean, ["n", "m"])),
    ]  # fmt: skip
    constants = {"w": W, "zeros": np.zeros([1, FEATURES], np.float32)}
    start, end = ([one] for one in bounds)
    inputs = {"words": np.array([3, 0, 1, 1, 2]), "start": np.array(start), "end": np.array(end)}
    path = save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants, opset=17)
    check(path, inputs)


@pytest.mark.parametrize(("result", "kind"), [("rows", F32), ("token", I64)])
def test_selected_rows_are_results(tmp_path, result, kind):
    nodes = [*selecting("rows"), node("Gather", ["x", "token"], ["rows"])]
    inputs = inputs_of("some tokens")
    path = save(tmp_path / "m.onnx", nodes, inputs, [(result, kind)], CONSTANTS)
    check(path, inputs)


def test_no_kernel_gathers_rows(tmp_path):
    """An expert computes all tokens once, not once for each slot, without indices."""
    nodes = [*selecting("rows"), *expert(), *WRITES["rows added"]]
    path = save(tmp_path / "m.onnx", nodes, inputs_of("no token"), [("z", F32)], CONSTANTS)
    module = load(path)  # its ops do not outlive it
    ops = [op.name.removeprefix("torch.") for op in walk(module.operation)]
    assert not [op for op in ops if "scatter" in op or "gather" in op or "index" in op]
    products = [op for op in walk(module.operation) if op.name.endswith((".mm", ".matmul"))]
    shapes = [str(op.results[0].type) for op in products]
    assert shapes == [f"!torch.vtensor<[{TOKENS},{FEATURES}],f32>"]


def test_elements_by_a_stretched_mask(tmp_path):
    """`y[mask] = x[mask] + 1`, for which exporters stretch the mask to the shape that it has."""
    nodes = [
        node("Greater", ["x", "zero"], ["mask"]),
        node("NonZero", ["mask"], ["places"]),
        node("Transpose", ["places"], ["points"]),
        node("GatherND", ["x", "points"], ["some"]),
        node("Add", ["some", "one"], ["more"]),
        node("Expand", ["mask", "shape"], ["whole"]),
        node("NonZero", ["whole"], ["places2"]),
        node("Transpose", ["places2"], ["points2"]),
        node("ScatterND", ["y", "points2", "more"], ["z"]),
    ]
    constants = {"zero": np.float32(0), "one": np.float32(1), "shape": np.array([3, 4])}
    inputs = {"x": drawn(3, 4), "y": drawn(3, 4)}
    check(save(tmp_path / "m.onnx", nodes, inputs, [("z", F32)], constants), inputs)
