"""What was tried for a graph, and what was taken."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.plan import Plan
from hipgraft.tuning.judges import Verdict

# Of the cost of what is done anyway: a workspace more costs what no judge counts.
_CLEARLY = 0.8

# What a launch is worth to judges that do not see it: the wave instructions that a GPU of a
# thousand SIMD units executes in the two microseconds that a launch takes.
_LAUNCH = {"counted": 1 << 17}


@dataclass(frozen=True)
class Trial:
    """One plan and what came of it.

    Attributes:
        plan: what was tried.
        verdicts: of the judges, in their order; none if it does not compile.
        error: why it does not compile, or empty.
        launches: of the kernel.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    launches: int = 0

    @property
    def cost(self) -> float:
        """The cost by the first judge."""
        return self.verdicts[0].cost if self.verdicts else float("inf")

    @property
    def weight(self) -> float:
        """The cost with what launches are worth."""
        worth = _LAUNCH.get(self.verdicts[0].judge, 0) if self.verdicts else 0
        return self.cost + worth * self.launches

    @property
    def problems(self) -> tuple[str, ...]:
        """What any judge calls pathological."""
        return tuple(problem for verdict in self.verdicts for problem in verdict.problems)

    def __str__(self) -> str:
        costs = ", ".join(f"{each.judge} {each.cost:.3g}" for each in self.verdicts)
        return f"{self.plan}: {self.error or costs}"


@dataclass(frozen=True)
class Decision:
    """The plan that was taken for a graph.

    Attributes:
        source: `usual`, `database`, or `search` if others were tried.
        chosen: what was taken.
        rejected: what else was tried, best first.
    """

    source: str
    chosen: Trial
    rejected: tuple[Trial, ...] = ()

    @property
    def disagreements(self) -> list[str]:
        """Where a later judge would have taken another plan than the first one."""
        found: list[str] = []
        first = self.chosen.verdicts[0].judge if self.chosen.verdicts else ""
        compiled = [trial for trial in self.rejected if trial.verdicts]
        for index, verdict in enumerate(self.chosen.verdicts[1:], start=1):
            costs = [(each.verdicts[index].cost, each.plan) for each in compiled]
            cost, plan = min(costs, default=(verdict.cost, self.chosen.plan))
            if cost < verdict.cost:
                by = f"{cost:.3g} to {verdict.cost:.3g}"
                found.append(f"judge '{verdict.judge}' prefers {plan} ({by}), judge '{first}' not")
        return found

    def __str__(self) -> str:
        rejected = "; ".join(map(str, self.rejected))
        tried = f", rejected {rejected}" if rejected else ""
        return ", ".join([f"takes {self.chosen}{tried}", *self.disagreements])


def decide(source: str, trials: list[Trial]) -> Decision:
    """Takes the cheapest trial, launches included; the first one, if none is clearly cheaper."""
    ranked = sorted(trials, key=lambda trial: (bool(trial.error), trial.weight))
    best = ranked[0]
    if trials[0].verdicts and best.weight >= _CLEARLY * trials[0].weight:
        best = trials[0]
    return Decision(source, best, tuple(trial for trial in ranked if trial is not best))
