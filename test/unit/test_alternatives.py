"""Compares each lowering alternative with definitions in double precision, on CPU and GPU code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator, run_kernel
from lowering_cases import DTYPES, Array, Case, Results, lower_case, physical_shapes, tensor_type
from op_cases import op_case
from test_lowering_attention import RANDOM, forward_case
from test_lowering_contractions import conv_case, gradient_cases, matmul_case
from test_lowering_reductions import reduction_case

from hipgraft.codegen.lowering.context import ALTERNATIVES
from hipgraft.codegen.plan import FLAG_SETS, Plan
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.dialects import hipdnn
from hipgraft.dialects.hipdnn import ReductionMode
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import CodegenError, HipgraftError

_FUSED = "iree_linalg_ext.attention"

random = np.random.default_rng(5)

Shape = tuple[int, ...]


def planned(op: str, alternative: str, case: Case) -> Case:
    name = f"{op}_{alternative}_{case.name}".replace("-", "_")
    return replace(case, name=name, plan=f"hipdnn.{op}={alternative}", target="gfx942")


def bias(shape: tuple[int, ...]) -> dict[str, Array]:
    return {"attn_mask": random.uniform(-1, 1, shape).astype(np.float32)}


def by_row(case: Case) -> Case:
    """Stores [B, H, S, D] results by rows of all heads, [B, S, H, D]."""
    (expected,) = case.expected
    batch, heads, rows, size = expected.shape
    strides = [rows * heads * size, size, heads * size, 1]
    return replace(
        case,
        expected=[np.ascontiguousarray(np.swapaxes(expected, 1, 2))],
        logical_results=[(batch, heads, rows, size)],
        layouts={**case.layouts, "result_strides": [strides]},
    )


ODD = (1, 2, 19, 8)
MASK = bias((1, 1, 19, 19))
ROW = bias((1, 1, 1, 19))
LOWER = np.tril(np.ones((19, 19), np.bool_))


def wgrad_case(name: str, *arguments: Any, **window: Any) -> Case:
    return gradient_cases(name, *arguments, **{"dilation": [1, 1], **window})[1]


CASES = [
    planned(
        "conv_wgrad",
        "batch-last",
        wgrad_case("pad", (8, 3, 9, 7), (5, 3, 3, 3), "f16", pre=[1, 1], stride=[1, 1]),
    ),
    planned(
        "conv_wgrad",
        "batch-last",
        wgrad_case("strided", (3, 4, 8, 8), (6, 4, 1, 1), pre=[0, 0], stride=[2, 3]),
    ),
    planned(
        "conv_wgrad",
        "batch-last",
        wgrad_case(
            "dilated",
            (16, 4, 12, 11),
            (16, 4, 2, 3),
            "bf16",
            pre=[1, 0],
            post=[0, 2],
            stride=[2, 1],
            dilation=[2, 2],
        ),
    ),
    planned("sdpa", "fused", forward_case("even", q=(1, 2, 16, 16), k=(1, 2, 16, 16))),
    planned("sdpa", "fused", forward_case("odd", q=ODD, k=ODD)),
    planned("sdpa", "decomposed", forward_case("even", q=(1, 2, 16, 16), k=(1, 2, 16, 16))),
    planned(
        "sdpa",
        "decomposed",
        by_row(forward_case("rows", "f16", q=(2, 6, 13, 8), k=(2, 2, 13, 8))),
    ),
    planned("sdpa", "decomposed", by_row(forward_case("groups", q=(2, 6, 13, 8), k=(2, 2, 7, 8)))),
    planned("sdpa", "decomposed", by_row(forward_case("heads", q=(2, 3, 9, 8), k=(2, 3, 17, 8)))),
    planned("sdpa", "decomposed", by_row(forward_case("row", q=(1, 6, 1, 8), k=(1, 2, 5, 8)))),
    planned("sdpa", "padded", forward_case("odd", q=ODD, k=ODD)),
    planned("sdpa", "padded", forward_case("odd", "f16", q=ODD, k=ODD)),
    planned("sdpa", "padded", forward_case("head", "f16", q=(1, 2, 16, 8), k=(1, 2, 32, 8))),
    planned("sdpa", "padded", forward_case("shared", "bf16", q=(2, 4, 5, 8), k=(2, 2, 7, 8))),
    planned(
        "sdpa",
        "padded",
        forward_case("causal", "f16", q=ODD, k=ODD, oracle={"seen": LOWER}, right_bound=0),
    ),
    planned(
        "sdpa",
        "padded",
        forward_case("bias", q=ODD, k=ODD, extra=MASK, oracle={"bias": MASK["attn_mask"]}),
    ),
    planned(
        "sdpa",
        "padded",
        forward_case("row", q=ODD, k=ODD, extra=ROW, oracle={"bias": ROW["attn_mask"]}),
    ),
    planned("sdpa", "transposed-values", forward_case("odd", "f16", q=ODD, k=ODD)),
    planned(
        "sdpa",
        "transposed-values",
        forward_case("even", "f16", q=(2, 4, 16, 16), k=(2, 2, 32, 16)),
    ),
    planned("conv_fprop", "matmul", conv_case("plain", (2, 8, 5, 5), (6, 8, 1, 1), "f16")),
    planned(
        "conv_fprop",
        "matmul",
        conv_case("strided", (1, 8, 7, 6), (6, 8, 1, 1), pre=[1, 0], stride=[2, 3]),
    ),
    planned(
        "conv_fprop", "channels-last", conv_case("pad", (2, 8, 6, 5), (4, 8, 3, 3), pre=[1, 1])
    ),
    planned(
        "conv_fprop",
        "padded-channels",
        conv_case("odd", (1, 9, 6, 6), (4, 9, 3, 3), "f16", pre=[1, 1], stride=[2, 2]),
    ),
    planned(
        "conv_fprop",
        "materialized-channels-last",
        conv_case("pad", (2, 8, 6, 5), (4, 8, 3, 3), "f16", pre=[1, 1], stride=[1, 2]),
    ),
    planned(
        "conv_fprop",
        "materialized-channels-last",
        conv_case("1d", (1, 16, 30), (32, 16, 3), pre=[1]),
    ),
    planned("conv_fprop", "split-k", conv_case("unit", (2, 128, 5, 4), (20, 128, 1, 1), "f16")),
    planned(
        "conv_fprop",
        "split-k",
        conv_case("pad", (1, 128, 6, 5), (20, 128, 3, 3), pre=[1, 1], stride=[2, 1]),
    ),
    planned(
        "conv_fprop",
        "split-k",
        conv_case("last", (2, 128, 7, 6), (24, 128, 3, 3), "f16", channels_last=True),
    ),
    planned(
        "conv_fprop",
        "split-k",
        conv_case("dilated", (1, 256, 7, 9), (8, 256, 3, 2), "bf16", dilation=[2, 3]),
    ),
    planned(
        "conv_fprop",
        "split-k",
        conv_case("shifted", (1, 128, 3, 3), (8, 128, 1, 1), pre=[1, 1], stride=[2, 2]),
    ),
    planned("conv_fprop", "split-k", conv_case("1d", (1, 128, 20), (16, 128, 9))),
    planned("conv_fprop", "split-k", conv_case("3d", (1, 128, 3, 4, 3), (8, 128, 2, 2, 2))),
    planned("conv_fprop", "merged-groups", conv_case("4", (2, 32, 9, 9), (64, 4, 3, 3), "f16")),
    planned(
        "conv_fprop",
        "merged-groups",
        conv_case("8", (1, 32, 8, 7), (16, 8, 3, 3), pre=[1, 1], stride=[2, 1]),
    ),
    *(
        planned(
            "matmul",
            "materialized-widening",
            matmul_case("bytes", (2, 17, 33), (2, 33, 20), element, result="f32"),
        )
        for element in ("f8E4M3FN", "f8E5M2")
    ),
    planned("matmul", "padded-rows", matmul_case("few", (1, 3, 32), (1, 32, 70), "f16")),
    planned("matmul", "padded-rows", matmul_case("folded", (5, 1, 48), (1, 48, 33))),
    planned("matmul", "swapped", matmul_case("batch", (2, 17, 33), (2, 33, 70), "f16")),
    planned("matmul", "swapped", matmul_case("tb", (1, 17, 32), (1, 32, 70), transposed="b")),
    planned("matmul", "swapped", matmul_case("folded", (2, 9, 32), (1, 32, 70), "f16")),
    planned("matmul", "split-k", matmul_case("deep", (1, 4, 4096), (1, 4096, 5), "f32")),
    planned("matmul", "split-k", matmul_case("deep", (1, 16, 4096), (1, 4096, 16), "f16")),
    *(
        planned("reduction", "padded", reduction_case(mode.value, (1, 2), element, (1, 33, 40)))
        for mode in ReductionMode
        for element in ("f32", "f16")
        if not mode.name.startswith("MUL") or element == "f32"
    ),
    planned("reduction", "padded", reduction_case("ADD", (1, 2), "i32", (1, 33, 40))),
    *(
        planned("reduction", "split", reduction_case(mode, (0, 1, 2), "f32", (1, 600, 900)))
        for mode in ("ADD", "AVG", "NORM2", "MAX")
    ),
    planned("reduction", "split", reduction_case("MIN", (1, 2), "f16", (3, 4, 16400))),
]


def dequantized_case(name: str, left: tuple[int, int], right: tuple[int, int]) -> Case:
    """A product of a matrix of bytes whose columns are contiguous."""
    random = np.random.default_rng(0)
    a = random.standard_normal(left).astype(np.float32)
    w = random.integers(-9, 9, right[::-1]).astype(np.int8)
    shape = (left[0], right[1])

    def build(ga: Any, gw: Any) -> ir.Value:
        wide = hipdnn.pointwise(gw, mode="identity", result_type=tensor_type(right, "f32"))
        return hipdnn.matmul(ga, wide, result_type=tensor_type(shape, "f32"))

    layouts = {"arg_strides": [None, [1, left[1]]]}
    expected = a.astype(np.float64) @ w.T
    shapes = [left, right]
    return Case(
        name, [a, w], build, [expected], ["f32"], 1e-5, 1e-4, layouts=layouts, shapes=shapes
    )


# Forms to which each alternative almost applies.
OTHERS = [
    planned("matmul", "padded-rows", matmul_case("one", (1, 1, 32), (1, 32, 70))),
    planned("matmul", "padded-rows", matmul_case("whole", (1, 16, 32), (1, 32, 70))),
    planned(
        "matmul", "padded-rows", matmul_case("columns", (1, 3, 32), (1, 32, 70), transposed="b")
    ),
    planned("matmul", "padded-rows", dequantized_case("widened", (3, 32), (32, 70))),
    planned("matmul", "padded-rows", matmul_case("shallow", (1, 3, 15), (1, 15, 70))),
    planned("matmul", "padded-rows", matmul_case("batch", (4, 2, 32), (4, 32, 70))),
    planned("matmul", "split-k", matmul_case("batch", (2, 4, 4096), (2, 4096, 5))),
    planned("matmul", "split-k", matmul_case("short", (1, 4, 2048), (1, 2048, 5))),
    planned("matmul", "split-k", matmul_case("odd", (1, 4, 4100), (1, 4100, 5))),
    planned("conv_fprop", "matmul", conv_case("window", (1, 8, 5, 5), (6, 8, 3, 3))),
    planned("conv_fprop", "matmul", conv_case("groups", (1, 8, 5, 5), (6, 4, 1, 1))),
    planned("conv_fprop", "padded-channels", conv_case("few", (1, 7, 6, 6), (4, 7, 3, 3))),
    planned("conv_fprop", "padded-channels", conv_case("whole", (1, 16, 6, 6), (4, 16, 3, 3))),
    planned("conv_fprop", "padded-channels", conv_case("groups", (1, 18, 6, 6), (4, 9, 3, 3))),
    planned("conv_fprop", "split-k", conv_case("odd", (1, 136, 4, 4), (4, 136, 3, 3))),
    planned("conv_fprop", "split-k", conv_case("wide", (1, 128, 35, 35), (4, 128, 3, 3))),
    planned("conv_fprop", "split-k", conv_case("groups", (1, 256, 5, 5), (8, 128, 3, 3))),
    planned("conv_fprop", "channels-last", conv_case("groups", (1, 16, 6, 6), (4, 8, 3, 3))),
    planned("reduction", "padded", reduction_case("ADD", (1, 2), "f32", (1, 600, 900))),
    planned("reduction", "split", reduction_case("ADD", (1, 2), "f32", (1, 600, 800))),
    planned("reduction", "split", reduction_case("ADD", (0,), "f32", (600 * 900, 3))),
]


@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case.name)
def test_where_a_variant_does_not_apply_the_default_lowering_does(case: Case) -> None:
    assert lower_case(case) == lower_case(replace(case, plan="default"))


# Flags belong to the GPU's compiler; the text is that of the default lowering.
FLAGGED = [
    replace(conv_case(name, (1, 16, 9, 9), (16, 16, 3, 3), "f16", pre=[1, 1]), plan=f"flags={name}")
    for name in FLAG_SETS
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_cpu(case: Case, results: Results) -> None:
    case.check(results[case.name])


def check_on_gpu_code(case: Case, architecture: str) -> None:
    """Fails if a case's kernel computes wrong results on the emulator."""
    case = replace(case, target=architecture)
    target = Target.parse(architecture)
    flags = (*target.default_flags, *Plan.parse(case.plan).flags)
    kernel = compile_text(lower_case(case), target, flags)
    shapes = physical_shapes(case)
    operands = [value.reshape(shape) for value, shape in zip(case.inputs, shapes, strict=True)]
    forms = [
        (np.shape(value), DTYPES[element])
        for value, element in zip(case.expected, case.elements, strict=True)
    ]
    case.check(run_kernel(kernel, operands, forms))


