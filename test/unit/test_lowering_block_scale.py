"""Block scaling against its definition; products of scaled operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lowering_cases import DTYPES, Array, Case, Results, tensor_type
from op_cases import op_case, uniform
from oracle.block_scale import quantize, repeat_blocks

from hipgraft.dialects import hipdnn

random = np.random.default_rng(29)


def powers(shape: Sequence[int], element: str = "f8E8M0FNU") -> Array:
    return (2.0 ** random.integers(-4, 5, shape)).astype(DTYPES[element])


def dequantize_case(
    name: str,
    x: Sequence[int],
    scale: Sequence[int],
    block: Sequence[int],
    element: str = "f8E4M3FN",
    kind: str = "f8E8M0FNU",
    result: str = "f32",
) -> Case:
    """Products with powers of two are exact, unless the result's type rounds."""
    values = {"x": uniform(random, x, element, -6, 6), "scale": powers(scale, kind)}
    blocks = list(block)
    if len(block) < len(x):
        sizes = iter(block)
        blocks = [1 if a == b else next(sizes) for a, b in zip(x, scale, strict=True)]
    factor = repeat_blocks(values["scale"].astype(np.float64), blocks, x)
    expected = (values["x"].astype(np.float64) * factor).astype(DTYPES[result])
    return op_case(
        f"{name}_{element}_{kind}_{result}",
        hipdnn.BlockScaleDequantizeOp,
        values,
        {"y": expected},
        result,
        0,
        block_size=list(block),
    )


def negative_scale_case() -> Case:
    values = {
        "x": uniform(random, (4, 8), "f8E4M3FN"),
        "scale": np.array([[3, -2], [0, 1], [5, -4], [2, 2]], np.int8),
    }
    exponents = np.repeat(values["scale"].astype(np.float64), 4, axis=1)
    return op_case(
        "dequantize_negative_f8E4M3FN",
        hipdnn.BlockScaleDequantizeOp,
        values,
        {"y": values["x"].astype(np.float64) * 2.0**-exponents},
        "f32",
        1e-6,
        block_size=[4],
        is_negative_scale=True,
    )


def quantize_case(
    source: str,
    element: str,
    kind: str,
    *,
    shape: Sequence[int] = (32, 64),
    block: int = 16,
    axis: int | None = None,
) -> Case:
    x = uniform(random, shape, source, -900, 900) * np.exp(random.uniform(-9, 3, shape))
    x = x.astype(DTYPES[source])
    blocked = len(shape) - 1 if axis is None else axis
    if axis is None:
        x[..., block : 2 * block] = 0  # a block without a scale
    y, scale = quantize(x, block, blocked, DTYPES[element], DTYPES[kind])
    return op_case(
        f"quantize_{source}_{element}_{kind}_{'last' if axis is None else axis}",
        hipdnn.BlockScaleQuantizeOp,
        {"x": x},
        {"y": y, "scale": scale},
        {"y": element, "scale": kind},
        0,
        block_size=block,
        axis=axis,
    )


def scaled_product_case(element: str) -> Case:
    """Both operands have blocks along K; `a` is stored by column, as hipBLASLt requires."""
    a, b = (uniform(random, shape, element, -4, 4) for shape in ((32, 128), (128, 48)))
    a_scale, b_scale = powers((32, 4)), powers((4, 48))
    wide = [value.astype(np.float64) for value in (a, b, a_scale, b_scale)]
    left = wide[0] * np.repeat(wide[2], 32, axis=1)
    right = wide[1] * np.repeat(wide[3], 32, axis=0)

    def build(ga: Any, gb: Any, gas: Any, gbs: Any) -> Any:
        ya = hipdnn.block_scale_dequantize(ga, gas, block_size=[32])
        yb = hipdnn.block_scale_dequantize(gb, gbs, block_size=[32])
        return hipdnn.matmul(ya, yb, result_type=tensor_type((32, 48), "f32"))

    return Case(
        f"mx_matmul_{element}",
        [np.ascontiguousarray(a.T), b, a_scale, b_scale],
        build,
        [left @ right],
        ["f32"],
        1e-5,
        1e-3,
        shapes=[a.shape, b.shape, a_scale.shape, b_scale.shape],
        layouts={"arg_strides": [[1, 32], None, None, None]},
    )


def cast_case(name: str, x: Array, element: str) -> Case:
    return op_case(
        name,
        hipdnn.PointwiseOp,
        {"in_0": x},
        {"out_0": x.astype(DTYPES[element]).astype(np.float64)},
        element,
        0,
        mode="identity",
    )


def every_code_case(element: str) -> Case:
    codes = np.arange(256, dtype=np.uint8).view(DTYPES[element])
    return cast_case(f"every_code_{element}", codes, "f32")


def rounding_case(element: str) -> Case:
    """Numbers of all sizes, halfway ones, infinities, NaN; 4-bit floats have neither of those."""
    with np.errstate(invalid="ignore"):
        numbers = np.arange(256, dtype=np.uint8).view(DTYPES["f8E5M2"]).astype(np.float32)
    numbers = np.sort(numbers[np.isfinite(numbers)])
    x = np.concatenate([numbers, (numbers[1:] + numbers[:-1]) / 2, numbers * np.float32(1.07)])
    if element == "f4E2M1FN":
        x = np.clip(x, -6, 6)[:704]  # IREE stores whole bytes only, so whole vectors
    else:
        x = np.append(x, [np.float32(np.inf), np.float32(-np.inf), np.float32(np.nan)])
    return cast_case(f"rounding_{element}", x.astype(np.float32), element)


CASES = [
    *(
        dequantize_case("dequantize", (8, 64), (8, 2), [32], element, kind, result)
        for element, kind, result in (
            ("f8E4M3FN", "f8E8M0FNU", "f32"),
            ("f8E5M2", "f8E8M0FNU", "bf16"),
            ("f4E2M1FN", "f8E8M0FNU", "f16"),
            ("f4E2M1FN", "f8E4M3FN", "f32"),
            ("i8", "f32", "f32"),
            ("f16", "f16", "f16"),
        )
    ),
    dequantize_case("first_dim", (64, 6), (4, 6), [16]),
    dequantize_case("all_dims", (2, 4, 32), (1, 4, 2), [2, 1, 16]),
    dequantize_case("part_of_a_block", (3, 50), (3, 4), [16]),
    dequantize_case("one_block", (4, 32), (4, 1), [32]),
    dequantize_case("two_dims", (8, 12), (2, 3), [4, 4], kind="f32"),
    negative_scale_case(),
    *(
        quantize_case(source, element, kind)
        for source, element, kind in (
            ("f32", "f8E4M3FN", "f8E8M0FNU"),
            ("f16", "f8E5M2", "f8E8M0FNU"),
            ("bf16", "f8E4M3FN", "f8E8M0FNU"),
            ("f32", "f4E2M1FN", "f8E8M0FNU"),
            ("f32", "f4E2M1FN", "f8E4M3FN"),
            ("f32", "f8E4M3FN", "f16"),
            ("f32", "i8", "bf16"),
        )
    ),
    quantize_case("f32", "f8E4M3FN", "f8E8M0FNU", axis=0),
    scaled_product_case("f8E4M3FN"),
    scaled_product_case("f4E2M1FN"),
    every_code_case("f8E4M3FN"),
    every_code_case("f8E5M2"),
    *(rounding_case(element) for element in ("f8E4M3FN", "f8E5M2", "f4E2M1FN")),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_block_scale(case: Case, results: Results) -> None:
    case.check(results[case.name])
