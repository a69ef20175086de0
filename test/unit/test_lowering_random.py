"""Random shapes, attributes, strides and element types of each op."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from lowering_cases import Case, Results
from random_graphs import FAMILIES, graphs

pytestmark = pytest.mark.slow


@pytest.mark.sampled(6)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_graphs(family: str, request: pytest.FixtureRequest) -> None:
    """The first round is the smallest graph of each op; hypothesis always draws the same ones."""

    @given(graphs(family))
    @settings(
        max_examples=request.config.getoption("--random-rounds"),
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )
    def check(cases: list[Case]) -> None:
        results = Results(cases)
        for case in cases:
            case.check(results[case.name])

    check()