@pytest.mark.sampled(12)
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("case", [*CASES, *FLAGGED], ids=lambda case: case.name)
def test_on_gpu_code(case: Case, architecture: str) -> None:
    check_on_gpu_code(case, architecture)


@pytest.mark.slow
def test_each_variant_is_tested_and_differs_from_the_default() -> None:
    taken = {
        case.plan for case in CASES if lower_case(case) != lower_case(replace(case, plan="default"))
    }
    known = {f"{op}={name}" for op, alternatives in ALTERNATIVES.items() for name in alternatives}
    assert known - taken == set()


# Counted by benchmarks/alternatives.py.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "element", "best", "target"),
    [
        ((1, 2, 128, 128), "bf16", "fused", "gfx942"),
        ((1, 2, 128, 128), "bf16", "decomposed", "gfx1100"),
        ((1, 2, 128, 128), "f16", "transposed-values", "gfx1100"),
        ((1, 2, 128, 64), "f16", "fused", "gfx942"),
        ((1, 2, 197, 64), "f16", "padded", "gfx942"),
        ((1, 2, 197, 64), "f32", "decomposed", "gfx942"),
        ((1, 2, 1000, 64), "f32", "padded", "gfx942"),
        ((1, 2, 1024, 40), "f16", "transposed-values", "gfx942"),
        ((1, 2, 256, 64), "f16", "transposed-values", "gfx942"),
        ((1, 2, 256, 128), "bf16", "transposed-values", "gfx1100"),
        ((1, 2, 256, 64), "bf16", "transposed-values", "gfx1100"),
        ((1, 2, 40, 40), "f16", "decomposed", "gfx942"),
    ],
)
def test_attention_is_lowered_by_default_the_best_way(
    size: tuple[int, ...], element: str, best: str, target: str
) -> None:
    case = replace(forward_case("default", element, q=size, k=size), target=target)
    assert lower_case(case) == lower_case(replace(case, plan=f"hipdnn.sdpa={best}"))


