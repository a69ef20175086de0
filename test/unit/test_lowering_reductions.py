"""Reductions, norms and attention against numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lowering_cases import DTYPES, Array, Case, Results, lower_case, splat, tensor_type
from oracle.tensors import layernorm, pool, reduce, rmsnorm, sdpa, visible

from hipgraft.dialects import hipdnn

# rtol and atol of hipDNN's tests.
REDUCTION = {"f32": 1e-5, "f16": 1e-2, "bf16": 5e-2, "i32": 0}
LAYERNORM = {"f32": 1e-4, "f16": 1e-3, "bf16": 1e-2}
RMSNORM = {"f32": 4e-3, "f16": 4e-3, "bf16": 8e-3}
BATCHNORM = {"f32": 2e-4, "f16": 5e-4, "bf16": 5e-3}
VARIANCE = {"f32": 2e-4, "f16": 8e-4, "bf16": 7e-3}
TRAINING = {"f32": 4e-3, "f16": 4e-3, "bf16": 8e-3}
SDPA = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}

EPSILON = 1e-5
IMAGES = (2, 6, 5, 4)

random = np.random.default_rng(11)


def uniform(shape: Sequence[int], element: str, low: float = -1, high: float = 1) -> Array:
    return random.uniform(low, high, shape).astype(DTYPES[element])


def wide(*values: Array) -> list[Array]:
    return [value.astype(np.float64) for value in values]


def reduction_case(
    mode: str, axes: tuple[int, ...], element: str, shape: Sequence[int] = (3, 4, 5)
) -> Case:
    if element == "i32":
        x = random.integers(-5, 6, shape).astype(np.int32)
        expected = reduce(mode, x.astype(np.int64), axes)
    else:
        signs = np.resize([1, -1, 1, 0], (*shape[:-1], 1))
        x = (uniform(shape, element, 0.5, 1.5) * signs).astype(DTYPES[element])
        expected = reduce(mode, x.astype(np.float64), axes)

    def build(value: Any) -> Any:
        return hipdnn.reduction(value, mode=mode, result_type=tensor_type(expected.shape, element))

    name = f"{mode.lower()}_{''.join(map(str, axes))}_{element}"
    tolerance = REDUCTION[element]
    return Case(name, [x], build, [expected], [element], tolerance, tolerance)


def nan_reduction_case(mode: str) -> Case:
    x = np.array([[1, -np.nan, 3], [4, 5, 6]], np.float32)
    assert np.signbit(x[0, 1])

    def build(value: Any) -> Any:
        return hipdnn.reduction(value, mode=mode, result_type=tensor_type([2, 1], "f32"))

    expected = [reduce(mode, x.astype(np.float64), (1,))]
    return Case(f"{mode.lower()}_nan", [x], build, expected, ["f32"], 1e-6, 0)


def layernorm_case(
    name: str,
    x: Sequence[int],
    scale: Sequence[int],
    element: str,
    *,
    mean: float = 0,
    count: int | None = None,
) -> Case:
    """`count` trailing dims are normalised, which the scale says if it is None."""
    values = [
        uniform(x, element, mean - 1, mean + 1),
        uniform(scale, element),
        uniform(scale, element),
    ]
    first = next(i for i, extent in enumerate(scale) if extent > 1)
    axes = tuple(range(first if count is None else len(x) - count, len(x)))
    expected = layernorm(*wide(*values), EPSILON, axes)

    def build(gx: Any, gs: Any, gb: Any) -> Any:
        results = {"y": None, "mean": None, "inv_variance": None}
        for statistic in ("mean", "inv_variance"):
            results[statistic] = tensor_type(expected[1].shape, "f32")
        op = hipdnn.LayernormOp.build(
            gx,
            gs,
            gb,
            splat(EPSILON),
            results=results,
            forward_phase="TRAINING",
            normalized_dim_count=count,
        )
        return [op.y, op.mean, op.inv_variance]

    tolerance = LAYERNORM[element]
    elements = [element, "f32", "f32"]
    return Case(f"{name}_{element}", values, build, expected, elements, tolerance, tolerance)


def rmsnorm_case(name: str, x: Sequence[int], scale: Sequence[int], element: str) -> Case:
    values = [uniform(x, element), uniform(scale, element), uniform(scale, element)]
    axes = tuple(dim for dim, extent in enumerate(scale) if extent > 1)
    y, inverse = rmsnorm(*wide(*values[:2]), EPSILON, axes)
    expected = [y + values[2].astype(np.float64), inverse]

    def build(gx: Any, gs: Any, gb: Any) -> Any:
        results = {"y": None, "inv_rms": tensor_type(inverse.shape, "f32")}
        op = hipdnn.RmsnormOp.build(
            gx, gs, splat(EPSILON), gb, results=results, forward_phase="TRAINING"
        )
        return [op.y, op.inv_rms]

    tolerance = RMSNORM[element]
    elements = [element, "f32"]
    return Case(f"{name}_{element}", values, build, expected, elements, tolerance, tolerance)


def channel_shape(x: Sequence[int]) -> tuple[int, ...]:
    """Shape of a value per channel of activations [N, C, spatial...]."""
    return (1, x[1], *[1] * (len(x) - 2))


def batchnorm_case(element: str, shape: Sequence[int] = IMAGES, *, variance: bool) -> Case:
    x, channel = uniform(shape, element), channel_shape(shape)
    mean, scale, bias = (uniform(channel, "f32") for _ in range(3))
    spread = uniform(channel, "f32", 0.5, 2)
    factor = 1 / np.sqrt(spread.astype(np.float64) + EPSILON) if variance else spread
    expected = (wide(x)[0] - mean) * factor * scale + bias

    def build(*v: Any) -> Any:
        if variance:
            return hipdnn.batchnorm_inference_variance_ext(*v, splat(EPSILON))
        return hipdnn.batchnorm_inference(*v)

    name = f"batchnorm_{'variance_' if variance else ''}{element}"
    tolerance = (VARIANCE if variance else BATCHNORM)[element]
    inputs = [x, mean, spread, scale, bias]
    return Case(name, inputs, build, [expected], [element], tolerance, tolerance)


def batchnorm_training_case(element: str, shape: Sequence[int] = IMAGES) -> Case:
    """All results: y, the batch's statistics, and the updated running ones."""
    x, channel = uniform(shape, element), channel_shape(shape)
    scale, bias, mean, variance = (uniform(channel, "f32", 0.5, 2) for _ in range(4))
    axes = (0, *range(2, len(shape)))
    y, batch_mean, inverse = layernorm(*wide(x, scale, bias), EPSILON, axes)
    is_one = x.size == shape[1]  # the variance of one element stays biased
    unbiased = wide(x)[0].var(axis=axes, keepdims=True, ddof=0 if is_one else 1)
    momentum = 0.25
    running = [
        (1 - momentum) * mean + momentum * batch_mean,
        (1 - momentum) * variance + momentum * unbiased,
    ]
    names = ("mean", "inv_variance", "next_running_mean", "next_running_variance")

    def build(gx: Any, gs: Any, gb: Any, gm: Any, gv: Any) -> Any:
        types = {name: tensor_type(channel, "f32") for name in names}
        op = hipdnn.BatchnormOp.build(
            gx, gs, gb, splat(EPSILON), gm, gv, splat(momentum), results={"y": None, **types}
        )
        return [op.y, *(getattr(op, name) for name in names)]

    expected = [y, batch_mean, inverse, *running]
    elements = [element, *["f32"] * 4]
    inputs = [x, scale, bias, mean, variance]
    name, tolerance = f"batchnorm_training_{len(shape)}d_{element}", TRAINING[element]
    return Case(name, inputs, build, expected, elements, tolerance, tolerance)


