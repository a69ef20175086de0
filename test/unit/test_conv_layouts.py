"""Random small convolutions whose tensors are stored channels first or last, on the emulator."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from emulator import requires_emulator
from lowering_cases import Case, run_case
from test_lowering_contractions import conv_case, last_strides

from hipgraft.ir.diagnostics import CodegenError

THOROUGH = [pytest.mark.thorough, pytest.mark.slow]


def moved(value: np.ndarray) -> np.ndarray:
    """Returns [N, C, spatial...] as [N, spatial..., C]."""
    return np.moveaxis(value, 1, -1).copy()


def random_case(seed: int, target: str) -> Case:
    """Draws windows that fit a few times or once, and the order of each tensor."""
    draw = random.Random(seed)
    groups, window = draw.choice((1, 2, 4)), draw.choice((1, 2, 3, 5))
    sizes = [window + draw.choice((0, 0, 1, 3, 8)) for _ in range(2)]
    channels = draw.choice((2, 4, 8, 16, 128) if groups == 1 else (2, 4, 8, 16))
    x = (draw.choice((1, 2)), groups * channels, *sizes)
    w = (groups * draw.choice((2, 4, 8, 16)), x[1] // groups, window, window)
    pad, step, element = draw.choice((0, 0, window // 2)), draw.choice((1, 1, 2)), "f16"
    if draw.random() < 0.5:
        element = "f32"
    case = conv_case("conv", x, w, element, pre=[pad, pad], stride=[step, step])
    (y,) = case.expected
    is_last = [draw.random() < 0.6 for _ in range(3)]
    inputs = [moved(v) if last else v for v, last in zip(case.inputs, is_last[:2], strict=True)]
    strides = [
        last_strides(s) if last else None for s, last in zip((x, w), is_last[:2], strict=True)
    ]
    layouts = {
        "arg_strides": strides,
        "result_strides": [last_strides(y.shape) if is_last[2] else None],
    }
    return replace(
        case,
        name=f"conv_{seed}",
        inputs=inputs,
        expected=[moved(y) if is_last[2] else y],
        shapes=[x, w],
        layouts=layouts,
        logical_results=[y.shape],
        target=target,
    )


@pytest.mark.sampled(4)
@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "seeds",
    [range(4), pytest.param(range(4, 200), marks=[pytest.mark.thorough, pytest.mark.slow])],
)
def test_random_layouts(seeds: range, architecture: str) -> None:
    refused = 0
    for seed in seeds:
        case = random_case(seed, architecture)
        try:
            results = run_case(case)
        except CodegenError:  # the compiler rejects a few cases, which another plan compiles
            refused += 1
            continue
        case.check(results)
    assert refused <= len(seeds) // 10
