"""Pooling and interpolation in all modes, and their gradients, against loops over the windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from lowering_cases import Case, Results
from op_cases import op_case, uniform
from oracle.resample import Resampling

from hipgraft.dialects import hipdnn

TOLERANCE = {"f32": 1e-5, "f16": 1e-2, "bf16": 5e-2}
ELEMENTS = ("f32", "f16", "bf16")
MODES = tuple(mode.value for mode in hipdnn.ResampleMode)

random = np.random.default_rng(31)


def window(
    size: Sequence[int], stride: Sequence[int], pre: Sequence[int], post: Sequence[int]
) -> dict[str, list[int]]:
    return {"window": [*size], "stride": [*stride], "pre": [*pre], "post": [*post]}


def attributes(windows: dict[str, list[int]], mode: str, padding: str) -> dict[str, Any]:
    return {
        "window": windows["window"],
        "stride": windows["stride"],
        "pre_padding": windows["pre"],
        "post_padding": windows["post"],
        "resample_mode": mode,
        "padding_mode": padding,
    }


FLAT = window((3, 2), (2, 1), (1, 0), (1, 1))
LINE = window((4,), (2,), (2,), (1,))
SOLID = window((2, 3, 2), (2, 2, 1), (0, 1, 1), (1, 1, 0))
SHAPES = {
    "flat": ((2, 3, 7, 6), FLAT),
    "line": ((2, 2, 9), LINE),
    "solid": ((1, 2, 4, 5, 4), SOLID),
}


def forward_case(mode: str, padding: str, form: str, element: str = "f32") -> Case:
    return windows_case(f"{mode}_{padding}_{form}", *SHAPES[form], mode, padding, element)


def windows_case(
    name: str,
    shape: Sequence[int],
    windows: dict[str, list[int]],
    mode: str,
    padding: str,
    element: str,
) -> Case:
    x = uniform(random, shape, element, -2, 1)
    y, index = Resampling(x.astype(np.float64), mode, **windows, padding=padding).forward()
    is_max = mode == "MAXPOOL"
    return op_case(
        f"{name}_{element}",
        hipdnn.ResampleFwdOp,
        {"x": x},
        {"y": y, "index": index} if is_max else {"y": y},
        {"y": element, "index": "i32"},
        TOLERANCE[element],
        generate_index=is_max,
        **attributes(windows, mode, padding),
    )


def nan_case() -> Case:
    x = uniform(random, (1, 1, 8), "f32")
    x[0, 0, [2, 3]] = np.nan
    windows = window((2,), (2,), (0,), (0,))
    oracle = Resampling(x.astype(np.float64), "MAXPOOL", **windows, padding="NEG_INF_PAD")
    y, index = oracle.forward()
    return op_case(
        "maxpool_nan",
        hipdnn.ResampleFwdOp,
        {"x": x},
        {"y": y, "index": index},
        {"y": "f32", "index": "i32"},
        0,
        generate_index=True,
        **attributes(windows, "MAXPOOL", "NEG_INF_PAD"),
    )


def values_case(name: str, padding: str, windows: dict[str, list[int]]) -> Case:
    """Maxima without their positions."""
    x = uniform(random, (1, 2, 5), "f32", -2, 1)
    oracle = Resampling(x.astype(np.float64), "MAXPOOL", **windows, padding=padding)
    return op_case(
        f"values_{name}_{padding}",
        hipdnn.ResampleFwdOp,
        {"x": x},
        {"y": oracle.forward()[0]},
        "f32",
        0,
        **attributes(windows, "MAXPOOL", padding),
    )


def backward_case(mode: str, form: str, element: str = "f32", padding: str = "ZERO_PAD") -> Case:
    return windows_gradient_case(f"{mode}_{form}", *SHAPES[form], mode, padding, element)


def windows_gradient_case(
    name: str,
    shape: Sequence[int],
    windows: dict[str, list[int]],
    mode: str,
    padding: str,
    element: str,
) -> Case:
    x = uniform(random, shape, element, -2, 1).astype(np.float64)
    oracle = Resampling(x, mode, **windows, padding=padding)
    _, index = oracle.forward()
    dy = uniform(random, oracle.shape, element)
    operands = {"dy": dy} | ({"index": index.astype(np.int32)} if mode == "MAXPOOL" else {})
    return op_case(
        f"backward_{name}_{element}",
        hipdnn.ResampleBwdOp,
        operands,
        {"dx": oracle.backward(dy.astype(np.float64))},
        element,
        TOLERANCE[element],
        **attributes(windows, mode, padding),
    )


CASES = [
    *(forward_case(mode, "ZERO_PAD", "flat", element) for mode in MODES for element in ELEMENTS),
    *(forward_case(mode, "EDGE_VAL_PAD", form) for mode in MODES for form in ("line", "solid")),
    *(forward_case(mode, "ZERO_PAD", "line") for mode in MODES),
    *(forward_case("MAXPOOL", "NEG_INF_PAD", form) for form in SHAPES),
    nan_case(),
    *(
        values_case(name, padding, window((2,), (1,), pre, post))
        for padding in ("NEG_INF_PAD", "EDGE_VAL_PAD")
        for name, pre, post in (("padded", (1,), (1,)), ("of_padding", (2,), (2,)))
    ),
    *(backward_case(mode, "flat", element) for mode in MODES for element in ELEMENTS),
    *(backward_case(mode, "line") for mode in MODES),
    backward_case("MAXPOOL", "solid", padding="NEG_INF_PAD"),
    backward_case("AVGPOOL_EXCLUDE_PADDING", "solid", padding="EDGE_VAL_PAD"),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_resample(case: Case, results: Results) -> None:
    case.check(results[case.name])
