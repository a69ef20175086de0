"""Records of the plans that were tried for a graph, and the decision among them."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.plan import Plan
from hipgraft.service.tuning.verdict import Verdict

# The cost below which a plan replaces the default one, relative to the default's. A smaller gain is
# ignored because an additional workspace has costs that no judge counts.
_CLEARLY = 0.8

# The cost of a launch for judges that do not count launches: the wave instructions that a GPU with
# a thousand SIMD units executes in the two microseconds of a launch.
_LAUNCH = {"counted": 1 << 17}


@dataclass(frozen=True)
class Trial:
    """A candidate plan and its result.

    Attributes:
        plan: the plan that was tried.
        verdicts: verdicts of the judges, in their order; empty if the plan does not compile.
        error: why the plan does not compile, or empty.
        launches: number of launches of the kernel.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...] = ()
    error: str = ""
    launches: int = 0

    @property
    def cost(self) -> float:
        """The cost by the first judge; infinity if the plan does not compile."""
        return self.verdicts[0].cost if self.verdicts else float("inf")

    @property
    def weight(self) -> float:
        """The cost by the first judge, with the cost of launches added."""
        worth = _LAUNCH.get(self.verdicts[0].judge, 0) if self.verdicts else 0
        return self.cost + worth * self.launches

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that any judge found."""
        return tuple(problem for verdict in self.verdicts for problem in verdict.problems)

    def __str__(self) -> str:
        costs = ", ".join(f"{each.judge} {each.cost:.3g}" for each in self.verdicts)
        return f"{self.plan}: {self.error or costs}"


@dataclass(frozen=True)
class Decision:
    """The plan that was chosen for a graph.

    Attributes:
        source: `usual` for the default plan, `database`, or `search` if several plans were tried.
        chosen: the chosen plan's trial.
        rejected: the other trials, best first.
    """

    source: str
    chosen: Trial
    rejected: tuple[Trial, ...] = ()

    @property
    def disagreements(self) -> list[str]:
        """The cases in which a later judge prefers another plan than the first judge."""
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
    """Chooses the cheapest trial, launches included; the first trial if none is clearly cheaper."""
    ranked = sorted(trials, key=lambda trial: (bool(trial.error), trial.weight))
    best = ranked[0]
    if trials[0].verdicts and best.weight >= _CLEARLY * trials[0].weight:
        best = trials[0]
    return Decision(source, best, tuple(trial for trial in ranked if trial is not best))
