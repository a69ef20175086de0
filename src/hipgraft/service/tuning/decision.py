"""Records of the plans that were tried for a graph, and the decision among them."""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.plan import Plan
from hipgraft.service.tuning.cost_model import Cost

# A plan replaces the default if its cost is below this share of the default's. Smaller gains
# do not count because an additional workspace has costs that no cost model covers.
_CLEARLY = 0.8

LAUNCH_INSTRUCTIONS = 1 << 17
"""The cost of a launch in instructions: the number that a GPU with a thousand SIMD units
executes in the two microseconds of a launch."""

# The cost of a launch by cost model, for the cost models whose costs do not include launches.
_LAUNCH = {"counted": LAUNCH_INSTRUCTIONS}


@dataclass(frozen=True)
class Candidate:
    """A candidate plan and its result.

    Attributes:
        plan: the plan that was tried.
        costs: one cost per cost model, in the order of the models; empty if the plan does not
            compile.
        error: why the plan does not compile, or empty.
        launches: number of launches of the kernel.
    """

    plan: Plan
    costs: tuple[Cost, ...] = ()
    error: str = ""
    launches: int = 0

    @property
    def cost(self) -> float:
        """The cost by the first cost model; infinity if the plan does not compile."""
        return self.costs[0].value if self.costs else float("inf")

    @property
    def cost_with_launches(self) -> float:
        """The cost by the first cost model, with the cost of launches added."""
        worth = _LAUNCH.get(self.costs[0].cost_model, 0) if self.costs else 0
        return self.cost + worth * self.launches

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems that any cost model found."""
        return tuple(problem for cost in self.costs for problem in cost.problems)

    def __str__(self) -> str:
        costs = ", ".join(f"{each.cost_model} {each.value:.3g}" for each in self.costs)
        return f"{self.plan}: {self.error or costs}"


@dataclass(frozen=True)
class Decision:
    """The plan that was chosen for a graph.

    Attributes:
        source: `default` for the default plan, `database`, or `search` if several plans were tried.
        chosen: the chosen candidate.
        rejected: the other candidates, best first.
    """

    source: str
    chosen: Candidate
    rejected: tuple[Candidate, ...] = ()

    @property
    def disagreements(self) -> list[str]:
        """The cases in which a later cost model prefers a different plan than the first model."""
        found: list[str] = []
        first = self.chosen.costs[0].cost_model if self.chosen.costs else ""
        compiled = [candidate for candidate in self.rejected if candidate.costs]
        for index, cost in enumerate(self.chosen.costs[1:], start=1):
            costs = [(each.costs[index].value, each.plan) for each in compiled]
            least, plan = min(costs, default=(cost.value, self.chosen.plan))
            if least < cost.value:
                by = f"{least:.3g} to {cost.value:.3g}"
                found.append(f"'{cost.cost_model}' prefers {plan} ({by}), '{first}' does not")
        return found

    def __str__(self) -> str:
        rejected = "; ".join(map(str, self.rejected))
        tried = f", rejected {rejected}" if rejected else ""
        return ", ".join([f"takes {self.chosen}{tried}", *self.disagreements])


def decide(source: str, candidates: list[Candidate]) -> Decision:
    """Chooses the cheapest candidate, with launches, or the first if none is clearly cheaper."""
    ranked = sorted(
        candidates, key=lambda candidate: (bool(candidate.error), candidate.cost_with_launches)
    )
    best = ranked[0]
    if (
        candidates[0].costs
        and best.cost_with_launches >= _CLEARLY * candidates[0].cost_with_launches
    ):
        best = candidates[0]
    return Decision(source, best, tuple(candidate for candidate in ranked if candidate is not best))