def pool_case(
    name: str,
    mode: str,
    x: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    padding: str = "ZERO_PAD",
    element: str = "f32",
) -> Case:
    values = uniform(x, element, -2, -1)  # below zero, so that padding shows in a maximum
    post = [1] * len(pad)
    expected = pool(
        mode,
        *wide(values),
        window=window,
        pre=pad,
        post=post,
        stride=stride,
        outside=-math.inf if padding == "NEG_INF_PAD" else 0,
    )

    def build(value: Any) -> Any:
        return hipdnn.resample_fwd(
            value,
            window=list(window),
            stride=list(stride),
            pre_padding=list(pad),
            post_padding=post,
            resample_mode=mode,
            padding_mode=padding,
        )

    tolerance = REDUCTION[element]
    return Case(f"{name}_{element}", [values], build, [expected], [element], tolerance, tolerance)


def softmax_case() -> Case:
    """Softmax as hipDNN writes it, with operands far from zero."""
    x = uniform((4, 9, 33), "f32", 80, 90)
    powers = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))

    def build(value: Any) -> Any:
        row = tensor_type([4, 9, 1], "f32")
        highest = hipdnn.reduction(value, mode="MAX", result_type=row)
        distance = hipdnn.pointwise(value, highest, mode="sub")
        power = hipdnn.pointwise(distance, mode="exp")
        total = hipdnn.reduction(power, mode="ADD", result_type=row)
        return hipdnn.pointwise(power, total, mode="div")

    expected = [powers / powers.sum(axis=-1, keepdims=True)]
    return Case("softmax", [x], build, expected, ["f32"], 1e-5, 1e-5)


