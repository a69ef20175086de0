"""Reports as JSON, so that a cached program keeps its own."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from hipgraft.codegen.figures import KernelFigures
from hipgraft.diagnostics import Remark, RemarkKind
from hipgraft.report import GraphRow, KernelRow, LaunchRow, Report


def report_to_json(report: Report) -> bytes:
    """Returns all of a report."""
    rows = {
        "graphs": [asdict(row) for row in report.graphs],
        "executables": [asdict(row) for row in report.executables],
        "kernels": [asdict(row) for row in report.kernels],
        "remarks": [{**asdict(row), "kind": row.kind.value} for row in report.remarks],
    }
    return json.dumps({**rows, "counters": report.counters, "seconds": report.seconds}).encode()


def report_from_json(data: bytes) -> Report:
    """Reads what `report_to_json` wrote."""
    fields: dict[str, Any] = json.loads(data)
    return Report(
        graphs=[_graph(row) for row in fields["graphs"]],
        executables=[LaunchRow(**row) for row in fields["executables"]],
        kernels=[_kernel(row) for row in fields["kernels"]],
        remarks=[_remark(row) for row in fields["remarks"]],
        counters=Counter(fields["counters"]),
        seconds=fields["seconds"],
    )


def _graph(row: dict[str, Any]) -> GraphRow:
    row["ops"] = tuple(row["ops"])
    return GraphRow(**row)


def _kernel(row: dict[str, Any]) -> KernelRow:
    row["figures"] = KernelFigures(**row["figures"])
    return KernelRow(**row)


def _remark(row: dict[str, Any]) -> Remark:
    row["kind"] = RemarkKind(row["kind"])
    return Remark(**row)
