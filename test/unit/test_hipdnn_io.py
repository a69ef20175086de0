"""hipDNN's files come back as they were, and broken ones are refused by name."""

from __future__ import annotations

import copy
import json
import struct
from typing import Any

import pytest
from hipdnn_graphs import GRAPHS, graph, node, pointwise, scalar, tensor, uids

from hipgraft import hipdnn_io
from hipgraft.dialects import hipdnn
from hipgraft.hipdnn_io.forms import FORMS
from hipgraft.hipdnn_io.schema import SCHEMA
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.diagnostics import HipgraftError

CONTEXT = make_context()


def imported(source: Any) -> ir.Module:
    return hipdnn_io.import_document(hipdnn_io.read_json(json.dumps(source)), CONTEXT)


def exported(module: ir.Module) -> hipdnn_io.GraphDocument:
    """The module's graph, after it has been text."""
    with CONTEXT:
        again = ir.Module.parse(str(module))
    return hipdnn_io.export_graph(hipdnn_io.find_graph(again))


def round_trip(source: Any) -> Any:
    return json.loads(hipdnn_io.write_json(exported(imported(source))))


def only_op(module: ir.Module, at: int = 0) -> Any:
    return hipdnn.wrap(hipdnn_io.find_graph(module).body.operations[at])


@pytest.mark.parametrize("name", GRAPHS)
def test_json_comes_back_as_it_was(name: str):
    assert round_trip(GRAPHS[name]) == GRAPHS[name]


@pytest.mark.parametrize("name", GRAPHS)
def test_flatbuffer_holds_what_the_json_holds(name: str):
    data = hipdnn_io.write_flatbuffer(exported(imported(GRAPHS[name])))
    document = hipdnn_io.read_flatbuffer(data)
    module = hipdnn_io.import_document(document, CONTEXT)
    assert single(json.loads(hipdnn_io.write_json(exported(module)))) == single(
        GRAPHS[name] | {"is_override_shape_enabled": False}
    )


def single(value: Any) -> Any:
    """Returns a document as a FlatBuffer holds it: floats in single precision, and no nulls."""
    if isinstance(value, float):
        return struct.unpack("<f", struct.pack("<f", value))[0]
    if isinstance(value, list):
        return [single(one) for one in value]
    if isinstance(value, dict):
        return {key: single(one) for key, one in value.items() if one is not None}
    return value


def test_each_kind_of_node_has_a_graph():
    assert {one["type"] for g in GRAPHS.values() for one in g["nodes"]} == set(FORMS)


def test_forms_are_in_the_order_of_the_union():
    assert list(FORMS) == SCHEMA.node_types


@pytest.mark.parametrize("name", FORMS)
def test_schema_has_the_fields_of_the_op(name: str):
    missing = FORMS[name].members().keys() - SCHEMA.tables[name].keys()
    assert not missing
    others = {"umd_flops", "umd_bytes", "test_generation_marker"}
    assert SCHEMA.tables[name].keys() - FORMS[name].members().keys() <= others


def test_schema_has_the_enumerators_of_the_dialect():
    for form in FORMS.values():
        for field in form.written_attributes:
            for value in field.kind.values:
                assert SCHEMA.number(field.kind.description, value) is not None


def test_backward_operands_are_named():
    module = imported(GRAPHS["relu_bwd"])
    op = only_op(module)
    assert [op.operand(name) for name in ("dy", "x")] == list(op.operation.block.arguments)


def test_select_takes_its_mask_last():
    module = imported(GRAPHS["binary_select"])
    op = only_op(module)
    named = [op.operand(name) for name in ("on_true", "on_false", "mask")]
    assert named == list(op.operation.block.arguments)


def test_dims_of_a_norm_with_statistics_per_channel():
    module = imported(GRAPHS["rmsnorm_channels"])
    assert only_op(module, 1).dims == [2, 3]


def test_axis_is_no_tensor():
    module = imported(GRAPHS["gen_index"])
    assert only_op(module).axis == 1


def test_layouts_are_the_graphs():
    module = imported(GRAPHS["conv_fprop"])
    op = hipdnn_io.find_graph(module)
    assert op.arg_strides == [None, [120, 1, 24, 4]]
    assert op.result_strides == [[36, 1, 18, 6]]


def test_ragged_offsets_are_an_operand():
    module = imported(GRAPHS["sdpa_ragged"])
    op = hipdnn_io.find_graph(module)
    assert op.arg_ragged == [3, -1, -1, -1, -1]
    assert op.arg_ragged_multipliers == [128, 1, 1, 1, 1]
    assert op.result_ragged == [3]
    assert ir.RankedTensorType(op.inputs[3].type).shape == [3, 1, 1, 1]


