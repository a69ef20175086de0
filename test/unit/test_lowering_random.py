"""Random shapes, attributes, strides and element types of each op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from emulator import requires_emulator
from hypothesis import Phase, given, settings
from lowering_cases import Case, Results, run_case
from random_graphs import FAMILIES, graphs

pytestmark = pytest.mark.slow


def check_graphs(family: str, rounds: int, check: Callable[[list[Case]], None]) -> None:
    """The first round is the smallest graph of each op; hypothesis always draws the same ones."""
    drawn = given(graphs(family))(check)
    settings(
        max_examples=rounds,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )(drawn)()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_graphs(family: str, request: pytest.FixtureRequest) -> None:
    def check(cases: list[Case]) -> None:
        results = Results(cases)
        for case in cases:
            case.check(results[case.name])

    check_graphs(family, request.config.getoption("--random-rounds"), check)


@requires_emulator
@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("family", FAMILIES)
def test_random_graphs_on_gpu_code(
    family: str, architecture: str, request: pytest.FixtureRequest
) -> None:
    def check(cases: list[Case]) -> None:
        for case in cases:
            on_gpu = replace(case, target=architecture)
            on_gpu.check(run_case(on_gpu))

    check_graphs(family, request.config.getoption("--random-rounds"), check)