EVEN = (1, 2, 16, 16)


def shaped_attention(
    k: Shape = EVEN, v: Shape = EVEN, q: Shape = EVEN, element: str = "f16", **options: Any
) -> Case:
    """Attention for tests of shapes only; `extra` are more operands."""
    sizes = {"q": q, "k": k, "v": v}
    operands = {name: np.zeros(size, DTYPES[element]) for name, size in sizes.items()}
    operands |= options.pop("extra", {})
    expected = {"o": np.zeros((*q[:3], v[3]), DTYPES[element])}
    return op_case(
        "shaped", hipdnn.SdpaOp, operands, expected, element, 0, target="gfx942", **options
    )


# Sizes suit the fused form, but the op has operands or options that this form lacks.
UNFUSED = {
    "alibi": shaped_attention(alibi_mask=True),
    "drawn": shaped_attention(extra=RANDOM, dropout_probability=0.5),
    "dropped": shaped_attention(extra={"dropout_mask": np.zeros((1, 2, 16, 16), np.float16)}),
    "heads": shaped_attention(k=(1, 1, 16, 16)),
    "hidden": shaped_attention(q=(1, 2, 32, 16), right_bound=0, causal_mask_bottom_right=True),
    "in_f64": replace(shaped_attention(element="f32"), compute="f64"),
}


