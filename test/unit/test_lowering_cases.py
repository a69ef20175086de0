"""Shared by the tests of lowerings: cases compile on demand, and fail one by one."""

from __future__ import annotations

import numpy as np
import pytest
from lowering_cases import Case, Results, lower_case

from hipgraft.dialects import hipdnn
from hipgraft.ir.diagnostics import HipgraftError

X = np.array([1, -2, 3], np.float32)


def case(name: str) -> Case:
    return Case(name, [X], lambda x: hipdnn.pointwise(x, mode="neg"), [-X], ["f32"], 0, 0)


@pytest.mark.slow
def test_a_case_fails_alone() -> None:
    def lower(one: Case) -> str:
        text = lower_case(one)
        return text.replace("arith.negf", "arith.unknown") if one.name == "broken" else text

    cases = [case("before"), case("broken"), case("after")]
    results = Results(cases, lower)
    for one in (cases[2], cases[0]):
        one.check(results[one.name])
    with pytest.raises(HipgraftError, match=r"arith\.unknown"):
        results["broken"]


@pytest.mark.slow
def test_only_the_batch_of_a_case_is_compiled() -> None:
    lowered: list[str] = []

    def lower(one: Case) -> str:
        lowered.append(one.name)
        return lower_case(one)

    cases = [case(f"case_{index}") for index in range(100)]
    results = Results(cases, lower)
    assert not lowered
    cases[0].check(results["case_0"])
    cases[1].check(results["case_1"])
    assert "case_1" in lowered
    assert "case_99" not in lowered
