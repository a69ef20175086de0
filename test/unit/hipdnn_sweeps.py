"""Sweeps of hipDNN graphs in the form of its test bundles: a template, and cases of it.

Each sweep has a graph for several extents, layouts and types. The cases are small, because the
emulator executes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hipdnn_graphs import (
    SDPA,
    attention_inputs,
    attention_outputs,
    graph,
    node,
    pointwise,
    scalar,
    templated,
    tensor,
    uids,
)

Json = dict[str, Any]

FLOATS = ("float", "half", "bfloat16")


def channels_last(dims: Sequence[int]) -> list[int]:
    """Returns the strides of a tensor whose channels are the innermost dimension."""
    strides, step = [0] * len(dims), 1
    for dim in (1, *range(len(dims) - 1, 1, -1), 0):
        strides[dim], step = step, step * dims[dim]
    return strides


def image(uid: int, dims: Sequence[int], kind: str, *, last: bool = False, **fields: Any) -> Json:
    """A tensor of images or filters, in one of two layouts."""
    strides = {"strides": channels_last(dims)} if last else {}
    return tensor(uid, list(dims), kind, **strides, **fields)


def convolution(
    direction: str, x: Sequence[int], w: Sequence[int], kind: str, last: bool, **how: list[int]
) -> Json:
    """A convolution or a gradient of one; `how` has paddings, strides and dilations."""
    rank = len(x) - 2
    window: Json = {
        name: how.get(name, [default] * rank)
        for name, default in (
            *(("pre_padding", 0), ("post_padding", 0)),
            *(("stride", 1), ("dilation", 1)),
        )
    }
    extents = [
        (x[dim + 2] + window["pre_padding"][dim] + window["post_padding"][dim]
         - window["dilation"][dim] * (w[dim + 2] - 1) - 1) // window["stride"][dim] + 1
        for dim in range(rank)
    ]  # fmt: skip
    dims = {"x": x, "w": w, "y": [x[0], w[0], *extents]}
    names = {"Fwd": ("x", "w", "y"), "Bwd": ("dy", "w", "dx"), "Wrw": ("x", "dy", "dw")}
    first, second, result = names[direction]
    one = node(
        f"Convolution{direction}Attributes",
        inputs=uids(**{first: 1, second: 2}),
        outputs=uids(**{result: 3}),
        parameters=window | {"conv_mode": "CROSS_CORRELATION"},
    )
    tensors = [
        image(at + 1, dims[name.removeprefix("d")], kind, last=last)
        for at, name in enumerate((first, second, result))
    ]
    return graph([one], tensors, io_data_type=kind)


def conv_bias_relu(x: Sequence[int], w: Sequence[int], kind: str, last: bool) -> Json:
    """A 3x3 convolution with padding 1, a bias per channel and ReLU."""
    y = [x[0], w[0], *x[2:]]
    window = {"pre_padding": [1, 1], "post_padding": [1, 1], "stride": [1, 1], "dilation": [1, 1]}
    return graph(
        [
            node(
                "ConvolutionFwdAttributes",
                inputs=uids(x=1, w=2),
                outputs=uids(y=3),
                parameters=window | {"conv_mode": "CROSS_CORRELATION"},
            ),
            pointwise("add", 3, 4, out=5, name="bias"),
            pointwise("relu_fwd", 5, out=6, name="relu"),
        ],
        [
            image(1, x, kind, last=last),
            image(2, w, kind, last=last),
            image(3, y, "float", last=last, virtual=True),
            tensor(4, [1, w[0], 1, 1], kind),
            image(5, y, "float", last=last, virtual=True),
            image(6, y, kind, last=last),
        ],
        io_data_type=kind,
    )


def matmul(batch: Sequence[int], m: int, n: int, k: int, kind: str, transposed: bool) -> Json:
    """A product, whose right factor may be stored transposed."""
    dims = [*batch, k, n]
    strides = [
        *(k * n * batch[at + 1] if at + 1 < len(batch) else k * n for at in range(len(batch)))
    ]
    other = {"strides": [*strides, 1, k]} if transposed else {}
    return graph(
        [node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3))],
        [
            tensor(1, [*batch, m, k], kind),
            tensor(2, dims, kind, **other),
            tensor(3, [*batch, m, n], kind),
        ],
        io_data_type=kind,
    )


def matmul_bias(activation: str, m: int, n: int, k: int, kind: str) -> Json:
    """A product with a bias per column and an activation."""
    return graph(
        [
            node("MatmulAttributes", inputs=uids(a=1, b=2), outputs=uids(c=3)),
            pointwise("add", 3, 4, out=5, name="bias"),
            pointwise(activation, 5, out=6, name="activation"),
        ],
        [
            tensor(1, [1, m, k], kind),
            tensor(2, [1, k, n], kind),
            tensor(3, [1, m, n], virtual=True),
            tensor(4, [1, 1, n], kind),
            tensor(5, [1, m, n], virtual=True),
            tensor(6, [1, m, n], kind),
        ],
        io_data_type=kind,
    )


def unary(mode: str, dims: Sequence[int], kind: str, last: bool) -> Json:
    """One pointwise node of one operand."""
    return graph(
        [pointwise(mode, 1, out=2)],
        [image(uid, dims, kind, last=last) for uid in (1, 2)],
        io_data_type=kind,
    )


def binary(mode: str, left: Sequence[int], right: Sequence[int], kind: str) -> Json:
    """One pointwise node of two operands, which broadcast."""
    dims = [max(pair) for pair in zip(left, right, strict=True)]
    return graph(
        [pointwise(mode, 1, 2, out=3)],
        [tensor(1, list(left), kind), tensor(2, list(right), kind), tensor(3, dims, kind)],
        io_data_type=kind,
    )


def reduction(mode: str, dims: Sequence[int], axes: Sequence[int], kind: str, last: bool) -> Json:
    """A reduction that keeps its dimensions with extent 1."""
    kept = [1 if dim in axes else extent for dim, extent in enumerate(dims)]
    return graph(
        [node("ReductionAttributes", mode=mode, **uids(in_=1, out=2))],
        [image(1, dims, kind, last=last), tensor(2, kept)],
        io_data_type=kind,
    )


def layernorm(dims: Sequence[int], count: int, kind: str) -> Json:
    """Training layernorm over the last dimensions."""
    row = [*([1] * (len(dims) - count)), *dims[-count:]]
    statistic = [*dims[:-count], *([1] * count)]
    return graph(
        [
            node(
                "LayernormAttributes",
                inputs=uids(x=1, scale=2, bias=3, epsilon=4),
                outputs=uids(y=5, mean=6, inv_variance=7),
                attributes={"normalized_dim_count": count, "forward_phase": "TRAINING"},
            )
        ],
        [
            tensor(1, list(dims), kind),
            tensor(2, row, kind),
            tensor(3, row, kind),
            scalar(4, 1e-5),
            tensor(5, list(dims), kind),
            tensor(6, statistic),
            tensor(7, statistic),
        ],
        io_data_type=kind,
    )


def layernorm_backward(dims: Sequence[int], count: int, kind: str) -> Json:
    """The gradients of layernorm, computed from its statistics."""
    row = [*([1] * (len(dims) - count)), *dims[-count:]]
    statistic = [*dims[:-count], *([1] * count)]
    return graph(
        [
            node(
                "LayernormBackwardAttributes",
                inputs=uids(dy=1, x=2, scale=3, mean=4, inv_variance=5, epsilon=None),
                outputs=uids(dx=6, dscale=7, dbias=8),
                attributes={"normalized_dim_count": count},
            )
        ],
        [
            *(tensor(uid, list(dims), kind) for uid in (1, 2)),
            tensor(3, row),
            *(tensor(uid, statistic) for uid in (4, 5)),
            tensor(6, list(dims), kind),
            *(tensor(uid, row) for uid in (7, 8)),
        ],
        io_data_type=kind,
    )


def rmsnorm(dims: Sequence[int], kind: str) -> Json:
    """Training RMS normalisation over the last dimension."""
    row, statistic = [1] * (len(dims) - 1) + [dims[-1]], [*dims[:-1], 1]
    return graph(
        [
            node(
                "RMSNormAttributes",
                inputs=uids(x=1, scale=2, epsilon=3),
                outputs=uids(y=4, inv_rms=5),
                forward_phase="TRAINING",
            )
        ],
        [
            tensor(1, list(dims), kind),
            tensor(2, row, kind),
            scalar(3, 1e-6),
            tensor(4, list(dims), kind),
            tensor(5, statistic),
        ],
        io_data_type=kind,
    )


def rmsnorm_backward(dims: Sequence[int], kind: str) -> Json:
    """The gradients of RMS normalisation."""
    row, statistic = [1] * (len(dims) - 1) + [dims[-1]], [*dims[:-1], 1]
    return graph(
        [
            node(
                "RMSNormBackwardAttributes",
                inputs=uids(dy=1, x=2, scale=3, inv_rms=4),
                outputs=uids(dx=5, dscale=6),
            )
        ],
        [
            *(tensor(uid, list(dims), kind) for uid in (1, 2)),
            tensor(3, row),
            tensor(4, statistic),
            tensor(5, list(dims), kind),
            tensor(6, row),
        ],
        io_data_type=kind,
    )


def _channel(dims: Sequence[int]) -> list[int]:
    return [1, dims[1], *([1] * (len(dims) - 2))]


def batchnorm(dims: Sequence[int], kind: str, last: bool) -> Json:
    """Training batchnorm with running statistics."""
    inputs = uids(x=1, scale=2, bias=3, epsilon=4, prev_running_mean=5, prev_running_variance=6)
    outputs = uids(y=8, mean=9, inv_variance=10, next_running_mean=11, next_running_variance=12)
    channel = _channel(dims)
    return graph(
        [
            node(
                "BatchnormAttributes",
                inputs=inputs | uids(momentum=7) | {"peer_stats_tensor_uid": []},
                outputs=outputs,
            )
        ],
        [
            image(1, dims, kind, last=last),
            *(tensor(uid, channel) for uid in (2, 3)),
            scalar(4, 1e-5),
            *(tensor(uid, channel) for uid in (5, 6)),
            scalar(7, 0.1),
            image(8, dims, kind, last=last),
            *(tensor(uid, channel) for uid in (9, 10, 11, 12)),
        ],
        io_data_type=kind,
    )


def batchnorm_relu(dims: Sequence[int], kind: str, last: bool) -> Json:
    """Inference batchnorm with ReLU."""
    channel = _channel(dims)
    return graph(
        [
            node(
                "BatchnormInferenceAttributes",
                inputs=uids(x=1, mean=3, inv_variance=4, scale=5, bias=6),
                outputs=uids(y=2),
            ),
            pointwise("relu_fwd", 2, out=7, name="relu"),
        ],
        [
            image(1, dims, kind, last=last),
            image(2, dims, "float", last=last, virtual=True),
            *(tensor(uid, channel) for uid in range(3, 7)),
            image(7, dims, kind, last=last),
        ],
        io_data_type=kind,
    )


def batchnorm_backward(dims: Sequence[int], kind: str, last: bool) -> Json:
    """The gradients of batchnorm."""
    channel = _channel(dims)
    return graph(
        [
            node(
                "BatchnormBackwardAttributes",
                inputs=uids(dy=1, x=2, scale=3, mean=4, inv_variance=5)
                | {"peer_stats_tensor_uid": []},
                outputs=uids(dx=6, dscale=7, dbias=8),
            )
        ],
        [
            *(image(uid, dims, kind, last=last) for uid in (1, 2)),
            *(tensor(uid, channel) for uid in (3, 4, 5)),
            image(6, dims, kind, last=last),
            *(tensor(uid, channel) for uid in (7, 8)),
        ],
        io_data_type=kind,
    )


def attention(
    heads: tuple[int, int], queries: int, keys: int, size: int, kind: str, stats: bool, **how: Any
) -> Json:
    """Attention with queries and keys of different numbers of heads."""
    q, k = [2, heads[0], queries, size], [2, heads[1], keys, size]
    outputs = {"o": 4} | ({"stats": 5} if stats else {})
    mask = {"attn_mask": 6} if how.pop("bias", False) else {}
    tensors = [tensor(1, q, kind), tensor(2, k, kind), tensor(3, k, kind), tensor(4, q, kind)]
    tensors += [tensor(5, [2, heads[0], queries, 1])] if stats else []
    tensors += [tensor(6, [1, heads[0], queries, keys], kind)] if mask else []
    bounds = {"left_bound": None, "right_bound": None, "diagonal_alignment": "TOP_LEFT"}
    return graph(
        [
            node(
                "SdpaAttributes",
                inputs=attention_inputs(q=1, k=2, v=3, **mask),
                outputs=attention_outputs(**outputs),
                attributes=SDPA | bounds | {"generate_stats": stats or None} | how,
            )
        ],
        tensors,
        io_data_type=kind,
    )


def _over(build: Callable[..., Json], *cases: tuple[Any, ...], **fields: Any) -> dict[str, Json]:
    """Builds a graph for each case in each type of float, by the case's name."""
    return {
        f"{number}_{kind}": build(*case, kind=kind, **fields)
        for number, case in enumerate(cases)
        for kind in FLOATS
    }