@pytest.mark.parametrize("case", UNFUSED.values(), ids=UNFUSED)
@pytest.mark.parametrize("plan", ["default", "hipdnn.sdpa=fused", "hipdnn.sdpa=padded"])
def test_what_the_fused_op_cannot_say_is_decomposed(case: Case, plan: str) -> None:
    assert _FUSED in lower_case(shaped_attention())
    assert _FUSED not in lower_case(replace(case, plan=plan))


def test_a_dropout_without_numbers_is_refused() -> None:
    """Fused, it would drop nothing."""
    with pytest.raises(CodegenError, match="with dropout but neither"):
        lower_case(shaped_attention(dropout_probability=0.5))


@pytest.mark.parametrize(
    ("case", "target", "plan"),
    [
        (shaped_attention(element="f32"), "gfx1100", "decomposed"),
        (shaped_attention(k=(1, 2, 24, 16), v=(1, 2, 24, 16)), "gfx942", "decomposed"),
        (shaped_attention(v=(1, 2, 16, 24)), "gfx942", "decomposed"),
        (shaped_attention(q=(1, 2, 256, 16)), "gfx942", "transposed-values"),
        (shaped_attention(q=(1, 2, 24, 16)), "gfx942", "padded"),
        (
            shaped_attention(q=(1, 2, 999, 16), k=(1, 2, 24, 16), v=(1, 2, 24, 16)),
            "gfx942",
            "decomposed",
        ),
    ],
    ids=["elements", "keys", "columns", "queries", "odd", "few-keys"],
)
def test_all_of_attention_suits_the_fused_form(case: Case, target: str, plan: str) -> None:
    case = replace(case, target=target)
    assert lower_case(case) == lower_case(replace(case, plan=f"hipdnn.sdpa={plan}"))


