"""Writes the statistics of a compilation as JSON, for dashboards and regression checks."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict
from typing import Any

from hipgraft.compiler.report import Report
from hipgraft.service.service import Statistics

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def stats_bytes(report: Report, statistics: Statistics) -> bytes:
    """Returns one JSON object: times, graphs, the cache, launches, memory, kernels."""
    return (json.dumps(_stats(report, statistics), indent=1) + "\n").encode()


def _stats(report: Report, statistics: Statistics) -> dict[str, Any]:
    return {
        "seconds": {
            **report.seconds,
            "total": sum(report.seconds.values()),
            "cache-lookup": statistics.lookup_seconds,
            "compilation-of-all-workers": statistics.compile_seconds,
        },
        "graphs": len(report.graphs),
        "executables": len(report.executables),
        "launches": _launches(report),
        "cache": {
            "hits": statistics.hits,
            "compiled": statistics.compiled,
            "failed": statistics.failed,
        },
        "verified": dict(sorted(statistics.verified.items())),
        "memory": {
            "planned-bytes": report.counters["hipdnn-plan-memory.planned-bytes"],
            "lower-bound-bytes": report.counters["hipdnn-plan-memory.lower-bound-bytes"],
            "unplanned-bytes": report.counters["hipdnn-plan-memory.unplanned-bytes"],
        },
        "compiler-memory": {
            "process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT,
            "workers": sorted(statistics.peak_memory.values(), reverse=True),
        },
        "counters": dict(sorted(report.counters.items())),
        "kernels": [
            {"executable": row.executable, "target": row.target, **asdict(row.resources)}
            for row in report.kernels
        ],
    }


def _launches(report: Report) -> dict[str, int]:
    """Returns the number of launches in one run of the program, by target."""
    totals: dict[str, int] = {}
    for row in report.executables:
        for target, launches in row.launches.items():
            totals[target] = totals.get(target, 0) + launches * row.calls
    return totals
