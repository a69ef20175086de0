"""Graphs as hipDNN's users store them: read, written, compiled for gfx942, and run on the CPU."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from emulator import missing_reason, open_emulator
from hipdnn_attention_kinds import ATTENTION, Array, Kind, random, uniform, wide
from hipdnn_graphs import (
    Json,
    graph,
    node,
    pointwise,
    scalar,
    tensor,
    uids,
)
from oracle import tensors as oracle
from oracle.gradients import gradient

from hipgraft import hipdnn_io
from hipgraft.compiler.program import compile
from hipgraft.runtime import run_module

EPSILON = 1e-5


def channels_last(dims: Sequence[int], pixel: int | None = None) -> list[int]:
    """Strides of [N, D, H, W, C]; `pixel` elements from one pixel to the next."""
    step = pixel or dims[1]
    inner = [step * prod(dims[dim + 1 :]) for dim in range(2, len(dims))]
    return [step * prod(dims[2:]), 1, *inner]


def scaled_product(element: str, batch: Sequence[int] = ()) -> Kind:
    """Operands of 8 bits in blocks of 32 along K, a by columns, as hipBLASLt takes them."""
    dtype = {"fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e5m2": ml_dtypes.float8_e5m2}[element]
    outer, size = [*batch], prod(batch)
    shapes = [[32, 128], [32, 4], [128, 16], [4, 16]]
    a, b = uniform(*outer, 32, 128, dtype=dtype), uniform(*outer, 128, 16, dtype=dtype)
    scales = [
        (2.0 ** random.integers(-3, 4, (*outer, *shape))).astype(ml_dtypes.float8_e8m0fnu)
        for shape in (shapes[1], shapes[3])
    ]
    left, right, by_row, by_column = wide(a, b, *scales)
    left *= np.repeat(by_row, 32, axis=-1)
    right *= np.repeat(by_column, 32, axis=-2)
    by_columns = [32 * 128] * (size > 1) + [1, 32]
    scaling: Json = {"block_size": [32], "is_negative_scale": False}
    source = graph(
        [
            node(
                "BlockScaleDequantizeAttributes", f"dequantize_{y}", inputs=uids(x=x, scale=x + 1),
                outputs=uids(y=y), **scaling,
            )
            for x, y in ((1, 3), (4, 6))
        ]
        + [node("MatmulAttributes", "matmul", inputs=uids(a=3, b=6), outputs=uids(c=7))],
        [
            tensor(1, [*outer, 32, 128], element, strides=by_columns),
            tensor(2, [*outer, 32, 4], "fp8_e8m0"),
            tensor(3, [*outer, 32, 128], virtual=True),
            tensor(4, [*outer, 128, 16], element),
            tensor(5, [*outer, 4, 16], "fp8_e8m0"),
            tensor(6, [*outer, 128, 16], virtual=True),
            tensor(7, [*outer, 32, 16], "bfloat16"),
        ],
    )  # fmt: skip
    return Kind(source, [a, scales[0], b, scales[1]], [left @ right], 1e-2)


def convolution_3d(direction: str, *, last: bool) -> Kind:
    """Three spatial dimensions in two groups, strided, dilated and padded on both sides."""
    x_dims, w_dims, y_dims = [2, 4, 5, 4, 6], [6, 2, 3, 2, 2], [2, 6, 3, 3, 6]
    window: Json = {"stride": [2, 1, 1], "dilation": [1, 2, 1]}
    padding: Json = {"pre_padding": [1, 1, 1], "post_padding": [1, 0, 0]}
    names = {"Fwd": ("x", "w", "y"), "Bwd": ("dy", "w", "dx"), "Wrw": ("x", "dy", "dw")}
    sizes = {"x": x_dims, "w": w_dims, "y": y_dims}
    names_here = names[direction]
    dims = [sizes[name.removeprefix("d")] for name in names_here]
    lies = [{"strides": channels_last(one)} if last else {} for one in dims]
    first, second, result = names_here
    one = node(
        f"Convolution{direction}Attributes",
        inputs=uids(**{first: 1, second: 2}),
        outputs=uids(**{result: 3}),
        parameters=window | padding | {"conv_mode": "CROSS_CORRELATION"},
    )
    source = graph([one], [tensor(at + 1, dims[at], **lies[at]) for at in range(3)])
    values = {name: uniform(*size) for name, size in sizes.items()}
    how = {"pre": [1, 1, 1], "post": [1, 0, 0], **window}
    exact = dict(zip(values, wide(*values.values()), strict=True))
    dx, dw = oracle.conv_gradients(exact["x"], exact["w"], exact["y"], **how)
    expected = {"y": oracle.conv(exact["x"], exact["w"], **how), "dx": dx, "dw": dw}[result]
    return Kind(source, [values[name.removeprefix("d")] for name in names_here[:2]], [expected])


def padded_rows() -> Kind:
    """A convolution between tensors whose pixels have room for more channels."""
    x_dims, y_dims = [2, 3, 5, 6], [2, 6, 5, 6]
    x, w, bias = uniform(*x_dims), uniform(6, 3, 3, 3), uniform(1, 6, 1, 1)
    how: Json = {"stride": [1, 1], "dilation": [1, 1]}
    y = oracle.conv(*wide(x, w), pre=[1, 1], post=[1, 1], **how) + bias
    one = node(
        "ConvolutionFwdAttributes",
        inputs=uids(x=1, w=2),
        outputs=uids(y=4),
        parameters=how
        | {"pre_padding": [1, 1], "post_padding": [1, 1], "conv_mode": "CROSS_CORRELATION"},
    )
    source = graph(
        [one, pointwise("add", 4, 3, out=5, name="bias")],
        [
            tensor(1, x_dims, strides=channels_last(x_dims, 4)),
            tensor(2, [6, 3, 3, 3], strides=channels_last([6, 3, 3, 3])),
            tensor(3, [1, 6, 1, 1], strides=[6, 1, 1, 1]),
            tensor(4, y_dims, strides=channels_last(y_dims), virtual=True),
            tensor(5, y_dims, strides=channels_last(y_dims, 8)),
        ],
    )
    return Kind(source, [x, w, bias], [y])


X = [3, 4, 5, 6]
CHANNEL = [1, 4, 1, 1]
LAST = {"strides": channels_last(X)}


def batchnorm_of_training() -> Kind:
    """Statistics of the batch and running ones, then the activation, channels last."""
    x = uniform(*X, dtype=np.float16)
    scale, bias, mean, variance = (uniform(*CHANNEL) for _ in range(4))
    axes, count = (0, 2, 3), 3 * 5 * 6
    exact = x.astype(np.float64)
    y, batch_mean, inverse = oracle.layernorm(exact, *wide(scale, bias), EPSILON, axes)
    unbiased = exact.var(axis=axes, keepdims=True) * count / (count - 1)
    expected = [
        batch_mean,
        inverse,
        0.9 * mean + 0.1 * batch_mean,
        0.9 * variance + 0.1 * unbiased,
        np.maximum(y, 0),
    ]
    inputs = uids(x=1, scale=2, bias=3, epsilon=4, prev_running_mean=5, prev_running_variance=6)
    outputs = uids(y=8, mean=9, inv_variance=10, next_running_mean=11, next_running_variance=12)
    one = node(
        "BatchnormAttributes",
        inputs=inputs | uids(momentum=7) | {"peer_stats_tensor_uid": []},
        outputs=outputs,
    )
    source = graph(
        [one, pointwise("relu_fwd", 8, out=13, name="relu")],
        [
            tensor(1, X, "half", **LAST),
            *(tensor(uid, CHANNEL) for uid in (2, 3)),
            scalar(4, EPSILON),
            *(tensor(uid, CHANNEL) for uid in (5, 6)),
            scalar(7, 0.1),
            tensor(8, X, virtual=True, **LAST),
            *(tensor(uid, CHANNEL) for uid in (9, 10, 11, 12)),
            tensor(13, X, "half", **LAST),
        ],
    )
    return Kind(source, [x, scale, bias, mean, variance], expected, 2e-3)


def batchnorm_gradients() -> Kind:
    """Through the activation: inference for its input, its gradient, that of the norm."""
    x, dy = uniform(*X), uniform(*X)
    scale, bias = uniform(*CHANNEL), uniform(*CHANNEL)
    axes = (0, 2, 3)
    exact = wide(x, scale, bias)
    y, mean, inverse = oracle.layernorm(*exact, EPSILON, axes)
    through = np.where(y > 0, dy, 0).astype(np.float64)
    expected = [
        gradient(
            lambda v, at=at: oracle.layernorm(*exact[:at], v, *exact[at + 1 :], EPSILON, axes)[0],
            exact[at],
            through,
        )
        for at in range(3)
    ]
    channel = uids(mean=4, inv_variance=5, scale=2)
    source = graph(
        [
            node(
                "BatchnormInferenceAttributes",
                "forward",
                inputs=uids(x=1, bias=3) | channel,
                outputs=uids(y=7),
            ),
            pointwise("relu_bwd", 6, 7, out=8, name="activation"),
            node(
                "BatchnormBackwardAttributes",
                "backward",
                inputs=uids(dy=8, x=1) | channel | {"peer_stats_tensor_uid": []},
                outputs=uids(dx=9, dscale=10, dbias=11),
            ),
        ],
        [
            tensor(1, X),
            *(tensor(uid, CHANNEL) for uid in (2, 3, 4, 5)),
            tensor(6, X),
            *(tensor(uid, X, virtual=True) for uid in (7, 8)),
            tensor(9, X),
            *(tensor(uid, CHANNEL) for uid in (10, 11)),
        ],
    )
    saved = [one.astype(np.float32) for one in (mean, inverse)]
    return Kind(source, [x, scale, bias, *saved, dy], expected, 2e-3)


ROWS, ROW, ONE = [2, 3, 8], [1, 1, 8], [2, 3, 1]


def norm_of_training(kind: str) -> Kind:
    """Over the last dimension, with what the gradients need."""
    x, scale, bias = uniform(*ROWS), uniform(*ROW), uniform(*ROW)
    exact = wide(x, scale, bias)
    if kind == "Layernorm":
        expected = list(oracle.layernorm(*exact, EPSILON, (2,)))
        statistics, phase = {"mean": 6, "inv_variance": 7}, "attributes"
        fields: Json = {phase: {"normalized_dim_count": 1, "forward_phase": "TRAINING"}}
    else:
        y, inverse = oracle.rmsnorm(*exact[:2], EPSILON, (2,))
        expected = [y + exact[2], inverse]
        statistics, fields = {"inv_rms": 6}, {"forward_phase": "TRAINING"}
    one = node(
        f"{kind}Attributes",
        inputs=uids(x=1, scale=2, bias=3, epsilon=4),
        outputs=uids(y=5, **statistics),
        **fields,
    )
    source = graph(
        [one],
        [
            tensor(1, ROWS),
            tensor(2, ROW),
            tensor(3, ROW),
            scalar(4, EPSILON),
            tensor(5, ROWS),
            *(tensor(uid, ONE) for uid in statistics.values()),
        ],
    )
    return Kind(source, [x, scale, bias], expected)


def norm_gradients(kind: str) -> Kind:
    """Builds the gradient with the statistics of the forward op."""
    x, scale, dy = uniform(*ROWS), uniform(*ROW), uniform(*ROWS)
    exact = [*wide(x, scale), np.zeros(ROW)]

    def layernorm(x: Array, scale: Array, bias: Array) -> tuple[Array, ...]:
        return oracle.layernorm(x, scale, bias, EPSILON, (2,))

    def rmsnorm(x: Array, scale: Array, bias: Array) -> tuple[Array, ...]:
        y, inverse = oracle.rmsnorm(x, scale, EPSILON, (2,))
        return y + bias, inverse

    is_layernorm = kind == "LayernormBackward"
    norm: Callable[..., tuple[Array, ...]] = layernorm if is_layernorm else rmsnorm
    saved = [one.astype(np.float32) for one in norm(*exact)[1:]]
    statistics = {"mean": 4, "inv_variance": 5} if is_layernorm else {"inv_rms": 4}
    fields: Json = {"attributes": {"normalized_dim_count": 1}} if is_layernorm else {}
    expected = [
        gradient(lambda v, at=at: norm(*exact[:at], v, *exact[at + 1 :])[0], exact[at], wide(dy)[0])
        for at in range(3)
    ]
    absent = {"epsilon": None} if is_layernorm else {}
    one = node(
        f"{kind}Attributes",
        inputs=uids(dy=1, x=2, scale=3, **statistics, **absent),
        outputs=uids(dx=6, dscale=7, dbias=8),
        **fields,
    )
    source = graph(
        [one],
        [
            tensor(1, ROWS),
            tensor(2, ROWS),
            tensor(3, ROW),
            *(tensor(uid, ONE) for uid in statistics.values()),
            tensor(6, ROWS),
            tensor(7, ROW),
            tensor(8, ROW),
        ],
    )
    return Kind(source, [dy, x, scale, *saved], expected, 2e-4)


KINDS: dict[str, Callable[[], Kind]] = {
    "mxfp8": lambda: scaled_product("fp8_e4m3"),
    "mxfp8_batches": lambda: scaled_product("fp8_e5m2", [3]),
    **ATTENTION,
    **{
        f"conv_{direction}_{'ndhwc' if last else 'ncdhw'}": (
            lambda direction=direction, last=last: convolution_3d(direction, last=last)
        )
        for direction in ("Fwd", "Bwd", "Wrw")
        for last in (True, False)
    },
    "padded_rows": padded_rows,
    "batchnorm": batchnorm_of_training,
    "batchnorm_gradients": batchnorm_gradients,
    "layernorm": lambda: norm_of_training("Layernorm"),
    "rmsnorm": lambda: norm_of_training("RMSNorm"),
    "layernorm_gradients": lambda: norm_gradients("LayernormBackward"),
    "rmsnorm_gradients": lambda: norm_gradients("RMSNormBackward"),
}


def first_generation(source: Json) -> Json:
    """Builds a graph that uses only the keys of 2025."""
    old = copy.deepcopy(source)
    for name in ("compute", "io", "intermediate"):
        old[f"{name}_type"] = old.pop(f"{name}_data_type")
    for one in old["tensors"]:
        del one["is_runtime_pass_by_value"]
    return old


def imported(source: Json) -> Any:
    document = hipdnn_io.read_json(json.dumps(source))
    assert not document.warnings
    return hipdnn_io.import_document(document)


@cache
def kind_of(name: str) -> Kind:
    return KINDS[name]()


def check(kind: Kind, results: Sequence[Array]) -> None:
    for result, expected in zip(results, kind.expected, strict=True):
        np.testing.assert_allclose(
            result.astype(np.float64), expected, rtol=kind.tolerance, atol=kind.tolerance
        )


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", KINDS)
def test_kind_comes_back_and_runs_on_the_cpu(name: str):
    kind = kind_of(name)
    for source in (first_generation(kind.source), kind.source):
        module = imported(source)
        written = hipdnn_io.export_graph(hipdnn_io.find_graph(module))
        assert json.loads(hipdnn_io.write_json(written)) == kind.source
    check(kind, compile(imported(kind.source), "cpu").run(kind.inputs))


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", KINDS)
def test_kind_compiles_for_gfx942(name: str):
    kind = kind_of(name)
    module = compile(imported(kind.source), "gfx942").module
    assert "gpu.launch_func" in str(module)
    if missing_reason() is None:
        check(kind, run_module(module, kind.inputs, open_emulator("gfx942")))
