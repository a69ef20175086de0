"""Searches for plans: compiles graphs with the default plan, and others if that may pay off."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from hipgraft.codegen.plan import DEFAULT_PLAN, Plan
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.job import Outcome
from hipgraft.service.keys import compiler_version
from hipgraft.service.request import Request
from hipgraft.service.tuning.cost_model import AUTHORITY, CostModel
from hipgraft.service.tuning.database import Database, Tuned
from hipgraft.service.tuning.decision import Candidate, Decision, decide
from hipgraft.service.tuning.static import StaticCostModel

if TYPE_CHECKING:
    from hipgraft.service.tuning.plans import Choices

Mode: TypeAlias = Literal["none", "default", "full"]
Compile: TypeAlias = Callable[[Sequence[Request]], list[Outcome]]


@dataclass
class Search:
    """Searches for the best plan of each graph.

    Attributes:
        mode: `none` uses the database's plan, or else the default plan; `default` tries other plans
            if the default plan does not compile or has problems according to the static cost model;
            `full` tries all plans.
        cost_models: the first one decides; disagreements of later ones are reported.
        database: best plans of graphs that were searched earlier.
        budget: seconds after which no search starts.
        plan: plan to force on the graphs that have it, regardless of the database; None to search.
        found: entries for the graphs that were searched.
    """

    mode: Mode = "default"
    cost_models: Sequence[CostModel] = field(default_factory=lambda: [StaticCostModel()])
    database: Database = field(default_factory=Database)
    budget: float = float("inf")
    plan: Plan | None = None
    found: Database = field(default_factory=Database)

    @property
    def identity(self) -> str:
        """The settings that determine the decisions, as text."""
        cost_models = ",".join(cost_model.name for cost_model in self.cost_models)
        plan = "" if self.plan is None else f" {self.plan}"
        return f"{self.mode} {cost_models} {self.budget}{plan}\n{self.database.identity}"

    def compile(self, requests: Sequence[Request], compile_all: Compile) -> list[Outcome]:
        """Returns the best outcome of each request, in order, with its `decision`.

        Args:
            requests: the requests.
            compile_all: compiles requests without a search.

        Raises:
            HipgraftError: none of the graphs has the forced plan.
        """
        if self.plan is not None:
            return self._compile_given(self.plan, requests, compile_all)
        plans = [self._known(request) for request in requests]
        first = [
            request if plan is None else _planned(request, plan)
            for request, plan in zip(requests, plans, strict=True)
        ]
        outcomes = compile_all(first)
        searched = [_Searched(*each) for each in zip(requests, plans, outcomes, strict=True)]
        end = time.monotonic() + self.budget
        # The largest graphs come first: they gain the most, and the budget may run out.
        for each in sorted(searched, key=lambda each: -each.flops):
            self._search(each, compile_all, end)
        return [each.outcome for each in searched]

    def _compile_given(
        self, plan: Plan, requests: Sequence[Request], compile_all: Compile
    ) -> list[Outcome]:
        plans = [DEFAULT_PLAN if one.choices is None else plan for one in requests]
        offered = {
            one for request in requests if request.choices for one in request.choices.plans()
        }
        if plan not in (DEFAULT_PLAN, *offered):
            known = ", ".join(map(str, [DEFAULT_PLAN, *sorted(offered)]))
            raise HipgraftError(f"the graph has no plan '{plan}': expected {known}")
        return compile_all(list(map(_planned, requests, plans)))

    def _known(self, request: Request) -> Plan | None:
        name = request.target.name
        return self.database.find(request.digest, name, compiler_version())

    def _search(self, each: _Searched, compile_all: Compile, end: float) -> None:
        if each.choices is None:
            return
        if each.plan is not None and each.outcome.kernel is not None and self.mode != "full":
            candidate = _candidate(each.plan, each.outcome, each.choices, self._first_cost_models())
            each.settle(Decision("database", candidate))
            return
        candidates = [
            _candidate(
                each.plan or DEFAULT_PLAN, each.outcome, each.choices, self._first_cost_models()
            )
        ]
        if not self._is_worth(each, candidates[0]) or time.monotonic() > end:
            each.settle(Decision("default", candidates[0]))
            return
        tried = each.plan or DEFAULT_PLAN
        plans = [plan for plan in (DEFAULT_PLAN, *each.choices.plans()) if plan != tried]
        outcomes = [each.outcome, *compile_all([_planned(each.request, plan) for plan in plans])]
        candidates = [
            _candidate(plan, outcome, each.choices, self.cost_models)
            for plan, outcome in zip((tried, *plans), outcomes, strict=True)
        ]
        decision = decide("search", candidates)
        each.outcome = outcomes[candidates.index(decision.chosen)]
        each.settle(decision)
        self._remember(each.request, decision)

    def _first_cost_models(self) -> Sequence[CostModel]:
        """Returns the cost models for the first candidate.

        The static model comes first, because it decides whether to search. The others' costs are
        for the report.
        """
        if self.mode == "full":
            return self.cost_models
        return [
            StaticCostModel(),
            *(cost_model for cost_model in self.cost_models if cost_model.name != "static"),
        ]

    def _is_worth(self, each: _Searched, candidate: Candidate) -> bool:
        """Returns whether to try other plans, which is never worth it after a crash or timeout."""
        if self.mode == "none" or not each.outcome.permanent:
            return False
        return self.mode == "full" or bool(candidate.error or candidate.costs[0].problems)

    def _remember(self, request: Request, decision: Decision) -> None:
        if decision.chosen.error or not decision.rejected:
            return
        target, version = request.target.name, compiler_version()
        entry = Tuned.of(request.digest, target, version, request.name, decision)
        self.found.merge([entry])


@dataclass
class _Searched:
    """A request whose plan is being decided."""

    request: Request
    plan: Plan | None
    outcome: Outcome

    @property
    def choices(self) -> Choices | None:
        return self.request.choices

    @property
    def flops(self) -> int:
        return 0 if self.choices is None else self.choices.work().flops

    def settle(self, decision: Decision) -> None:
        self.outcome = replace(self.outcome, decision=decision)


def open_cost_models(names: Sequence[str], device: str = "") -> list[CostModel]:
    """Returns the cost models with the given names, in this order.

    Args:
        names: any of `AUTHORITY`.
        device: device of `timed`; by default the GPU of this machine.

    Raises:
        HipgraftError: a name is unknown, or a cost model lacks its device or emulator.
    """
    unknown = [name for name in names if name not in AUTHORITY]
    if unknown or not names:
        known = ", ".join(reversed(AUTHORITY))
        raise HipgraftError(f"expected cost models of {known}, found '{', '.join(unknown)}'")
    return [_open(name, device) for name in names]


def _open(name: str, device: str) -> CostModel:
    # Imported only if named, because devices slow start-up down.
    if name == "counted":
        from hipgraft.service.tuning.counted import CountedCostModel

        return CountedCostModel()
    if name == "estimated":
        from hipgraft.service.tuning.estimated import EstimatedCostModel

        return EstimatedCostModel()
    if name == "timed":
        from hipgraft.service.tuning.timed import TimedCostModel

        return TimedCostModel.open(device)
    return StaticCostModel()


def _planned(request: Request, plan: Plan) -> Request:
    """Returns the request for a plan; the default plan's request keeps its cache key."""
    choices = request.choices
    if plan == DEFAULT_PLAN or choices is None:
        return request
    return replace(
        request,
        container=f"{request.container}\nplan {plan}",
        flags=(*request.flags, *plan.flags),
        lower=lambda: choices.lower(plan),
    )


def _candidate(
    plan: Plan, outcome: Outcome, choices: Choices, cost_models: Sequence[CostModel]
) -> Candidate:
    if outcome.kernel is None:
        message = "no reason given" if outcome.error is None else outcome.error.message
        return Candidate(plan, error=message)
    work = choices.work()
    costs = tuple(cost_model.cost(outcome.kernel, work) for cost_model in cost_models)
    return Candidate(plan, costs, launches=len(outcome.kernel.dispatches))
