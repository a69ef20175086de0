"""Padded convolutions in their forms for AMDGPU, against definitions in double precision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from emulator import requires_emulator
from lowering_cases import Case, Results, lower_case
from test_alternatives import check_on_gpu_code
from test_lowering_contractions import conv_case

DIRECT = [
    conv_case("strided", (2, 8, 11, 12), (8, 1, 3, 3), "f16", pre=[1, 1], stride=[2, 2]),
    conv_case("last", (1, 8, 9, 6), (8, 1, 3, 3), pre=[1, 1], channels_last=True),
    conv_case("far", (1, 4, 9, 9), (4, 1, 3, 2), pre=[2, 1], post=[1, 0], dilation=[2, 3]),
    conv_case("line", (2, 8, 20), (8, 1, 5), "bf16", pre=[2]),
    conv_case("space", (1, 4, 3, 4, 5), (4, 1, 2, 2, 3), pre=[1, 1, 1]),
    conv_case("turned", (1, 4, 6, 6), (4, 1, 3, 3), pre=[1, 1], flip=True),
    conv_case("wide", (1, 4, 10, 11), (4, 1, 7, 7), "f16", pre=[3, 3]),
]
COPIED = [
    conv_case("few", (2, 3, 20, 20), (16, 3, 7, 7), pre=[3, 3], stride=[2, 2]),
    conv_case("uneven", (1, 3, 9, 24), (8, 3, 5, 3), "f16", pre=[2, 0], post=[1, 3]),
    conv_case("few_last", (1, 3, 9, 24), (8, 3, 3, 3), pre=[1, 1], channels_last=True),
]
CASES = [replace(case, name=f"direct_{case.name}", target="gfx942") for case in (*DIRECT, *COPIED)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_the_cpu(case: Case, results: Results) -> None:
    case.check(results[case.name])


@requires_emulator
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_on_gpu_code(case: Case, architecture: str) -> None:
    check_on_gpu_code(case, architecture)


def test_the_forms_are_those_of_the_cases() -> None:
    for case in CASES[: len(DIRECT)]:
        assert "linalg.depthwise" not in lower_case(case)
    for case in CASES[len(DIRECT) :]:
        assert "tensor.insert_slice" in lower_case(case)
    assert "linalg.depthwise" in lower_case(replace(CASES[0], target="cpu"))
    # Where a wavefront has 32 lanes, 49 elements take more registers than there are.
    assert "linalg.depthwise" in lower_case(replace(CASES[len(DIRECT) - 1], target="gfx1100"))
