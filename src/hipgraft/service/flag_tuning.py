"""Chooses compiler flags for individual graphs by comparing the compiled kernels.

Without a cost model, candidates are ranked by resource usage: fewer spills, then fewer launches,
then use of matrix instructions, then higher occupancy. With a cost model, the cheapest is first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from hipgraft.codegen.canonical import container_key, container_text, find_containers
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.objects.matrix_code import count_matrix_instructions
from hipgraft.codegen.objects.resource_stats import kernel_resources, peak_resources
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import read_yaml
from hipgraft.service.job import Outcome
from hipgraft.service.override_fields import CandidateFields
from hipgraft.service.request import Request
from hipgraft.service.service import CompileService
from hipgraft.service.tuning.cost_model import Cost, CostModel
from hipgraft.service.tuning.work import graph_work

# The least gain that counts, relative to the cost with the default flags. Smaller gains may be
# noise, and so may gains within the spread of the measurements.
_LEAST_GAIN = 0.05


@dataclass(frozen=True)
class Candidate:
    """A set of flags to try for a graph.

    Attributes:
        name: name for the user.
        flags: flags appended to the flags that all graphs get.
    """

    name: str
    flags: tuple[str, ...] = ()


_CANDIDATES = (
    Candidate("default"),
    Candidate("O2", ("--iree-opt-level=O2",)),
    Candidate("whole reductions", ("--iree-dispatch-creation-enable-split-reduction=false",)),
    Candidate(
        "materialized padding",
        ("--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops=false",),
    ),
    Candidate("aggressive fusion", ("--iree-dispatch-creation-enable-aggressive-fusion",)),
)
_AMDGPU_CANDIDATES = (
    Candidate("2 waves a SIMD", ("--iree-rocm-waves-per-eu=2",)),
    Candidate("4 waves a SIMD", ("--iree-rocm-waves-per-eu=4",)),
)


@dataclass(frozen=True)
class Score:
    """The result of a candidate for one graph; a smaller `rank` is better.

    Attributes:
        candidate: the flags that were tried.
        launches: number of kernel launches.
        matrix: number of matrix instructions (MFMA, WMMA) in the code of all kernels.
        resources: resource usage of its kernels (`peak_resources`); empty for targets other than
            AMDGPU.
        cost: None without a cost model.
        error: why it did not compile or run, or empty.
    """

    candidate: Candidate
    launches: int = 0
    matrix: int = 0
    resources: Mapping[str, int] | None = None
    cost: Cost | None = None
    error: str = ""

    @property
    def rank(self) -> tuple[float, ...]:
        """The sort key of the score: its criteria, most important first."""
        if self.error or self.resources is None:
            return (1,)
        if self.cost is not None:
            return (0, self.cost.value)
        f = self.resources
        memory = f.get("spills", 0) + f.get("scratch", 0)
        return (0, memory, self.launches, int(self.matrix == 0), -f.get("occupancy", 0))


@dataclass(frozen=True)
class Ranking:
    """All scores of one graph, best first; equal scores keep the order of the candidates.

    Attributes:
        name: name of the graph.
        digest: digest of the graph (`container_key`), which overrides can match.
        target: architecture.
        scores: scores, best first.
    """

    name: str
    digest: str
    target: str
    scores: tuple[Score, ...]

    @property
    def best(self) -> Score:
        """The first score, or the default flags' score if the first is not clearly cheaper."""
        first = self.scores[0]
        default = next((each for each in self.scores if not each.candidate.flags), first)
        if first.cost is None or default.cost is None:
            return first
        chance = max(_LEAST_GAIN * default.cost.value, first.cost.metrics.get("spread", 0.0))
        return first if default.cost.value - first.cost.value > chance else default


def default_candidates(target: Target) -> tuple[Candidate, ...]:
    """Returns the candidates to try without a file; the first one has the default flags."""
    is_amdgpu = target.kind is TargetKind.AMDGPU
    return _CANDIDATES + _AMDGPU_CANDIDATES if is_amdgpu else _CANDIDATES