def sdpa_case(
    name: str,
    q: Sequence[int],
    k: Sequence[int],
    element: str = "f32",
    *,
    value_heads: int | None = None,
    value_size: int | None = None,
    bounds: dict[str, Any] | None = None,
    mask: Array | None = None,
    stats: bool = False,
    target: str = "cpu",
    **attributes: Any,
) -> Case:
    v = (k[0], value_heads or k[1], k[2], value_size or k[3])
    values = [uniform(q, element, -2, 2), uniform(k, element, -2, 2), uniform(v, element)]
    scale = 1 / math.sqrt(q[3])
    limits = {"left": None, "right": None, "bottom_right": False} | (bounds or {})
    seen = visible(q[2], k[2], **limits)
    bias = None
    if mask is not None and mask.dtype == np.bool_:
        seen = seen & mask
    elif mask is not None:
        bias = mask.astype(np.float64)
    expected = list(sdpa(*wide(*values), scale=scale, seen=seen, bias=bias))
    expected = expected if stats else expected[:1]
    elements = [element, "f32"][: len(expected)]

    def build(*operands: Any) -> Any:
        results = {"o": tensor_type(expected[0].shape, element)}
        if stats:
            results["stats"] = tensor_type(expected[1].shape, "f32")
        op = hipdnn.SdpaOp.build(
            *operands,
            results=results,
            attn_scale_value=scale,
            generate_stats=True if stats else None,
            **attributes,
        )
        return [op.o, op.stats] if stats else op.o

    tolerance = SDPA[element]
    inputs = values if mask is None else [*values, mask]
    name = f"{name}_{element}"
    return Case(name, inputs, build, expected, elements, tolerance, tolerance, target=target)


def padding_case() -> Case:
    """Sequence lengths per batch; tokens beyond them are hidden."""
    values = [uniform((2, 3, 6, 8), "f32") for _ in range(3)]
    lengths = [np.array([4, 6], np.int32), np.array([5, 2], np.int32)]
    seen = np.zeros((2, 1, 6, 6), np.bool_)
    for batch, (queries, keys) in enumerate(zip(*lengths, strict=True)):
        seen[batch, :, :queries, :keys] = True
    expected = [sdpa(*wide(*values), seen=seen)[0]]

    def build(q: Any, k: Any, v: Any, nq: Any, nk: Any) -> Any:
        return hipdnn.SdpaOp.build(q, k, v, None, None, nq, nk, padding_mask=True).o

    return Case("sdpa_padding", [*values, *lengths], build, expected, ["f32"], 1e-5, 1e-5)


