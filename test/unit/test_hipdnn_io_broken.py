"""Broken graphs are refused, each with one error that names what is wrong."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hipdnn_graphs import GRAPHS

from hipgraft import hipdnn_io
from hipgraft.ir.bindings import make_context
from hipgraft.ir.diagnostics import HipgraftError

CONTEXT = make_context()
MATMUL = "node 'node' (MatmulAttributes)"
CONVOLUTION = "node 'node' (ConvolutionFwdAttributes)"


def broken(name: str, change: Any) -> Any:
    source = copy.deepcopy(GRAPHS[name])
    change(source)
    return source


def put(*path: Any) -> Any:
    """Sets the member at a path, the last of which is its value; deletes it for `...`."""
    *steps, key, value = path

    def change(source: Any) -> None:
        for step in steps:
            source = source[step]
        if value is ...:
            del source[key]
        else:
            source[key] = value

    return change


BROKEN = [
    (
        "matmul",
        put("nodes", 0, "inputs", "b_tensor_uid", 7),
        f"{MATMUL}: field 'b_tensor_uid' is 7, but no tensor has that uid",
    ),
    (
        "matmul",
        put("nodes", 0, "inputs", "b_tensor_uid", ...),
        f"{MATMUL} requires field 'b_tensor_uid'",
    ),
    (
        "matmul",
        put("nodes", 0, "inputs", "b_tensor_uid", "one"),
        f"{MATMUL}: expected field 'b_tensor_uid' to be a tensor's uid, but found \"one\"",
    ),
    (
        "matmul",
        put("nodes", 0, "type", "SliceAttributes"),
        "node 'node': unknown type 'SliceAttributes'",
    ),
    ("matmul", put("nodes", 0, "type", ...), "nodes[0]: requires field 'type'"),
    (
        "matmul",
        put("nodes", 0, "inputs", [1]),
        "nodes[0]: expected field 'inputs' to be an object, but found [1]",
    ),
    ("matmul", put("nodes", ...), "graph: requires field 'nodes'"),
    ("matmul", put("nodes", []), "graph has no nodes"),
    (
        "matmul",
        put("tensors", 2, "virtual", True),
        "graph yields nothing: each tensor that a node writes is virtual",
    ),
    (
        "matmul",
        put("tensors", 1, "virtual", True),
        "tensor 't1' (uid 1) is virtual, but no node writes it",
    ),
    ("matmul", put("tensors", 1, "uid", 0), "tensor 't1' (uid 0) has the uid of tensor 't0'"),
    (
        "matmul",
        put("tensors", 1, "data_type", "float16"),
        "tensor 't1' (uid 1): unknown data type 'float16', which hipDNN reads as unset; "
        "its name of the type is 'half'",
    ),
    (
        "matmul",
        put("tensors", 1, "strides", [1]),
        "tensor 't1' (uid 1): expected 2 values in field 'strides' as in 'dims', but found 1",
    ),
    (
        "matmul",
        put("tensors", 1, "dims", [4, 0]),
        "tensor 't1' (uid 1): expected values of 1 or more in field 'dims', but found [4, 0]",
    ),
    (
        "matmul",
        put("tensors", 1, "dims", "4x5"),
        "tensors[1]: expected field 'dims' to be an array, but found \"4x5\"",
    ),
    (
        "matmul",
        put("tensors", 2, "dims", [2, 5]),
        "'hipdnn.matmul' op expected shape 3x5 of 'c', but found 2x5",
    ),
    (
        "conv_fprop",
        put("tensors", 1, "dims", [4, 5, 6]),
        "tensor 't4' (uid 4): expected 3 values in field 'strides' as in 'dims', but found 4",
    ),
    (
        "conv_fprop",
        put("nodes", 0, "parameters", "conv_mode", "SIDEWAYS"),
        f"{CONVOLUTION}: expected field 'conv_mode' to be one of CONVOLUTION, "
        'CROSS_CORRELATION, but found "SIDEWAYS"',
    ),
    (
        "conv_fprop",
        put("nodes", 0, "parameters", "stride", [1.5, 1]),
        f"{CONVOLUTION}: expected field 'stride' to be an array of integers, but found [1.5, 1]",
    ),
    (
        "pointwise_chain",
        put("nodes", 0, "inputs", "operation", "unset"),
        "node 'add' (PointwiseAttributes) requires field 'operation'",
    ),
    (
        "pointwise_chain",
        put("nodes", 0, "inputs", "in_1_tensor_uid", 3),
        "nodes 'add', 'relu' form a cycle",
    ),
    (
        "pointwise_chain",
        put("nodes", 1, "outputs", "out_0_tensor_uid", 2),
        "tensor 't2' (uid 2) is written by two nodes, 'add' and 'relu'",
    ),
    (
        "pointwise_chain",
        put("nodes", 1, "outputs", "out_0_tensor_uid", 1),
        "tensor 't1' (uid 1) has a value, but a node writes it",
    ),
    (
        "pointwise_chain",
        put("nodes", 1, "inputs", "in_0_tensor_uid", 0),
        "'hipdnn.graph' op expected connected ops, but found 2 separate parts",
    ),
    (
        "pointwise_chain",
        put("nodes", 1, "inputs", "relu_upper_clip", "six"),
        "node 'relu' (PointwiseAttributes): expected field 'relu_upper_clip' to be float, "
        'but found "six"',
    ),
    (
        "pointwise_chain",
        put("tensors", 1, "value", ...),
        "tensor 't1' (uid 1) requires field 'value'",
    ),
    (
        "sdpa_ragged",
        put("tensors", 0, "ragged_offset_tensor_uid", 99),
        "tensor 't1' (uid 1): field 'ragged_offset_tensor_uid' is 99, but no tensor has that uid",
    ),
]


@pytest.mark.parametrize(("name", "change", "message"), BROKEN)
def test_broken_graph_is_refused(name: str, change: Any, message: str):
    text = json.dumps(broken(name, change))
    with pytest.raises(HipgraftError) as caught:
        hipdnn_io.import_document(hipdnn_io.read_json(text), CONTEXT)
    assert caught.value.message == message
    assert caught.value.location.startswith("<hipdnn graph>")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"nodes": [9223372036854775808]}', "integer 9223372036854775808 has more than 64 bits"),
        ('{"nodes": [{"": 0}]}', "field '' has a name that no attribute can have"),
        ('{"a\\u0000b": 0}', "field 'a\\x00b' has a name that no attribute can have"),
        ("[" * 100_000, "malformed JSON: it is nested too deeply"),
    ],
)
def test_what_python_cannot_read_is_refused(text: str, message: str):
    with pytest.raises(HipgraftError) as caught:
        hipdnn_io.read_json(text, "graph.json")
    assert caught.value.message == message
    assert caught.value.location == "graph.json"


def test_syntax_error_is_located():
    with pytest.raises(HipgraftError) as caught:
        hipdnn_io.read_json('{"name": "x",\n  nodes: []}', "graph.json")
    assert caught.value.location == "graph.json:2:3"
