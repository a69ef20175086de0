"""Converts reports to JSON, so that a cached program keeps its own."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass

from hipgraft.compiler.coverage import CoverageRow
from hipgraft.compiler.report import GraphRow, KernelRow, LaunchRow, Report
from hipgraft.ir.diagnostics import Remark
from hipgraft.ir.foreign_data import decode_json


def report_to_json(report: Report) -> bytes:
    """Returns a whole report as JSON."""
    rows = {
        "graphs": [asdict(row) for row in report.graphs],
        "coverage": [asdict(row) for row in report.coverage],
        "executables": [asdict(row) for row in report.executables],
        "kernels": [asdict(row) for row in report.kernels],
        "remarks": [{**asdict(row), "kind": row.kind.value} for row in report.remarks],
    }
    others = ("counters", "seconds", "pipelines", "passes")
    return json.dumps({**rows, **{name: getattr(report, name) for name in others}}).encode()


@dataclass(frozen=True)
class _Fields:
    """The JSON object that `report_to_json` writes."""

    graphs: list[GraphRow]
    coverage: list[CoverageRow]
    executables: list[LaunchRow]
    kernels: list[KernelRow]
    remarks: list[Remark]
    counters: dict[str, int]
    seconds: dict[str, float]
    pipelines: dict[str, str]
    passes: list[tuple[str, float]]


def report_from_json(data: bytes) -> Report:
    """Reads what `report_to_json` wrote.

    Raises:
        HipgraftError: the data is not a report.
    """
    fields = decode_json(data, _Fields, "report", "")
    return Report(
        graphs=fields.graphs,
        coverage=fields.coverage,
        executables=fields.executables,
        kernels=fields.kernels,
        remarks=fields.remarks,
        counters=Counter(fields.counters),
        seconds=fields.seconds,
        pipelines=fields.pipelines,
        passes=fields.passes,
    )