def _layouts(build: Callable[..., Json], *cases: tuple[Any, ...], **fields: Any) -> dict[str, Json]:
    """Like `_over`, in both layouts of images."""
    return {
        f"{name}_{'nhwc' if last else 'nchw'}": one
        for last in (False, True)
        for name, one in _over(build, *cases, last=last, **fields).items()
    }


_SAME: Json = {"pre_padding": [1, 1], "post_padding": [1, 1]}
_STRIDED: Json = {"pre_padding": [1, 0], "post_padding": [0, 1], "stride": [2, 1]}
_X, _W = [2, 8, 9, 10], [12, 8, 3, 3]
_GROUPED = [12, 4, 3, 3]
_IMAGES = ([2, 5, 6, 7],), ([3, 16, 8, 8],), ([2, 4, 15, 15],)

SWEEPS: dict[str, dict[str, Json]] = {
    **{
        f"conv_{name}": _layouts(
            lambda *case, name=name, **how: convolution(name, *case, **how),
            *((_X, _W), (_X, _GROUPED)),
            **_SAME,
        )
        for name in ("Fwd", "Bwd", "Wrw")
    },
    **{
        f"conv_{name}_strided": _layouts(
            lambda *case, name=name, **how: convolution(name, *case, **how), (_X, _W), **_STRIDED
        )
        for name in ("Fwd", "Bwd", "Wrw")
    },
    "conv_dilated": _layouts(
        lambda *case, **how: convolution("Fwd", *case, **how), (_X, _W), dilation=[1, 2]
    ),
    "conv_3d": _layouts(
        lambda *case, **how: convolution("Fwd", *case, **how),
        ([1, 4, 4, 5, 6], [6, 4, 2, 3, 3]),
        pre_padding=[1, 1, 1],
        post_padding=[0, 1, 1],
    ),
    "conv_bias_relu": _layouts(conv_bias_relu, (_X, _W), ([1, 3, 7, 5], [5, 3, 3, 3])),
    "matmul": {
        **_over(matmul, ([2], 9, 20, 33), ([3, 2], 16, 16, 64), transposed=False),
        **{
            f"transposed_{name}": one
            for name, one in _over(
                matmul, ([2], 9, 20, 33), ([], 5, 7, 40), transposed=True
            ).items()
        },
    },
    "matmul_bias_gelu": _over(
        lambda *case, kind: matmul_bias("gelu_fwd", *case, kind), (33, 24, 40)
    ),
    "matmul_bias_swish": _over(
        lambda *case, kind: matmul_bias("swish_fwd", *case, kind), (7, 65, 31)
    ),
    "pointwise_unary": {
        f"{mode}_{name}": one
        for mode in ("tanh_fwd", "sigmoid_fwd", "gelu_approx_tanh_fwd", "elu_fwd", "softplus_fwd")
        for name, one in _layouts(
            lambda dims, mode=mode, **how: unary(mode, dims, **how), ([2, 5, 7, 3],)
        ).items()
    },
    "pointwise_gradients": {
        f"{mode}_{name}": one
        for mode in ("relu_bwd", "tanh_bwd", "gelu_bwd", "swish_bwd")
        for name, one in _over(
            lambda *dims, mode=mode, kind: binary(mode, *dims, kind), ([4, 33], [4, 33])
        ).items()
    },
    "pointwise_broadcast": {
        f"{mode}_{name}": one
        for mode in ("add", "sub", "mul", "max_op")
        for name, one in _over(
            lambda *dims, mode=mode, kind: binary(mode, *dims, kind),
            ([2, 5, 7], [1, 5, 1]),
            ([2, 1, 7], [1, 5, 7]),
        ).items()
    },
    "reduction": {
        f"{mode.lower()}_{name}": one
        for mode in ("ADD", "MAX", "AVG", "NORM2")
        for name, one in _layouts(
            lambda *case, mode=mode, **how: reduction(mode, *case, **how),
            ([3, 5, 8, 9], (0, 2, 3)),
            ([3, 20, 4, 5], (1,)),
        ).items()
    },
    "layernorm": _over(layernorm, ([4, 9, 65], 1), ([3, 5, 6, 8], 3)),
    "layernorm_backward": _over(layernorm_backward, ([4, 9, 65], 1), ([3, 5, 6, 8], 2)),
    "rmsnorm": _over(rmsnorm, ([4, 9, 65],), ([2, 128],)),
    "rmsnorm_backward": _over(rmsnorm_backward, ([4, 9, 65],)),
    "batchnorm": _layouts(batchnorm, *_IMAGES),
    "batchnorm_relu": _layouts(batchnorm_relu, *_IMAGES[:1]),
    "batchnorm_backward": _layouts(batchnorm_backward, *_IMAGES[:2]),
    "sdpa": _over(attention, ((4, 4), 17, 20, 16), ((4, 2), 9, 33, 40), stats=False),
    "sdpa_causal": _over(attention, ((4, 2), 20, 20, 32), stats=True, causal_mask=True),
    "sdpa_window": _over(
        attention,
        *[((2, 2), 16, 24, 24)],
        stats=True,
        left_bound=5,
        right_bound=2,
        diagonal_alignment="BOTTOM_RIGHT",
    ),
    "sdpa_bias": _over(attention, ((3, 3), 11, 13, 24), stats=False, bias=True),
}
"""The graphs of each sweep's cases, by the names of both."""


def write_sweeps(folder: Path) -> None:
    """Writes all sweeps, each in its own folder.

    Cases whose graphs differ in more than a template can express go to other templates.
    """
    for name, graphs in SWEEPS.items():
        bundles: dict[str, list[Json]] = {}
        for case, source in graphs.items():
            template, sweep = templated(source, case)
            bundles.setdefault(json.dumps(template), []).extend(sweep["cases"])
        for number, (template, cases) in enumerate(bundles.items()):
            path = folder / (name if len(bundles) == 1 else f"{name}_{number}")
            path.mkdir(parents=True)
            (path / "graph.template.json").write_text(template)
            (path / "sweep.json").write_text(json.dumps({"version": 1, "cases": cases}))