Q = (2, 4, 12, 16)
CAUSAL = {"right": 0}
# Two GPU targets take the fused op for these; its meaning is checked on the CPU.
FQ = (2, 4, 32, 64)

CASES = [
    *(
        reduction_case(mode.value, axes, "f32")
        for mode in hipdnn.ReductionMode
        for axes in ((2,), (0, 2), (0, 1, 2))
    ),
    *(reduction_case(mode.value, (1,), "f16") for mode in hipdnn.ReductionMode),
    *(reduction_case(mode.value, (1, 2), "bf16") for mode in hipdnn.ReductionMode),
    *(reduction_case(mode, (0, 1), "i32") for mode in ("ADD", "MIN", "MAX", "AMAX", "NORM1")),
    # Few elements in a row, of which IREE has one lane read all.
    *(reduction_case(mode, (0,), "f32", (100,)) for mode in ("AVG", "MAX")),
    *(nan_reduction_case(mode) for mode in ("MAX", "MIN", "AMAX")),
    *(layernorm_case("ln", (2, 6, 32), (1, 1, 32), element) for element in LAYERNORM),
    layernorm_case("ln_two_dims", (3, 4, 8), (1, 4, 8), "f32"),
    layernorm_case("ln_beyond_scale", (3, 4, 8), (1, 1, 8), "f32", count=2),
    layernorm_case("ln_one_row", (1, 1, 32), (1, 1, 32), "f32"),
    layernorm_case("ln_total", (1, 4, 8), (1, 4, 8), "f32"),
    layernorm_case("ln_far_mean", (2, 6, 32), (1, 1, 32), "f32", mean=100),
    *(rmsnorm_case("rms", (2, 6, 32), (1, 1, 32), element) for element in RMSNORM),
    rmsnorm_case("rms_one_row", (1, 1, 4100), (1, 1, 4100), "f16"),
    layernorm_case("ln_long_row", (1, 4, 1030), (1, 4, 1030), "f16"),
    rmsnorm_case("rms_channel", (2, 6, 5, 4), (1, 6, 1, 1), "f32"),
    *(batchnorm_case(element, variance=False) for element in BATCHNORM),
    *(batchnorm_case(element, variance=True) for element in VARIANCE),
    *(batchnorm_training_case(element) for element in TRAINING),
    batchnorm_training_case("f32", (1, 3)),
    batchnorm_training_case("f32", (2, 3, 1)),
    softmax_case(),
    pool_case("maxpool", "MAXPOOL", (2, 3, 9, 8), (3, 2), (2, 1), (1, 0), "NEG_INF_PAD"),
    pool_case("maxpool_zeros", "MAXPOOL", (2, 3, 9, 8), (3, 2), (2, 1), (1, 0)),
    pool_case("maxpool_1d", "MAXPOOL", (2, 3, 9), (3,), (2,), (1,), "NEG_INF_PAD", "f16"),
    pool_case("avgpool", "AVGPOOL_INCLUDE_PADDING", (2, 3, 9, 8), (3, 2), (2, 1), (1, 0)),
    pool_case("avgpool_valid", "AVGPOOL_EXCLUDE_PADDING", (2, 3, 9, 8), (3, 2), (2, 1), (1, 0)),
    pool_case(
        "avgpool_3d", "AVGPOOL_EXCLUDE_PADDING", (1, 2, 5, 6, 7), (3, 2, 2), (2, 1, 2), (1, 0, 1)
    ),
    *(sdpa_case("sdpa", Q, Q, element) for element in SDPA),
    sdpa_case("sdpa_cross", Q, (2, 4, 9, 16), value_size=24),
    sdpa_case("sdpa_gqa", Q, (2, 2, 9, 16), "f16"),
    sdpa_case("sdpa_kv_heads_differ", Q, (2, 2, 9, 16), value_heads=4),
    sdpa_case("sdpa_causal", Q, Q, bounds=CAUSAL, right_bound=0, stats=True),
    sdpa_case("sdpa_causal_old", Q, Q, bounds=CAUSAL, causal_mask=True),
    sdpa_case(
        "sdpa_bottom_right",
        Q,
        (2, 4, 20, 16),
        bounds=CAUSAL | {"bottom_right": True},
        right_bound=0,
        diagonal_alignment="BOTTOM_RIGHT",
    ),
    sdpa_case(
        "sdpa_bottom_right_old",
        Q,
        (2, 4, 20, 16),
        bounds=CAUSAL | {"bottom_right": True},
        causal_mask_bottom_right=True,
    ),
    sdpa_case(
        "sdpa_rows_without_keys",
        Q,
        (2, 4, 5, 16),
        bounds=CAUSAL | {"bottom_right": True},
        right_bound=0,
        diagonal_alignment="BOTTOM_RIGHT",
        stats=True,
    ),
    sdpa_case("sdpa_window", Q, Q, bounds={"left": 4, "right": 2}, left_bound=4, right_bound=2),
    sdpa_case("sdpa_bias", Q, Q, mask=uniform((2, 1, 12, 12), "f32")),
    sdpa_case("sdpa_bias_gqa", Q, (2, 2, 12, 16), mask=uniform((1, 4, 12, 12), "f32")),
    sdpa_case("sdpa_bool", Q, Q, mask=random.integers(0, 2, (2, 1, 1, 12)) > 0),
    padding_case(),
    sdpa_case("fused", FQ, FQ, "f16", target="gfx942"),
    sdpa_case("fused", FQ, FQ, "f32", target="gfx942"),
    sdpa_case("fused_sizes", FQ, (2, 4, 48, 64), "f16", value_size=32, target="gfx942"),
    sdpa_case("fused_gqa", FQ, (2, 2, 48, 64), "bf16", target="gfx942"),
    sdpa_case("fused_causal", FQ, FQ, "f16", bounds=CAUSAL, right_bound=0, target="gfx1100"),
    sdpa_case(
        "fused_bias_causal",
        FQ,
        (2, 2, 32, 64),
        "f16",
        bounds=CAUSAL,
        right_bound=0,
        mask=uniform((2, 4, 32, 32), "f32"),
        target="gfx942",
    ),
    sdpa_case("fused_bias", FQ, FQ, "f16", mask=uniform((2, 1, 1, 32), "f16"), target="gfx942"),
    sdpa_case(
        "fused_bool", FQ, FQ, "f16", mask=random.uniform(size=(1, 1, 32, 32)) > 0.3, target="gfx942"
    ),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reduction(case: Case, results: Results) -> None:
    case.check(results[case.name])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_fused_attention_is_used_where_named(case: Case) -> None:
    fused = "iree_linalg_ext.attention" in lower_case(case)
    assert fused == case.name.startswith("fused")


# Shapes off the happy path of IREE's fused attention, on gfx942 unless stated otherwise.
@pytest.mark.parametrize(
    ("q", "k", "element", "target"),
    [
        ((1, 2, 197, 64), (1, 2, 197, 64), "f32", "gfx942"),
        ((1, 2, 1, 64), (1, 2, 77, 64), "f16", "gfx942"),
        ((1, 2, 64, 40), (1, 2, 64, 40), "f16", "gfx942"),
        ((1, 2, 128, 64), (1, 2, 77, 64), "f16", "gfx942"),
        ((1, 2, 128, 64), (1, 2, 128, 64), "f32", "gfx1100"),
        ((1, 2, 128, 64), (1, 2, 128, 64), "f16", "cpu"),
    ],
)
def test_decomposed_off_the_happy_path(
    q: Sequence[int], k: Sequence[int], element: str, target: str
) -> None:
    case = sdpa_case("slow", q, k, element, target=target)
    assert "iree_linalg_ext" not in lower_case(case)


def test_every_reduction_mode_is_tested() -> None:
    names = {case.name.rsplit("_", 2)[0] for case in CASES}
    assert {mode.value.lower() for mode in hipdnn.ReductionMode} <= names
