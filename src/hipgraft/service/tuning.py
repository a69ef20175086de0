"""Choosing compiler flags for single graphs by the static figures of what they make.

Nothing is run: a candidate is better that spills less, launches less, uses matrix instructions,
and leaves room for more wavefronts.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hipgraft.bindings import ir
from hipgraft.codegen.canonical import container_key, container_text, find_containers
from hipgraft.codegen.figures import kernel_figures, largest_figures
from hipgraft.codegen.lowering import lower_container
from hipgraft.codegen.target import Target
from hipgraft.diagnostics import HipgraftError
from hipgraft.service.overrides import own_flags, read_list
from hipgraft.service.service import CompileService, Request
from hipgraft.service.unit import Outcome

_MATRIX = re.compile(r"^\s+v_(?:s?mfmac?|s?wmmac)_", re.MULTILINE)
_DUMP_FLAG = "--iree-hal-dump-executable-intermediates-to="


@dataclass(frozen=True)
class Candidate:
    """One way to compile a graph.

    Attributes:
        name: for people.
        flags: after the flags that all graphs get.
    """

    name: str
    flags: tuple[str, ...] = ()


DEFAULT_CANDIDATES = (
    Candidate("as it is"),
    Candidate("O2", ("--iree-opt-level=O2",)),
    Candidate("whole reductions", ("--iree-dispatch-creation-enable-split-reduction=false",)),
    Candidate(
        "padding apart",
        ("--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops=false",),
    ),
    Candidate("aggressive fusion", ("--iree-dispatch-creation-enable-aggressive-fusion",)),
    Candidate("2 waves a SIMD", ("--iree-rocm-waves-per-eu=2",)),
    Candidate("4 waves a SIMD", ("--iree-rocm-waves-per-eu=4",)),
)
"""What is tried without a file of candidates; the first is what is done anyway."""


@dataclass(frozen=True)
class Score:
    """What a candidate made of a graph; a smaller `rank` is better.

    Attributes:
        candidate: what was tried.
        launches: kernel launches.
        matrix: matrix instructions (MFMA, WMMA) in all kernels.
        figures: largest needs of its kernels (`largest_figures`).
        error: why it did not compile, or empty.
    """

    candidate: Candidate
    launches: int = 0
    matrix: int = 0
    figures: Mapping[str, int] | None = None
    error: str = ""

    @property
    def rank(self) -> tuple[int, ...]:
        """The order of what matters, in order."""
        if self.error or self.figures is None:
            return (1,)
        f = self.figures
        memory = f.get("spills", 0) + f.get("scratch", 0)
        return (0, memory, self.launches, int(self.matrix == 0), -f.get("occupancy", 0))


@dataclass(frozen=True)
class Ranking:
    """All scores of one graph, best first; of equal ones, in the order of the candidates.

    Attributes:
        name: of the graph.
        digest: of the graph (`container_key`), under which an override finds it.
        scores: best first.
    """

    name: str
    digest: str
    scores: tuple[Score, ...]


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
) -> list[Ranking]:
    """Compiles each unlike graph of a module with each candidate, and ranks them.

    Args:
        module: at stage `hipdnn-graphs`.
        target: an AMDGPU.
        candidates: what to try.
        service: without a cache, which would not keep the assembly that is looked into.
        pattern: a glob of the names of the graphs to tune.
        extra_flags: compiler flags before those of the candidates.

    Raises:
        HipgraftError: a flag is unknown.
    """
    chosen = [op for op in find_containers(module) if fnmatchcase(_name(op), pattern)]
    graphs = {container_key(op): op for op in reversed(chosen)}
    common = (*target.default_flags, *extra_flags)
    with tempfile.TemporaryDirectory(prefix="hipgraft-tune-") as folder:
        pairs = [(key, c) for key in reversed(graphs) for c in candidates]
        dumps = [Path(folder) / str(index) for index in range(len(pairs))]
        requests = [
            _request(graphs[key], key, target, (*common, *candidate.flags, f"{_DUMP_FLAG}{dump}"))
            for (key, candidate), dump in zip(pairs, dumps, strict=True)
        ]
        outcomes = service.compile(requests)
        scores = [
            _score(candidate, outcome, dump)
            for (_, candidate), outcome, dump in zip(pairs, outcomes, dumps, strict=True)
        ]
    size = len(candidates)
    return [
        Ranking(
            requests[first].name,
            pairs[first][0],
            tuple(sorted(scores[first : first + size], key=lambda score: score.rank)),
        )
        for first in range(0, len(pairs), size)
    ]


def overrides_yaml(rankings: Sequence[Ranking], target: Target) -> str:
    """Returns the file of overrides that makes each graph's best candidate its way."""
    # Only now: few import this to write a file.
    import yaml

    chosen: list[dict[str, Any]] = []
    for ranking in rankings:
        best = ranking.scores[0]
        if best.candidate.flags and not best.error:
            flags = list(best.candidate.flags)
            chosen.append({"graph": ranking.digest, "target": target.name, "flags": flags})
    return yaml.safe_dump(chosen, sort_keys=False)


def _request(op: ir.Operation, key: str, target: Target, flags: tuple[str, ...]) -> Request:
    text = container_text(op)
    return Request(_name(op), text, key, target, flags, lambda: lower_container(op, target))


def _name(op: ir.Operation) -> str:
    return str(op.attributes["name"]).strip('"') if "name" in op.attributes else "graph"


def _score(candidate: Candidate, outcome: Outcome, dump: Path) -> Score:
    if outcome.kernel is None:
        error = outcome.error or HipgraftError("no reason given")
        return Score(candidate, error=error.message)
    assembly = [path.read_text() for path in dump.glob("*.rocmasm")]
    return Score(
        candidate,
        launches=len(outcome.kernel.dispatches),
        matrix=sum(len(_MATRIX.findall(text)) for text in assembly),
        figures=largest_figures(kernel_figures(outcome.kernel)),
    )
