"""Answers the provider's requests with the nodes to take, their programs, and a report."""

from __future__ import annotations

import atexit
import json
import shutil
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from hipgraft.compiler.report_json import report_to_json
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory
from hipgraft.ir.outputs import replacing
from hipgraft.onnxruntime.claims import Left, is_group
from hipgraft.onnxruntime.graph import Kind, SessionGraph
from hipgraft.onnxruntime.request import Request
from hipgraft.onnxruntime.trial import Group, Trial
from hipgraft.onnxruntime.work import flops, is_product
from hipgraft.service import Cache, CompileService, ProcessWorkers, use_service
from hipgraft.service.tuning.database import shipped_database
from hipgraft.service.tuning.search import Search

_REASONS = 3  # number of reasons in the summary


def make_answer(request: Request) -> Path:
    """Compiles the nodes that hipgraft can take; returns the answer's file in the user's cache.

    Raises:
        HipgraftError: the request is malformed, or a node must cause an error.
    """
    graph = SessionGraph(request.model)
    trial = Trial(graph, request)
    with compiling(request):
        groups = trial.run()
    if request.is_strict:
        _check_whole(graph, trial.left)
    request.answer.parent.mkdir(parents=True, exist_ok=True)
    taken = [_saved(request, number, group) for number, group in enumerate(groups)]
    left = [
        {
            "node": number,
            "op": graph.nodes[number].op_type,
            "name": graph.nodes[number].name,
            "kind": why.why,
            "reason": why.reason,
        }
        for number, why in sorted(trial.left.items())
    ]
    answer = {
        "version": 1,
        "groups": taken,
        "left": left,
        "summary": summary(graph, groups, trial.left, trial.kinds[0]),
        "report": str(request.file(".report.json")),
    }
    report = {**answer, "architecture": request.architecture, "options": dict(request.options)}
    report["groups"] = [
        {**entry, "names": [graph.nodes[number].name for number in group.nodes],
         "compilation": json.loads(report_to_json(group.program.report))}
        for entry, group in zip(taken, groups, strict=True)
    ]  # fmt: skip
    _write(request.file(".report.json"), report)
    if request.is_open and groups:
        _keep(request)
    _write(request.answer, answer)
    return request.answer


@contextmanager
def compiling(request: Request) -> Generator[None]:
    """Compiles in this context with the user's cache and the request's options."""
    search = Search(mode=_mode(request), database=shipped_database())
    kernels = Cache(default_cache_directory())
    with use_service(CompileService(_workers(), kernels, search=search)):
        yield


@cache
def _workers() -> ProcessWorkers:
    """The worker processes of all requests; small graphs compile faster than a worker starts."""
    workers = ProcessWorkers()
    atexit.register(workers.close)
    return workers


def _keep(request: Request) -> None:
    """Keeps the graph and its constants, to compile its groups for other shapes.

    The files are moved, because the provider no longer needs them.
    """
    request.kept.parent.mkdir(exist_ok=True)
    weights = request.model.with_name("weights.bin")
    for source in filter(Path.exists, (weights, request.model)):
        with replacing(str(request.kept.with_name(source.name))) as temporary:
            shutil.move(source, temporary)


def summary(
    graph: SessionGraph,
    groups: Sequence[Group],
    left: Mapping[int, Left],
    kinds: Mapping[str, Kind],
) -> str:
    """Describes in one line which nodes were taken, and why the others were not."""
    before = {number for number, node in enumerate(graph.nodes) if is_group(node)}
    left = {number: one for number, one in left.items() if number not in before}
    nodes = len(graph.nodes) - len(before)
    total = sum(flops(node, kinds) for node in graph.nodes)
    ours = sum(flops(graph.nodes[i], kinds) for group in groups for i in group.nodes)
    # What is left may be more work than all that is known.
    is_known = all(flops(node, kinds) for i in left if is_product(node := graph.nodes[i]))
    work = f" ({_percent(ours, total)} of the FLOPs)" if total and is_known else ""
    where = f" in {len(groups)} group{'s' if len(groups) > 1 else ''}" if groups else ""
    reasons = Counter((graph.nodes[i].op_type, one.reason) for i, one in left.items())
    # Reasons are grouped by operator, because messages about shapes differ from node to node.
    first = [
        f"{f'{count} ' if count > 1 else ''}{op}: {reason}"
        for (op, reason), count in reasons.most_common(_REASONS)
    ]
    others = len(reasons) - len(first)
    more = " further" if before else ""
    said = f"takes {nodes - len(left)} of {nodes}{more} nodes{work}{where}"
    if not left:
        return said
    return (
        f"{said}; left are "
        + "; ".join(first)
        + (f"; and {others} more reasons: see option report=FILE" if others else "")
    )


def _percent(part: int, whole: int) -> str:
    # Rounded down, so that 100% means all nodes.
    return f"{100 * part // whole}%"


def _mode(request: Request) -> Any:
    return request.options.get("search") or "default"


def _check_whole(graph: SessionGraph, left: Mapping[int, Left]) -> None:
    for number, why in sorted(left.items()):
        if why.why != "host":
            node = graph.nodes[number]
            raise HipgraftError(f"'{node.name or node.op_type}' ({node.op_type}): {why.reason}")


def _saved(request: Request, number: int, group: Group) -> dict[str, Any]:
    path = request.file(f"-{number}.hgb")
    group.program.save_bundle(path)
    return {
        "nodes": group.nodes,
        "inputs": group.boundary.inputs,
        "outputs": group.boundary.outputs,
        "bundle": str(path),
        "variants": [{"dims": dict(one.extents), "inputs": one.inputs} for one in group.variants],
    }


def _write(path: Path, fields: Mapping[str, Any]) -> None:
    with replacing(str(path)) as temporary:
        temporary.write_text(json.dumps(fields, indent=1) + "\n")
