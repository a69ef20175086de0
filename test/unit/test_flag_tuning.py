"""Compiler flags of single graphs, chosen by times measured on a device."""

from __future__ import annotations

import pytest
import yaml
from test_service import graph
from test_timed import SlowDevice

from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context
from hipgraft.service import CompileService
from hipgraft.service.flag_tuning import (
    Candidate,
    Ranking,
    Score,
    default_candidates,
    overrides_yaml,
    tune,
)
from hipgraft.service.tuning.cost_model import Cost, CostModel
from hipgraft.service.tuning.timed import TimedCostModel

GFX942 = Target.parse("gfx942")
NARROW = Candidate("narrow", ("--iree-input-demote-f32-to-f16",))
DEFAULT = Candidate("default")


def ranking(cost_model: CostModel, other: Candidate = NARROW) -> Ranking:
    with make_context() as context:
        module = ir.Module.parse(graph("relu", 4096), context)
        (found,) = tune(module, GFX942, [DEFAULT, other], CompileService(), cost_model=cost_model)
    return found


@pytest.mark.slow
def test_the_faster_one_is_taken() -> None:
    for slow, expected in (("f32", NARROW), ("f16", DEFAULT)):
        # Kernels are named after their element type.
        found = ranking(TimedCostModel(SlowDevice("gfx942", {f"_{slow}": 5})))
        assert found.scores[0].candidate == expected
        assert found.best.candidate == expected
        times = [score.cost.value for score in found.scores if score.cost is not None]
        assert times[0] < 5000 <= times[1]
        written = yaml.safe_load(overrides_yaml([found]))
        assert [each["flags"] for each in written] == [list(expected.flags)] * bool(expected.flags)


def score(candidate: Candidate, cost: float, spread: float = 0.0, error: str = "") -> Score:
    return Score(candidate, cost=Cost("timed", cost, {"spread": spread}), error=error)


def test_what_may_be_chance_is_no_gain() -> None:
    default = score(DEFAULT, 100)
    assert Ranking("g", "d", "gfx942", (score(NARROW, 98), default)).best == default
    assert Ranking("g", "d", "gfx942", (score(NARROW, 80, spread=30), default)).best == default
    fast = score(NARROW, 80, spread=10)
    assert Ranking("g", "d", "gfx942", (fast, default)).best == fast


class BrokenCostModel:
    name = "timed"

    def cost(self, kernel: object, work: object) -> Cost:
        return Cost(self.name, float("inf"), {}, ("it does not run: out of memory",))


@pytest.mark.slow
def test_what_does_not_run_is_no_override() -> None:
    found = ranking(BrokenCostModel())
    assert {each.error for each in found.scores} == {"it does not run: out of memory"}
    assert yaml.safe_load(overrides_yaml([found])) == []


class HastyCostModel:
    """Returns for each kernel half the time of the previous kernel."""

    name = "timed"

    def __init__(self) -> None:
        self.next = 100.0

    def cost(self, kernel: object, work: object) -> Cost:
        self.next /= 2
        return Cost(self.name, self.next)


@pytest.mark.slow
def test_flags_that_change_nothing_are_no_gain() -> None:
    idle = Candidate("idle", ("--iree-opt-level=O3",))
    found = ranking(HastyCostModel(), idle)
    assert [each.cost for each in found.scores] == [Cost("timed", 50.0)] * 2
    assert found.best.candidate == DEFAULT
    assert ranking(HastyCostModel(), NARROW).best.candidate == NARROW


def test_candidates_fit_the_target() -> None:
    for target in (GFX942, Target.parse("sm_80")):
        flags = [flag for each in default_candidates(target) for flag in each.flags]
        assert any("rocm" in flag for flag in flags) == (target == GFX942)