def test_long_sequences_are_padded_to_longer_tiles() -> None:
    for length, whole in ((500, 512), (520, 576)):
        case = shaped_attention(*[(1, 2, length, 16)] * 3)
        assert f"to tensor<1x2x{whole}x16xf16>" in lower_case(case)


@pytest.mark.parametrize(
    ("images", "size", "element", "target", "is_copied"),
    [
        (8, 32, "f16", "gfx942", True),
        (8, 32, "f32", "gfx942", True),
        (8, 32, "f32", "gfx1100", False),
        (8, 8, "f16", "gfx942", False),
        (9, 32, "f16", "gfx942", False),
        (8, 32, "f16", "cpu", False),
    ],
)
def test_large_gradients_of_filters_by_default_sum_images_that_lie_together(
    images: int, size: int, element: str, target: str, is_copied: bool
) -> None:
    dtype, shape = DTYPES[element], (64, 64, 3, 3)
    x, dy = (
        np.zeros((images, 64, size, size), dtype),
        np.zeros((images, 64, *[size - 2] * 2), dtype),
    )

    def build(gx: Any, gdy: Any) -> Any:
        none, one = [0, 0], [1, 1]
        sliding = {"pre_padding": none, "post_padding": none, "stride": one, "dilation": one}
        return hipdnn.conv_wgrad(gx, gdy, result_type=tensor_type(shape, element), **sliding)

    case = Case("large", [x, dy], build, [np.zeros(shape)], [element], 0, 0, target=target)
    text = lower_case(case)
    assert ("util.optimization_barrier" in text) == is_copied
    if is_copied:
        assert text == lower_case(replace(case, plan="hipdnn.conv_wgrad=batch-last"))


@pytest.mark.parametrize(
    ("size", "target", "is_materialized"),
    [(256, "gfx1100", True), (255, "gfx942", False), (256, "cpu", False)],
)
def test_bytes_that_many_tiles_read_are_by_default_widened_once(
    size: int, target: str, is_materialized: bool
) -> None:
    case = matmul_case("large", (1, size, 32), (1, 32, 256), "f8E4M3FN", result="f32")
    case = replace(case, target=target)
    is_same = lower_case(case) == lower_case(
        replace(case, plan="hipdnn.matmul=materialized-widening")
    )
    assert is_same == (is_materialized or target == "cpu")
    assert ("util.optimization_barrier" in lower_case(case)) == is_materialized


def test_attention_of_a_decoder_pads_the_query_only() -> None:
    case = forward_case("decoder", "f16", q=(1, 2, 1, 64), k=(1, 2, 512, 64))
    text = lower_case(replace(case, target="gfx942"))
    assert text.count("tensor.pad ") == 1
    assert _FUSED in text


def test_a_plan_is_its_text() -> None:
    for text in ("default", "hipdnn.sdpa=padded", "hipdnn.sdpa=padded,flags=materialized-padding"):
        assert str(Plan.parse(text)) == text
    assert Plan.parse("flags=materialized-padding").flags == FLAG_SETS["materialized-padding"].flags


@pytest.mark.parametrize("text", ["", "padded", "flags=none", "a=,b=c"])
def test_a_malformed_plan_is_refused(text: str) -> None:
    with pytest.raises(HipgraftError):
        Plan.parse(text)
