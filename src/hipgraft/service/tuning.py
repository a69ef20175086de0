"""Choosing compiler flags for single graphs by what they make of them.

By static figures a candidate is better that spills less, launches less, uses matrix instructions,
and leaves room for more wavefronts. A judge that runs kernels decides by what it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from hipgraft.bindings import ir
from hipgraft.codegen.canonical import container_key, container_text, find_containers
from hipgraft.codegen.figures import kernel_figures, largest_figures
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.lowering import lower_container
from hipgraft.codegen.matrix_code import count_matrix_instructions
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.diagnostics import HipgraftError
from hipgraft.service.overrides import own_flags, read_list
from hipgraft.service.service import CompileService, Request
from hipgraft.service.unit import Outcome
from hipgraft.tuning.judges import Judge, Verdict
from hipgraft.tuning.work import graph_work

# Of what is measured for the flags that are taken anyway: a smaller gain may be chance, as may one
# within the spread of the measurements.
_LEAST_GAIN = 0.05


@dataclass(frozen=True)
class Candidate:
    """One way to compile a graph.

    Attributes:
        name: for people.
        flags: after the flags that all graphs get.
    """

    name: str
    flags: tuple[str, ...] = ()


_CANDIDATES = (
    Candidate("as it is"),
    Candidate("O2", ("--iree-opt-level=O2",)),
    Candidate("whole reductions", ("--iree-dispatch-creation-enable-split-reduction=false",)),
    Candidate(
        "padding apart",
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
    """What a candidate made of a graph; a smaller `rank` is better.

    Attributes:
        candidate: what was tried.
        launches: kernel launches.
        matrix: matrix instructions (MFMA, WMMA) in all kernels.
        figures: largest needs of its kernels (`largest_figures`); empty but for AMDGPU.
        verdict: of a judge; None without one.
        error: why it did not compile or run, or empty.
    """

    candidate: Candidate
    launches: int = 0
    matrix: int = 0
    figures: Mapping[str, int] | None = None
    verdict: Verdict | None = None
    error: str = ""

    @property
    def rank(self) -> tuple[float, ...]:
        """The order of what matters, in order."""
        if self.error or self.figures is None:
            return (1,)
        if self.verdict is not None:
            return (0, self.verdict.cost)
        f = self.figures
        memory = f.get("spills", 0) + f.get("scratch", 0)
        return (0, memory, self.launches, int(self.matrix == 0), -f.get("occupancy", 0))


@dataclass(frozen=True)
class Ranking:
    """All scores of one graph, best first; of equal ones, in the order of the candidates.

    Attributes:
        name: of the graph.
        digest: of the graph (`container_key`), under which an override finds it.
        target: architecture.
        scores: best first.
    """

    name: str
    digest: str
    target: str
    scores: tuple[Score, ...]

    @property
    def best(self) -> Score:
        """The first score; that without flags, where the first is hardly better by a judge."""
        first = self.scores[0]
        usual = next((each for each in self.scores if not each.candidate.flags), first)
        if first.verdict is None or usual.verdict is None:
            return first
        chance = max(_LEAST_GAIN * usual.verdict.cost, first.verdict.figures.get("spread", 0.0))
        return first if usual.verdict.cost - first.verdict.cost > chance else usual


def default_candidates(target: Target) -> tuple[Candidate, ...]:
    """Returns what is tried without a file of candidates; the first is what is done anyway."""
    is_amdgpu = target.kind is TargetKind.AMDGPU
    return _CANDIDATES + _AMDGPU_CANDIDATES if is_amdgpu else _CANDIDATES


def read_candidates(path: str | Path) -> list[Candidate]:
    """Reads a list of `{name, flags, tuning_spec}`; what is done anyway is tried first.

    Raises:
        HipgraftError: the file cannot be read or is malformed; located.
    """
    found = [Candidate("as it is")]
    items = read_list(path, "candidates", ("name", "flags", "tuning_spec"))
    for index, fields in enumerate(items):
        name = str(fields.get("name", f"#{index}"))
        found.append(Candidate(name, own_flags(fields, Path(path))))
    return found


def tune(
    module: ir.Module,
    target: Target,
    candidates: Sequence[Candidate],
    service: CompileService,
    *,
    pattern: str = "*",
    extra_flags: Sequence[str] = (),
    judge: Judge | None = None,
) -> list[Ranking]:
    """Compiles each unlike graph of a module with each candidate, and ranks them.

    Args:
        module: at stage `hipdnn-graphs`.
        target: an AMDGPU; with a judge of others, any.
        candidates: what to try.
        service: compiles.
        pattern: a glob of the names of the graphs to tune.
        extra_flags: compiler flags before those of the candidates.
        judge: decides; None ranks by static figures.

    Raises:
        HipgraftError: a flag is unknown, or the judge's device is of another architecture.
    """
    chosen = [op for op in find_containers(module) if fnmatchcase(_name(op), pattern)]
    graphs = {container_key(op): op for op in reversed(chosen)}
    common = (*target.default_flags, *extra_flags)
    pairs = [(key, candidate) for key in reversed(graphs) for candidate in candidates]
    outcomes = service.compile(
        [_request(graphs[key], key, target, (*common, *each.flags)) for key, each in pairs]
    )
    judged: dict[tuple[str, Kernel], Verdict] = {}

    def verdict_of(key: str, kernel: Kernel) -> Verdict | None:
        # Once: flags that change nothing must not win by chance.
        if judge is not None and (key, kernel) not in judged:
            judged[key, kernel] = judge.judge(kernel, graph_work(graphs[key]))
        return judged.get((key, kernel))

    scores: dict[str, list[Score]] = {key: [] for key in reversed(graphs)}
    for (key, candidate), outcome in zip(pairs, outcomes, strict=True):
        scores[key].append(_score(candidate, outcome, partial(verdict_of, key)))
    return [
        Ranking(
            _name(graphs[key]), key, target.name, tuple(sorted(found, key=lambda score: score.rank))
        )
        for key, found in scores.items()
    ]


def overrides_yaml(rankings: Sequence[Ranking]) -> str:
    """Returns the file of overrides that makes each graph's best candidate its way."""
    # Only now: few import this to write a file.
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
    candidate: Candidate, outcome: Outcome, verdict_of: Callable[[Kernel], Verdict | None]
) -> Score:
    kernel = outcome.kernel
    if kernel is None:
        error = outcome.error or HipgraftError("no reason given")
        return Score(candidate, error=error.message)
    verdict = verdict_of(kernel)
    return Score(
        candidate,
        launches=len(kernel.dispatches),
        matrix=_matrix_instructions(kernel),
        figures=largest_figures(kernel_figures(kernel)),
        verdict=verdict,
        error="; ".join(verdict.problems) if verdict is not None else "",
    )


def _matrix_instructions(kernel: Kernel) -> int:
    if kernel.format != "hsaco":
        return 0
    counts = [count_matrix_instructions(data, kernel.target) for data in kernel.objects]
    return sum(sum(each.values()) for each in counts)