def test_first_generation_of_keys():
    new = GRAPHS["matmul"]
    old = {key: value for key, value in new.items() if not key.endswith("_data_type")}
    old |= {"compute_type": "float", "io_type": "float", "intermediate_type": "float"}
    assert round_trip(old) == new


def test_unset_types_are_the_graphs():
    source = copy.deepcopy(GRAPHS["pointwise_chain"])
    source |= {"io_data_type": "half", "intermediate_data_type": "double"}
    for one in (*source["nodes"], *source["tensors"]):
        one["compute_data_type" if "type" in one else "data_type"] = "unset"
    module = imported(source)
    assert json.loads(hipdnn_io.write_json(exported(module))) == source
    add = only_op(module, 1)
    assert [str(value.type) for value in (add.in_0, add.in_1, add.out_0)] == [
        "tensor<2x3x4x4xf16>",
        "tensor<1xf16>",
        "tensor<2x3x4x4xf64>",
    ]


def test_fields_are_found_in_any_section():
    source = copy.deepcopy(GRAPHS["sdpa_paged"])
    (attention,) = source["nodes"]
    for key in ("page_table_k_tensor_uid", "page_table_v_tensor_uid"):
        attention["attributes"][key] = attention["inputs"].pop(key)
    assert round_trip(source) == GRAPHS["sdpa_paged"]
    layernorm = copy.deepcopy(GRAPHS["layernorm"])
    # As a former version writes it: on the node, the enumerator as its number.
    layernorm["nodes"][0] |= {"normalized_dim_count": 1, "forward_phase": 2}
    del layernorm["nodes"][0]["attributes"]
    assert round_trip(layernorm) == GRAPHS["layernorm"]


def test_dims_that_are_not_the_last_have_no_number():
    """The number of dims would mean the last ones."""
    channels = graph(
        [
            node(
                "LayernormAttributes",
                inputs=uids(x=1, scale=2, bias=3, epsilon=4),
                outputs=uids(y=5),
                attributes={"forward_phase": "INFERENCE"},
            )
        ],
        [
            tensor(1, [2, 3, 8]),
            tensor(2, [1, 3, 1]),
            tensor(3, [1, 3, 1]),
            scalar(4, 1e-5),
            tensor(5, [2, 3, 8]),
        ],
    )
    assert only_op(imported(channels), 1).dims == [1]
    assert round_trip(channels) == channels


def test_nodes_may_come_in_any_order():
    source = copy.deepcopy(GRAPHS["block_scaled_matmul"])
    source["nodes"].reverse()
    names = [one["name"] for one in round_trip(source)["nodes"]]
    assert names == ["dequantize_b", "dequantize_a", "matmul"]


def test_unknown_fields_are_reported_and_kept():
    source = copy.deepcopy(GRAPHS["matmul"])
    source["color"] = "red"
    source["nodes"][0]["hint"] = {"tile": [1, 2.5, None]}
    source["nodes"][0]["inputs"]["speed"] = True
    source["nodes"][0]["umd_flops"] = "{}"
    source["tensors"][1]["origin"] = "disk"
    document = hipdnn_io.read_json(json.dumps(source))
    module = hipdnn_io.import_document(document, CONTEXT)
    assert json.loads(hipdnn_io.write_json(exported(module))) == source
    assert document.warnings == [
        "node 'node' (MatmulAttributes) has unknown field 'speed', which is kept",
        "node 'node' (MatmulAttributes) has unknown field 'hint', which is kept",
        "tensor 't1' (uid 1) has unknown field 'origin', which is kept",
        "graph has unknown field 'color', which is kept",
    ]


def test_unused_tensors_are_reported_and_dropped():
    source = copy.deepcopy(GRAPHS["matmul"])
    source["tensors"].append(tensor(9, [4]))
    document = hipdnn_io.read_json(json.dumps(source))
    module = hipdnn_io.import_document(document, CONTEXT)
    assert document.warnings == ["tensor 't9' (uid 9) is used by no node, and dropped"]
    assert json.loads(hipdnn_io.write_json(exported(module))) == GRAPHS["matmul"]


