"""Graphs in hipDNN's JSON, one or more for each kind of node, written by hand."""

from __future__ import annotations

import copy
from math import prod
from typing import Any

Json = dict[str, Any]


def tensor(uid: int, dims: list[int], data_type: str = "float", **fields: Any) -> Json:
    """A tensor called `t<uid>`, row-major unless strides are given."""
    packed = [prod(dims[dim + 1 :]) for dim in range(len(dims))]
    return {
        "uid": uid,
        "name": f"t{uid}",
        "data_type": data_type,
        "dims": dims,
        "strides": packed,
        "virtual": False,
        "alignment": 16,
        "is_runtime_pass_by_value": False,
        "value_type": "NONE",
    } | fields


def scalar(uid: int, value: float, value_type: str = "Float32Value", **fields: Any) -> Json:
    return tensor(uid, [1], value_type=value_type, value=value, **fields)


def node(kind: str, name: str = "node", **fields: Any) -> Json:
    return {"type": kind, "name": name, "compute_data_type": "float"} | fields


def graph(nodes: list[Json], tensors: list[Json], **fields: Any) -> Json:
    return {
        "name": "graph",
        "compute_data_type": "float",
        "io_data_type": "float",
        "intermediate_data_type": "float",
        "nodes": nodes,
        "tensors": tensors,
    } | fields


def uids(**numbers: int | None) -> Json:
    return {f"{name.rstrip('_')}_tensor_uid": uid for name, uid in numbers.items()}


def attention_inputs(**numbers: int) -> Json:
    """Operands of attention with null for each absent one, as hipDNN writes them."""
    names = "q k v attn_mask scale seq_len_q seq_len_kv seed offset dropout_mask dropout_scale "
    names += "page_table_k page_table_v block_mask sink_token descale_q descale_k descale_v "
    names += "descale_s scale_s scale_o"
    return uids(**dict.fromkeys(names.split()) | numbers)


def attention_outputs(**numbers: int) -> Json:
    names = "o stats max sum_exp rng_dump amax_s amax_o"
    return uids(**dict.fromkeys(names.split()) | numbers)


def pointwise(
    operation: str, *operands: int, out: int, name: str = "node", **attributes: Any
) -> Json:
    """A pointwise node with all keys that hipDNN's reader requires."""
    absent = [None] * (3 - len(operands))
    keys = ("relu_lower_clip", "relu_upper_clip", "relu_lower_clip_slope", "axis_tensor_uid")
    keys += ("swish_beta", "elu_alpha", "softplus_beta")
    inputs: Json = {"operation": operation} | dict.fromkeys(keys) | attributes
    inputs |= {f"in_{at}_tensor_uid": uid for at, uid in enumerate((*operands, *absent))}
    return node("PointwiseAttributes", name, inputs=inputs, outputs=uids(out_0=out))


WINDOW = {"pre_padding": [1, 0], "post_padding": [0, 1], "stride": [2, 1]}
CONVOLUTION = WINDOW | {"dilation": [1, 2], "conv_mode": "CROSS_CORRELATION"}
MASKS: Json = {
    "alibi_mask": False,
    "padding_mask": False,
    "causal_mask": False,
    "causal_mask_bottom_right": False,
    "dropout_probability": None,
    "attn_scale_value": 0.08838834764831843,
    "left_bound": -1,
    "right_bound": 0,
    "diagonal_alignment": "BOTTOM_RIGHT",
}
SDPA: Json = MASKS | {
    "generate_stats": None,
    "max_seq_len_kv": None,
    "mma_core_mode": "float",
    "implementation": "COMPOSITE",
}
X, Y, W = [2, 4, 5, 6], [2, 6, 2, 3], [6, 2, 3, 3]
CHANNEL = [1, 4, 1, 1]
NHWC = [120, 1, 24, 4]
Q, K, V = [2, 8, 5, 16], [2, 2, 7, 16], [2, 2, 7, 12]

