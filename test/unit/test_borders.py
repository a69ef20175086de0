"""Results that kernels write inside a border of zeros, against double precision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulator import requires_emulator
from lowering_cases import Case, tensor_type
from op_cases import uniform
from test_blocks import check, compiled
from test_lowering_contractions import conv_case, last_strides

from hipgraft.dialects import hipdnn
from hipgraft.dialects.hipdnn import PaddingMode, ResampleMode

ARCHITECTURES = ["gfx942", "gfx950", "gfx1100"]  # gfx90a's kernels may spill
ELEMENTS = ["f16", "bf16", "f32"]


def bordered(case: Case, before: list[int], after: list[int], *, is_last: bool) -> Case:
    """Adds zeros around the only result, whose inputs' and expected memory is channels last."""
    (expected,), (element,) = case.expected, case.elements
    if is_last:
        expected = np.moveaxis(expected, -1, 1)
    amounts = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    wide = np.pad(expected, amounts)
    ones = [1] * len(before)

    def build(*values: Any) -> Any:
        return hipdnn.resample_fwd(
            case.build(*values),
            pre_padding=before,
            post_padding=after,
            stride=ones,
            window=ones,
            resample_mode=ResampleMode.AVGPOOL_INCLUDE_PADDING,
            padding_mode=PaddingMode.ZERO_PAD,
            result_type=tensor_type(wide.shape, element),
        )

    layouts = dict(case.layouts)
    if is_last:
        layouts["result_strides"] = [last_strides(wide.shape)]
    return replace(
        case,
        name=f"bordered_{case.name}",
        build=build,
        expected=[np.moveaxis(wide, 1, -1) if is_last else wide],
        layouts=layouts,
        logical_results=[wide.shape],
    )


def relu_case(name: str, shape: tuple[int, ...], element: str, *, is_last: bool) -> Case:
    """ReLU of a tensor [N, C, spatial...]."""
    x = uniform(np.random.default_rng(0), shape, element)
    expected = np.maximum(x.astype(np.float64), 0)
    case = Case(
        name,
        [x],
        lambda gx: hipdnn.pointwise(gx, mode="relu_fwd"),
        [expected],
        [element],
        0.0,
        0.0,
        shapes=[shape],
    )
    if not is_last:
        return case
    return replace(
        case,
        inputs=[np.moveaxis(x, 1, -1)],
        expected=[np.moveaxis(expected, 1, -1)],
        layouts={"arg_strides": [last_strides(shape)]},
        logical_results=[shape],
    )


@requires_emulator
@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_convolutions(seed: int) -> None:
    draw = np.random.default_rng(seed)
    window, step = (int(draw.choice(each)) for each in ([1, 1, 2, 3], [1, 1, 2]))
    size = [int(one) for one in draw.choice([4, 7, 9, 14, 16, 20], 2)]
    channels, filters = (int(draw.choice(each)) for each in ([16, 32, 96], [8, 16, 20, 48, 64]))
    is_last = bool(draw.random() < 0.8)
    before, after = ([int(one) for one in draw.integers(0, 4, 2)] for _ in range(2))
    case = conv_case(
        f"{seed}",
        (int(draw.choice([1, 1, 2, 3])), channels, *size),
        (filters, channels, window, window),
        str(draw.choice(ELEMENTS)),
        pre=[int(draw.choice([0, window // 2]))] * 2,
        stride=[step, step],
        channels_last=is_last,
    )
    check(bordered(case, before, after, is_last=is_last), str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(60))
def test_random_tensors(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rank = int(draw.integers(1, 4))
    spatial = [int(one) for one in draw.choice([1, 3, 5, 8, 14, 17], rank)]
    shape = (int(draw.choice([1, 2])), int(draw.choice([1, 3, 16, 32])), *spatial)
    is_last = bool(draw.random() < 0.6)
    before, after = ([int(one) for one in draw.integers(0, 4, rank)] for _ in range(2))
    case = relu_case(f"{seed}", shape, str(draw.choice(ELEMENTS)), is_last=is_last)
    check(bordered(case, before, after, is_last=is_last), str(draw.choice(ARCHITECTURES)))


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
def test_operands_without_all_elements(architecture: str) -> None:
    """A broadcast dim, and a result of another type than what is padded."""
    x = np.array([[[0.1], [2049.0]]], np.float32)
    wide = np.broadcast_to(x, (1, 2, 6))
    ones = [1]

    def build(gx: Any) -> Any:
        return hipdnn.resample_fwd(
            gx,
            pre_padding=[2],
            post_padding=[1],
            stride=ones,
            window=ones,
            resample_mode=ResampleMode.AVGPOOL_INCLUDE_PADDING,
            padding_mode=PaddingMode.ZERO_PAD,
            result_type=tensor_type((1, 2, 9), "f16"),
        )

    expected = np.pad(wide.astype(np.float16), [(0, 0), (0, 0), (2, 1)])
    layouts = {"arg_strides": [[2, 1, 0]]}
    case = Case(
        "wide", [x[..., 0]], build, [expected], ["f16"], 0.0, 0.0, shapes=[wide.shape],
        layouts=layouts,
    )  # fmt: skip
    check(case, architecture)


WHOLE = {
    "product": (1, 64, 14, 14),
    "images": (2, 64, 7, 7),
    "volume": (1, 32, 4, 4, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("element", ELEMENTS)
def test_one_kernel_computes_and_pads(name: str, element: str) -> None:
    shape = WHOLE[name]
    ones = [1] * (len(shape) - 2)
    case = conv_case(name, shape, (48, shape[1], *ones), element, channels_last=True)
    kernel = compiled(bordered(case, ones, ones, is_last=True), "gfx942")
    assert len(kernel.steps) == 1


@requires_emulator
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("columns", [7, 14, 12])
def test_a_store_that_crosses_rows_is_split(columns: int, element: str) -> None:
    """A lane stores several elements at once, and a row does not end between two stores."""
    case = bordered(
        relu_case("rows", (1, 64, 32, columns), element, is_last=False),
        [1, 1],
        [1, 1],
        is_last=False,
    )
    assert len(compiled(case, "gfx942").steps) == 1
    check(case, "gfx942")