@pytest.mark.parametrize(
    ("value_type", "data_type", "value"),
    [
        ("Float16Value", "half", 0.1),
        ("BFloat16Value", "bfloat16", 0.1),
        ("Float64Value", "double", 0.1),
        ("Float32Value", "half", 3.0),
        ("Float8Value", "fp8_e4m3", 0x38),
        ("Int32Value", "int32", -7),
        ("Int64Value", "int64", 2**60 + 1),
    ],
)
def test_scalars_keep_their_value(value_type: str, data_type: str, value: float):
    one = scalar(1, value, value_type, data_type=data_type)
    source = graph(
        [pointwise("mul", 0, 1, out=2)],
        [tensor(0, [4], data_type), one, tensor(2, [4], data_type)],
    )
    assert round_trip(source) == source


def test_graph_of_a_compiler_gets_names_and_uids():
    with CONTEXT:
        module = ir.Module.parse("""
          func.func @f(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf16> {
            %y = "hipdnn.graph"(%x, %w) ({
            ^bb0(%gx: tensor<2x3xf32>, %gw: tensor<3x4xf32>):
              %0 = "hipdnn.matmul"(%gx, %gw) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
              %1 = "hipdnn.pointwise"(%0) {mode = "neg"} : (tensor<2x4xf32>) -> tensor<2x4xf16>
              "hipdnn.yield"(%1) : (tensor<2x4xf16>) -> ()
            }) {name = "product", arg_strides = [unit, array<i64: 1, 3>]}
              : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf16>
            return %y : tensor<2x4xf16>
          }""")
    document = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
    expected = [
        (1, "arg0", [3, 1], False),
        (2, "arg1", [1, 3], False),
        (3, "matmul_0::C", [4, 1], True),
        (4, "pointwise_1::OUT_0", [4, 1], False),
    ]
    assert [(t.uid, t.name, t.strides, t.virtual) for t in document.tensors] == expected
    again = json.loads(hipdnn_io.write_json(document))
    assert round_trip(again) == again


TEMPLATE: Any = graph(
    [node("MatmulAttributes", inputs=uids(a=0, b=1), outputs=uids(c=2))],
    [
        tensor(at, []) | {key: f"${{case.tensors.{at}.{key}}}" for key in ("dims", "strides")}
        for at in range(3)
    ],
    io_data_type="${case.io}",
    name="m_${case.io}",
)
VALUES: Any = {
    "io": "half",
    "tensors": [
        {"dims": [3, 4], "strides": [4, 1]},
        {"dims": [4, 5], "strides": [1, 4]},
        {"dims": [3, 5], "strides": [5, 1]},
    ],
}


# Forms that hipDNN itself lacks: indices, and placeholders in longer strings.
def test_template_takes_values_by_index():
    sweep = {"version": 1, "cases": [{"id": "small", "values": VALUES}]}
    cases = hipdnn_io.sweep_cases(sweep, "sweep.json")
    expanded = hipdnn_io.expand_template(TEMPLATE, cases["small"], "graph.json")
    expected = GRAPHS["matmul"] | {"io_data_type": "half", "name": "m_half"}
    assert expanded == expected


def test_damaged_buffers_are_refused():
    data = hipdnn_io.write_flatbuffer(exported(imported(GRAPHS["batchnorm"])))
    for length in range(0, len(data), 7):
        try:
            hipdnn_io.import_document(hipdnn_io.read_flatbuffer(data[:length]), CONTEXT)
        except HipgraftError:
            continue
        # Only strings or alignment can be missing at the end.
        assert length > len(data) // 2


def test_type_that_the_flatbuffer_lacks():
    source = copy.deepcopy(GRAPHS["gen_index"])
    source["tensors"][1]["data_type"] = "boolean"
    source["nodes"] = [pointwise("cmp_gt", 1, 1, out=2)]
    document = exported(imported(source))
    with pytest.raises(HipgraftError, match="no number for 'boolean' in hipDNN's schema"):
        hipdnn_io.write_flatbuffer(document)


def test_enumerators_in_json_may_be_numbers_of_the_schema():
    source = copy.deepcopy(GRAPHS["layernorm"])
    assert source["nodes"][0]["attributes"]["forward_phase"] == "TRAINING"
    source["nodes"][0]["attributes"]["forward_phase"] = 2
    data = hipdnn_io.write_flatbuffer(hipdnn_io.read_json(json.dumps(source)))
    module = hipdnn_io.import_document(hipdnn_io.read_flatbuffer(data), CONTEXT)
    assert only_op(module, 1).forward_phase == "TRAINING"
    for wrong in (3, True, -1):
        source["nodes"][0]["attributes"]["forward_phase"] = wrong
        document = hipdnn_io.read_json(json.dumps(source))
        with pytest.raises(HipgraftError, match=f"no number for '{wrong}' in hipDNN's schema"):
            hipdnn_io.write_flatbuffer(document)