def read_candidates(path: str | Path) -> list[Candidate]:
    """Reads a list of `{name, flags, tuning_spec}`; the default flags are tried first.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    found = [Candidate("default")]
    for index, one in enumerate(read_yaml(path, list[CandidateFields], "candidates")):
        found.append(Candidate(one.name or f"#{index}", one.all_flags(path)))
    return found


def tune(
    module: ir.Module,
    target: Target,
    candidates: Sequence[Candidate],
    service: CompileService,
    *,
    pattern: str = "*",
    extra_flags: Sequence[str] = (),
    cost_model: CostModel | None = None,
) -> list[Ranking]:
    """Compiles each distinct graph of a module with each candidate, and ranks the candidates.

    Args:
        module: module at stage `hipdnn-graphs`.
        target: an AMDGPU target, or any target that the cost model supports.
        candidates: flags to try.
        service: compiles the graphs.
        pattern: a glob of the names of the graphs to tune.
        extra_flags: compiler flags that precede the candidates' flags.
        cost_model: determines the costs; None ranks by resource usage.

    Raises:
        HipgraftError: a flag is unknown, or the cost model's device has another architecture.
    """
    chosen = [op for op in find_containers(module) if fnmatchcase(_name(op), pattern)]
    graphs = {container_key(op): op for op in reversed(chosen)}
    common = (*target.default_flags, *extra_flags)
    pairs = [(key, candidate) for key in reversed(graphs) for candidate in candidates]
    outcomes = service.compile(
        [_request(graphs[key], key, target, (*common, *each.flags)) for key, each in pairs]
    )
    costs: dict[tuple[str, Kernel], Cost] = {}

    def cost_of(key: str, kernel: Kernel) -> Cost | None:
        # Identical kernels share one cost, so that measurement noise cannot favour flags without an
        # effect.
        if cost_model is not None and (key, kernel) not in costs:
            costs[key, kernel] = cost_model.cost(kernel, graph_work(graphs[key]))
        return costs.get((key, kernel))

    scores: dict[str, list[Score]] = {key: [] for key in reversed(graphs)}
    for (key, candidate), outcome in zip(pairs, outcomes, strict=True):
        scores[key].append(_score(candidate, outcome, partial(cost_of, key)))
    return [
        Ranking(
            _name(graphs[key]), key, target.name, tuple(sorted(found, key=lambda score: score.rank))
        )
        for key, found in scores.items()
    ]


def overrides_yaml(rankings: Sequence[Ranking]) -> str:
    """Returns an override file that applies each graph's best candidate."""
    # Imported here because few users of this module write a file.
    import yaml

    chosen: list[dict[str, Any]] = []
    for ranking in rankings:
        best = ranking.best
        if best.candidate.flags and not best.error:
            flags = list(best.candidate.flags)
            chosen.append({"graph": ranking.digest, "target": ranking.target, "flags": flags})
    return yaml.safe_dump(chosen, sort_keys=False)


def _request(op: ir.Operation, key: str, target: Target, flags: tuple[str, ...]) -> Request:
    text = container_text(op)
    return Request(_name(op), text, key, target, flags, lambda: lower_container(op, target))


def _name(op: ir.Operation) -> str:
    return str(op.attributes["name"]).strip('"') if "name" in op.attributes else "graph"


def _score(
    candidate: Candidate, outcome: Outcome, cost_of: Callable[[Kernel], Cost | None]
) -> Score:
    kernel = outcome.kernel
    if kernel is None:
        error = outcome.error or HipgraftError("no reason given")
        return Score(candidate, error=error.message)
    cost = cost_of(kernel)
    return Score(
        candidate,
        launches=len(kernel.dispatches),
        matrix=_matrix_instructions(kernel),
        resources=peak_resources(kernel_resources(kernel)),
        cost=cost,
        error="; ".join(cost.problems) if cost is not None else "",
    )


def _matrix_instructions(kernel: Kernel) -> int:
    if kernel.format != "hsaco":
        return 0
    counts = [count_matrix_instructions(data, kernel.target) for data in kernel.objects]
    return sum(sum(each.values()) for each in counts)