GRAPHS: dict[str, Json] = {
    "conv_fprop": graph(
        [
            node(
                "ConvolutionFwdAttributes",
                inputs=uids(x=4, w=2),
                outputs=uids(y=9),
                parameters=CONVOLUTION,
            )
        ],
        [tensor(2, W), tensor(4, X, strides=NHWC), tensor(9, Y, strides=[36, 1, 18, 6])],
        preferred_engine_id=7,
        id="12345678-9abc-4def-8123-456789abcdef",
    ),
    "conv_dgrad": graph(
        [
            node(
                "ConvolutionBwdAttributes",
                inputs=uids(dy=1, w=2),
                outputs=uids(dx=3),
                parameters=CONVOLUTION,
            )
        ],
        [tensor(1, Y), tensor(2, W), tensor(3, X)],
    ),
    "conv_wgrad": graph(
        [
            node(
                "ConvolutionWrwAttributes",
                inputs=uids(x=1, dy=2),
                outputs=uids(dw=3),
                parameters=CONVOLUTION,
            )
        ],
        [tensor(1, X), tensor(2, Y), tensor(3, W)],
    ),
    "matmul": graph(
        [node("MatmulAttributes", inputs=uids(a=0, b=1), outputs=uids(c=2))],
        [tensor(0, [3, 4]), tensor(1, [4, 5], strides=[1, 4]), tensor(2, [3, 5])],
    ),
    "pointwise_chain": graph(
        [
            pointwise("add", 0, 1, out=2, name="add"),
            pointwise("relu_fwd", 2, out=3, name="relu", relu_upper_clip=6.0),
        ],
        [
            tensor(0, [2, 3, 4, 4], strides=[192, 64, 8, 1]),
            scalar(1, 2.5),
            tensor(2, [2, 3, 4, 4], virtual=True),
            tensor(3, [2, 3, 4, 4], "half"),
        ],
    ),
    "relu_bwd": graph(
        [pointwise("relu_bwd", 5, 6, out=7)], [tensor(uid, [3, 4]) for uid in (5, 6, 7)]
    ),
    "binary_select": graph(
        [pointwise("binary_select", 1, 2, 3, out=4)], [tensor(uid, [3, 4]) for uid in (1, 2, 3, 4)]
    ),
    "gen_index": graph(
        [pointwise("gen_index", 1, out=2, axis_tensor_uid=1)],
        [tensor(1, [3, 4]), tensor(2, [3, 4], "int32")],
    ),
    "reduction": graph(
        [
            node(
                "ReductionAttributes",
                mode="MUL_NO_ZEROS",
                is_deterministic=True,
                **uids(in_=1, out=2),
            )
        ],
        [tensor(1, [2, 3, 4]), tensor(2, [2, 1, 4])],
    ),
    "batchnorm_inference": graph(
        [
            node(
                "BatchnormInferenceAttributes",
                inputs=uids(x=1, mean=3, inv_variance=4, scale=5, bias=6),
                outputs=uids(y=2),
            )
        ],
        # Strides of extents of 1 do not matter, and stay.
        [
            tensor(1, X),
            tensor(2, X),
            *(tensor(uid, CHANNEL, strides=[4, 1, 1, 1]) for uid in range(3, 7)),
        ],
    ),
    "batchnorm_inference_variance": graph(
        [
            node(
                "BatchnormInferenceAttributesVarianceExt",
                inputs=uids(x=1, mean=3, variance=4, scale=5, bias=6, epsilon=7),
                outputs=uids(y=2),
            )
        ],
        [
            tensor(1, X),
            tensor(2, X),
            *(tensor(uid, CHANNEL) for uid in range(3, 7)),
            scalar(7, 1e-5, "Float64Value", data_type="double"),
        ],
    ),
    "batchnorm": graph(
        [
            node(
                "BatchnormAttributes",
                inputs=uids(
                    x=1,
                    scale=2,
                    bias=3,
                    epsilon=4,
                    prev_running_mean=5,
                    prev_running_variance=6,
                    momentum=7,
                )
                | {"peer_stats_tensor_uid": []},
                outputs=uids(
                    y=8, mean=None, inv_variance=9, next_running_mean=10, next_running_variance=11
                ),
            )
        ],
        [
            tensor(1, X, "half"),
            *(tensor(uid, CHANNEL) for uid in (2, 3)),
            scalar(4, 1e-5),
            *(tensor(uid, CHANNEL) for uid in (5, 6)),
            scalar(7, 0.1),
            tensor(8, X, "half"),
            *(tensor(uid, CHANNEL) for uid in (9, 10, 11)),
        ],
    ),
    "batchnorm_backward": graph(
        [
            node(
                "BatchnormBackwardAttributes",
                inputs=uids(dy=1, x=2, scale=3, mean=4, inv_variance=5)
                | {"peer_stats_tensor_uid": []},
                outputs=uids(dx=6, dscale=7, dbias=8),
            )
        ],
        [
            tensor(1, X),
            tensor(2, X),
            *(tensor(uid, CHANNEL) for uid in (3, 4, 5)),
            tensor(6, X),
            *(tensor(uid, CHANNEL) for uid in (7, 8)),
        ],
    ),
    "layernorm": graph(
        [
            node(
                "LayernormAttributes",
                inputs=uids(x=1, scale=2, bias=3, epsilon=4),
                outputs=uids(y=5, mean=6, inv_variance=7),
                attributes={"normalized_dim_count": 1, "forward_phase": "TRAINING"},
            )
        ],
        [
            tensor(1, [2, 3, 8]),
            tensor(2, [1, 1, 8]),
            tensor(3, [1, 1, 8]),
            scalar(4, 1e-5),
            tensor(5, [2, 3, 8]),
            tensor(6, [2, 3, 1]),
            tensor(7, [2, 3, 1]),
        ],
    ),
    "layernorm_backward": graph(
        [
            node(
                "LayernormBackwardAttributes",
                inputs=uids(dy=1, x=2, scale=3, mean=4, inv_variance=5, epsilon=None),
                outputs=uids(dx=6, dscale=7, dbias=8),
                attributes={"normalized_dim_count": 2},
            )
        ],
        [
            tensor(1, [2, 3, 8]),
            tensor(2, [2, 3, 8]),
            tensor(3, [1, 3, 8]),
            tensor(4, [2, 1, 1]),
            tensor(5, [2, 1, 1]),
            tensor(6, [2, 3, 8]),
            tensor(7, [1, 3, 8]),
            tensor(8, [1, 3, 8]),
        ],
    ),
    "rmsnorm": graph(
        [
            node(
                "RMSNormAttributes",
                inputs=uids(x=1, scale=2, epsilon=3),
                outputs=uids(y=4, inv_rms=5),
                forward_phase="TRAINING",
            )
        ],
        [
            tensor(1, [2, 3, 8], "bfloat16"),
            tensor(2, [1, 1, 8], "bfloat16"),
            scalar(3, 1e-6),
            tensor(4, [2, 3, 8], "bfloat16"),
            tensor(5, [2, 3, 1]),
        ],
    ),
    # A scale per channel, statistics per sample and channel.
    "rmsnorm_channels": graph(
        [
            node(
                "RMSNormAttributes",
                inputs=uids(x=1, scale=2, epsilon=3, bias=4),
                outputs=uids(y=5, inv_rms=6),
                forward_phase="TRAINING",
            )
        ],
        [
            tensor(1, X),
            tensor(2, CHANNEL),
            scalar(3, 1e-5, "Float64Value", data_type="double"),
            tensor(4, CHANNEL),
            tensor(5, X),
            tensor(6, [2, 4, 1, 1]),
        ],
    ),
    "rmsnorm_backward": graph(
        [
            node(
                "RMSNormBackwardAttributes",
                inputs=uids(dy=1, x=2, scale=3, inv_rms=4),
                outputs=uids(dx=5, dscale=6),
            )
        ],
        [
            tensor(1, [2, 3, 8]),
            tensor(2, [2, 3, 8]),
            tensor(3, [1, 1, 8]),
            tensor(4, [2, 3, 1]),
            tensor(5, [2, 3, 8]),
            tensor(6, [1, 1, 8]),
        ],
    ),
    "sdpa": graph(
        [
            node(
                "SdpaAttributes",
                inputs=attention_inputs(q=1, k=2, v=3),
                outputs=attention_outputs(o=4, stats=5),
                attributes=SDPA | {"generate_stats": True},
            )
        ],
        [
            tensor(1, Q, "half", strides=[640, 16, 128, 1]),
            tensor(2, K, "half"),
            tensor(3, V, "half"),
            tensor(4, [2, 8, 5, 12], "half"),
            tensor(5, [2, 8, 5, 1]),
        ],
    ),
    "sdpa_paged": graph(
        [
            node(
                "SdpaAttributes",
                inputs=attention_inputs(
                    q=1, k=2, v=2, seq_len_q=3, seq_len_kv=3, page_table_k=4, page_table_v=4
                ),
                outputs=attention_outputs(o=5),
                attributes=SDPA | {"max_seq_len_kv": 16},
            )
        ],
        [
            tensor(1, Q, "half"),
            tensor(2, [6, 2, 4, 16], "half"),
            tensor(3, [2, 1, 1, 1], "int32"),
            tensor(4, [2, 4], "int32"),
            tensor(5, Q, "half"),
        ],
    ),
    # A window, in both spellings; a score for no key; nulls left out, as some files have them.
    "sdpa_sink": graph(
        [
            node(
                "SdpaAttributes",
                inputs=uids(q=1, k=2, v=2, sink_token=3),
                outputs=uids(o=4),
                attributes=SDPA
                | {
                    "causal_mask": True,
                    "left_bound": 4,
                    "mma_core_mode": "unset",
                    "diagonal_alignment": "TOP_LEFT",
                },
            )
        ],
        [
            tensor(1, Q, "bfloat16", strides=[640, 16, 128, 1]),
            tensor(2, K, "bfloat16"),
            tensor(3, [8], "bfloat16"),
            tensor(4, Q, "bfloat16", strides=[640, 16, 128, 1]),
        ],
    ),
    # Batches one after the other in one buffer, and a scale that comes at run time.
    "sdpa_ragged": graph(
        [
            node(
                "SdpaAttributes",
                inputs=attention_inputs(q=1, k=2, v=2, scale=8, seq_len_q=3, seq_len_kv=3),
                outputs=attention_outputs(o=5),
                attributes=SDPA | {"padding_mask": True, "attn_scale_value": None},
            )
        ],
        [
            tensor(1, Q, "half", ragged_offset_tensor_uid=6, ragged_offset_multiplier=128),
            tensor(2, [2, 2, 5, 16], "half"),
            tensor(3, [2, 1, 1, 1], "int32"),
            tensor(5, Q, "half", ragged_offset_tensor_uid=6, alignment=64),
            tensor(6, [3, 1, 1, 1], "int64"),
            tensor(8, [1], is_runtime_pass_by_value=True),
        ],
    ),
    "sdpa_backward": graph(
        [
            node(
                "SdpaBackwardAttributes",
                inputs=uids(
                    q=1,
                    k=2,
                    v=3,
                    o=4,
                    do=5,
                    stats=6,
                    scale=None,
                    attn_mask=7,
                    seq_len_q=None,
                    seq_len_kv=None,
                    seed=None,
                    offset=None,
                    dropout_mask=None,
                    dropout_scale=None,
                    dropout_scale_inv=None,
                ),
                outputs=uids(dq=8, dk=9, dv=10, dbias=11),
                parameters=MASKS,
            )
        ],
        [
            tensor(1, Q),
            tensor(2, K),
            tensor(3, V),
            tensor(4, [2, 8, 5, 12]),
            tensor(5, [2, 8, 5, 12]),
            tensor(6, [2, 8, 5, 1]),
            tensor(7, [1, 8, 5, 7]),
            tensor(8, Q),
            tensor(9, K),
            tensor(10, V),
            tensor(11, [1, 8, 5, 7]),
        ],
    ),
    "block_scaled_matmul": graph(
        [
            node(
                "BlockScaleDequantizeAttributes",
                "dequantize_a",
                inputs=uids(x=1, scale=2),
                outputs=uids(y=3),
                block_size=[32],
                is_negative_scale=False,
            ),
            node(
                "BlockScaleDequantizeAttributes",
                "dequantize_b",
                inputs=uids(x=4, scale=5),
                outputs=uids(y=6),
                block_size=[32],
                is_negative_scale=False,
            ),
            node("MatmulAttributes", "matmul", inputs=uids(a=3, b=6), outputs=uids(c=7)),
        ],
        [
            tensor(1, [32, 128], "fp8_e4m3", strides=[1, 32]),
            tensor(2, [32, 4], "fp8_e8m0"),
            tensor(3, [32, 128], virtual=True),
            tensor(4, [128, 32], "fp8_e4m3"),
            tensor(5, [4, 32], "fp8_e8m0"),
            tensor(6, [128, 32], virtual=True),
            tensor(7, [32, 32], "bfloat16"),
        ],
    ),
    "block_scale_quantize": graph(
        [
            node(
                "BlockScaleQuantizeAttributes",
                inputs=uids(x=1),
                outputs=uids(y=2, scale=3),
                block_size=32,
                axis=0,
                transpose=False,
            )
        ],
        [tensor(1, [64, 8]), tensor(2, [64, 8], "fp4_e2m1"), tensor(3, [2, 8], "fp8_e8m0")],
    ),
    "resample_fwd": graph(
        [
            node(
                "ResampleFwdAttributes",
                **uids(x=1, y=2, index=3),
                **WINDOW,
                window=[2, 3],
                resample_mode="MAXPOOL",
                padding_mode="NEG_INF_PAD",
                generate_index=True,
            )
        ],
        [tensor(1, X), tensor(2, [2, 4, 3, 5]), tensor(3, [2, 4, 3, 5], "int32")],
    ),
    "resample_bwd": graph(
        [
            node(
                "ResampleBwdAttributes",
                **uids(dy=1, dx=2),
                **WINDOW,
                window=[2, 3],
                resample_mode="AVGPOOL_EXCLUDE_PADDING",
                padding_mode="ZERO_PAD",
            )
        ],
        [tensor(1, [2, 4, 3, 5]), tensor(2, X)],
    ),
    "moe_grouped_matmul": graph(
        [
            node(
                "MoeGroupedMatmulAttributes",
                inputs=uids(token=1, weight=2, first_token_offset=3, token_index=4, token_ks=5),
                outputs=uids(output=6),
                mode="scatter",
                top_k=2,
            )
        ],
        [
            tensor(1, [1, 6, 8]),
            tensor(2, [3, 8, 5], strides=[40, 1, 8]),
            tensor(3, [3, 1, 1], "int32"),
            tensor(4, [1, 6, 1], "int32"),
            tensor(5, [1, 6, 1], "int32"),
            tensor(6, [1, 12, 5]),
        ],
    ),
    "moe_grouped_matmul_bwd": graph(
        [
            node(
                "MoeGroupedMatmulBwdAttributes",
                inputs=uids(doutput=1, token=2, first_token_offset=3),
                outputs=uids(dweight=4),
            )
        ],
        [
            tensor(1, [1, 6, 5]),
            tensor(2, [1, 6, 8]),
            tensor(3, [3, 1, 1], "int32"),
            tensor(4, [3, 8, 5]),
        ],
    ),
    "custom_op": graph(
        [
            node(
                "CustomOpAttributes",
                custom_op_id="fusilli.rope",
                input_tensor_uids=[1, 2],
                output_tensor_uids=[3],
                data=[1, 0, 255],
            )
        ],
        [tensor(uid, [3, 4]) for uid in (1, 2, 3)],
    ),
}


def templated(source: Json, name: str = "only") -> tuple[Json, Json]:
    """Returns a graph as a template, and the sweep with the case that gives the graph back.

    As hipDNN's bundles have them: extents, strides and types of tensors by uid, relu's clips and
    the paddings of windows below `attributes`, the I/O type by its name.
    """
    template, attributes, tensors = copy.deepcopy(source), Json(), list[Json]()
    for one in template["tensors"]:
        keys = ("dims", "strides", "data_type")
        tensors.append({"uid": one["uid"]} | {key: one[key] for key in keys})
        one |= {key: f"${{case.{key}}}" for key in keys}
    for at, one in enumerate(template["nodes"]):
        for section in (one.get("inputs", {}), one.get("parameters", {})):
            for key in section.keys() & {"relu_upper_clip", "pre_padding", "dilation"}:
                attributes[f"{key}_{at}"] = section[key]
                section[key] = f"${{case.attributes.{key}_{at}}}"
    template["io_data_type"] = "${case.io_data_type}"
    values: Json = {"io_data_type": source["io_data_type"], "tensors": tensors}
    if attributes:
        values["attributes"] = attributes
    return template, {"version": 1, "cases": [{"id": name, "values": values}]}
