"""The search: compiles graphs with the default plan, and with others where that may pay off."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from hipgraft.codegen.plan import USUAL, Plan
from hipgraft.service.job import Outcome
from hipgraft.service.keys import compiler_version
from hipgraft.service.request import Request
from hipgraft.service.tuning.database import Database, Tuned
from hipgraft.service.tuning.decision import Decision, Trial, decide
from hipgraft.service.tuning.static import StaticJudge
from hipgraft.service.tuning.verdict import Judge

if TYPE_CHECKING:
    from hipgraft.service.tuning.plans import Choices

Mode: TypeAlias = Literal["none", "default", "full"]
Compile: TypeAlias = Callable[[Sequence[Request]], list[Outcome]]


@dataclass
class Search:
    """Searches for the best plan of each graph.

    Attributes:
        mode: `none` uses the database's plan, or else the default plan; `default` tries other plans
            if the default plan does not compile or the static judge reports problems; `full` tries
            all plans.
        judges: the first judge decides; disagreements of later judges are reported.
        database: plans that are already known.
        budget: seconds after which no search starts.
        found: entries for the graphs that were searched.
    """

    mode: Mode = "default"
    judges: Sequence[Judge] = field(default_factory=lambda: [StaticJudge()])
    database: Database = field(default_factory=Database)
    budget: float = float("inf")
    found: Database = field(default_factory=Database)

    @property
    def identity(self) -> str:
        """The settings that determine the decisions, as text."""
        judges = ",".join(judge.name for judge in self.judges)
        return f"{self.mode} {judges} {self.budget}\n{self.database.identity}"

    def compile(self, requests: Sequence[Request], compile_all: Compile) -> list[Outcome]:
        """Returns the best outcome of each request, in order, with its `decision`.

        Args:
            requests: the requests.
            compile_all: compiles requests without a search.
        """
        plans = [self._known(request) for request in requests]
        first = [
            request if plan is None else _planned(request, plan)
            for request, plan in zip(requests, plans, strict=True)
        ]
        outcomes = compile_all(first)
        searched = [_Searched(*each) for each in zip(requests, plans, outcomes, strict=True)]
        end = time.monotonic() + self.budget
        # The largest graphs come first, because they gain the most if the budget runs out.
        for each in sorted(searched, key=lambda each: -each.flops):
            self._search(each, compile_all, end)
        return [each.outcome for each in searched]

    def _known(self, request: Request) -> Plan | None:
        name = request.target.name
        return self.database.find(request.digest, name, compiler_version())

    def _search(self, each: _Searched, compile_all: Compile, end: float) -> None:
        if each.choices is None:
            return
        if each.plan is not None and each.outcome.kernel is not None and self.mode != "full":
            trial = _trial(each.plan, each.outcome, each.choices, self._first_judges())
            each.settle(Decision("database", trial))
            return
        trials = [_trial(each.plan or USUAL, each.outcome, each.choices, self._first_judges())]
        if not self._is_worth(each, trials[0]) or time.monotonic() > end:
            each.settle(Decision("usual", trials[0]))
            return
        tried = each.plan or USUAL
        plans = [plan for plan in (USUAL, *each.choices.plans()) if plan != tried]
        outcomes = [each.outcome, *compile_all([_planned(each.request, plan) for plan in plans])]
        trials = [
            _trial(plan, outcome, each.choices, self.judges)
            for plan, outcome in zip((tried, *plans), outcomes, strict=True)
        ]
        decision = decide("search", trials)
        each.outcome = outcomes[trials.index(decision.chosen)]
        each.settle(decision)
        self._remember(each.request, decision)

    def _first_judges(self) -> Sequence[Judge]:
        """Returns the judges of the first trial; the static judge decides whether to search.

        The others' costs are for the report.
        """
        if self.mode == "full":
            return self.judges
        return [StaticJudge(), *(judge for judge in self.judges if judge.name != "static")]

    def _is_worth(self, each: _Searched, trial: Trial) -> bool:
        """Whether to try other plans; not after a crash or timeout."""
        if self.mode == "none" or not each.outcome.permanent:
            return False
        return self.mode == "full" or bool(trial.error or trial.verdicts[0].problems)

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


def _planned(request: Request, plan: Plan) -> Request:
    """Returns the request for a plan; the default plan's request keeps its cache key."""
    choices = request.choices
    if plan == USUAL or choices is None:
        return request
    return replace(
        request,
        container=f"{request.container}\nplan {plan}",
        flags=(*request.flags, *plan.flags),
        lower=lambda: choices.lower(plan),
    )


def _trial(plan: Plan, outcome: Outcome, choices: Choices, judges: Sequence[Judge]) -> Trial:
    if outcome.kernel is None:
        message = "no reason given" if outcome.error is None else outcome.error.message
        return Trial(plan, error=message)
    work = choices.work()
    verdicts = tuple(judge.judge(outcome.kernel, work) for judge in judges)
    return Trial(plan, verdicts, launches=len(outcome.kernel.dispatches))
