"""Prints the report of a compilation as tables on standard error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from rich.console import Console
from rich.text import Text

from hipgraft.compiler.coverage import LEFT, CoverageRow
from hipgraft.compiler.report import GraphRow, KernelRow, LaunchRow, Report
from hipgraft.ir.diagnostics import Remark
from hipgraft.tools.memory_chart import print_plans
from hipgraft.tools.tables import Column, open_console, print_table, print_title

_PATHOLOGICAL = "pathological"  # has its own table
_MOST_NODES = 6
_ONNX_FILE = re.compile(r"^[^:/]*\.onnx:")
_SUBJECT = re.compile(r"^'([\w.@-]+)'(?: op)?:? ")
_ID = Column("id", is_text=True, is_key=True)
_TARGET = Column("target", is_text=True, is_key=True)


@dataclass(frozen=True)
class Made:
    """The results of a run of the tool.

    Attributes:
        seconds: duration of the run.
        files: written files, the program first.
    """

    seconds: float
    files: Sequence[Path]


def print_report(report: Report, targets: Sequence[str], made: Made) -> None:
    """Prints graphs, kernel launches, what was declined, and a summary.

    Args:
        report: report of a compilation.
        targets: targets of the program.
        made: results for the summary.
    """
    console = open_console(stderr=True)
    ids = _ids(report)
    if report.graphs or report.executables:
        _print_graphs(console, report, ids)
    if report.coverage:
        _print_coverage(console, report.coverage)
    if report.kernels:
        _print_kernels(console, report.kernels, ids)
    print_plans(console, report.remarks)
    _print_work(console, _with(report, "work", "plan"), ids)
    tables = (
        ("bytes moved beyond the least", ("work", "excess"), ("executable", "target", "excess")),
        ("choice of lowerings", ("lowering", "plan"), ("source", "plan")),
        (
            "still pathological",
            (_PATHOLOGICAL, "problems"),
            ("executable", "target", "problems", "reproducer"),
        ),
    )
    for title, (name, fact), names in tables:
        _print_remarks(console, title, _with(report, name, fact), names, ids)
    declined = [remark for remark in report.declined if remark.name != _PATHOLOGICAL]
    if declined:
        _print_declined(console, declined)
    console.print(Text(_summary(report, targets, made.seconds)))
    for line in _files(made.files):
        # A path with line breaks cannot be copied.
        console.print(Text(line), soft_wrap=True)


def _with(report: Report, name: str, fact: str) -> list[Remark]:
    return [remark for remark in report.remarks if remark.name == name and fact in remark.args]


def _ids(report: Report) -> dict[str, str]:
    """Returns short names of graphs and executables, in program order; symbols may be long."""
    names = [row.name for row in (*report.graphs, *report.executables)]
    return {name: f"g{number}" for number, name in enumerate(dict.fromkeys(names))}


def _print_graphs(console: Console, report: Report, ids: dict[str, str]) -> None:
    """Prints a row for each distinct graph: its ops, and how often it is called."""
    executables = {row.name: row for row in report.executables}
    rows: list[list[str]] = []
    for name in ids:
        same = [row for row in report.graphs if row.name == name]
        executable = executables.get(name)
        calls = len(same) if executable is None else executable.calls
        nodes = _node_list([node for row in same for node in row.nodes])
        kind = same[0].kind if same else ""
        launches = "" if executable is None else _launch_text(executable)
        ops = _counted(same[0].ops) if same else ""
        rows.append([ids[name], str(calls), launches, kind, ops, nodes, name])
    print_title(console, _counts(report.graphs, len(ids)))
    texts = ("kind", "ops", "nodes of the model", "symbol")
    columns = [_ID, Column("calls"), Column("launches"), *(Column(one, True) for one in texts)]
    print_table(console, columns, rows)


def _counts(graphs: Sequence[GraphRow], distinct: int) -> str:
    return f"{_many(len(graphs), 'graph')}, {distinct} distinct" if graphs else "executables"


def _many(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {nouns or f'{noun}s'}"


def _launch_text(row: LaunchRow) -> str:
    """Formats the launches of a call: one number, or a line per target if they differ."""
    if len(set(row.launches.values())) == 1:
        return str(next(iter(row.launches.values())))
    return "\n".join(f"{count} {target}" for target, count in row.launches.items())


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in Counter(names).items())


def _node_list(nodes: Sequence[str]) -> str:
    known = list(dict.fromkeys(_node_name(node) for node in nodes if node))
    rest = len(known) - _MOST_NODES
    return ", ".join(known[:_MOST_NODES]) + (f" and {rest} more" if rest > 0 else "")


def _node_name(location: str) -> str:
    """Returns a node without its model's name, or a location without its file's folder."""
    name, found = _ONNX_FILE.subn("", location)
    return name if found else PurePath(location).name


def _print_coverage(console: Console, rows: Sequence[CoverageRow]) -> None:
    """Prints a row for each kind of op in graphs of an engine, or in fallbacks."""
    inside = [row for row in rows if row.place != LEFT]
    shares = [
        f"{_share([row.ops for row in inside], [row.ops for row in rows])} of ops",
        f"{_share([row.flops for row in inside], [row.flops for row in rows])} of flops",
        f"{_share([row.bytes for row in inside], [row.bytes for row in rows])} of bytes",
    ]
    cells = [
        [row.op, row.place, str(row.graphs), str(row.ops), f"{row.flops:,}", f"{row.bytes:,}",
         "; ".join(row.reasons), _node_list(row.nodes)]
        for row in rows
    ]  # fmt: skip
    print_title(console, f"coverage: hipDNN graphs have {', '.join(shares)}")
    numbers = map(Column, ("graphs", "ops", "flops", "bytes"))
    texts = (Column(name, True) for name in ("left because", "nodes of the model"))
    keys = (Column("op", True), Column("in", True, is_key=True))
    print_table(console, [*keys, *numbers, *texts], cells)


def _share(part: Sequence[int], whole: Sequence[int]) -> str:
    return f"{100 * sum(part) / sum(whole):.1f} %" if sum(whole) else "all"


def _print_kernels(console: Console, rows: Sequence[KernelRow], ids: dict[str, str]) -> None:
    names = ("VGPR", "AGPR", "SGPR", "spills", "LDS", "scratch", "kernarg", "wave", "occupancy")
    cells: list[list[str]] = []
    for row in rows:
        f = row.resources
        values = (f.vgprs, f.agprs, f.sgprs, f.spills, f.lds, f.scratch, f.kernarg, f.wavefront)
        numbers = map(str, (f.workgroup, *values, f.occupancy))
        cells.append([ids.get(row.executable, row.executable), row.target, *numbers])
    print_title(console, "kernels: LDS, scratch and kernarg in bytes")
    print_table(console, [_ID, _TARGET, Column("workgroup"), *map(Column, names)], cells)


def _print_work(console: Console, remarks: Sequence[Remark], ids: dict[str, str]) -> None:
    """Prints the least work of graphs, and the resources and the work of their kernels."""
    if not remarks:
        return
    known = {
        "least-matrix-instructions": "matrix instructions needed",
        "matrix-instructions": "in the code",
        "least-bytes": "bytes needed",
        "bytes": "moved",
        "instructions": "wave instructions",
        "microseconds": "us",
    }
    shown = [name for name in known if any(name in remark.args for remark in remarks)]
    rows = [
        [
            ids.get(remark.args["executable"], remark.args["executable"]),
            remark.args["target"],
            *(_number(remark.args.get(name, "")) for name in shown),
            remark.args["plan"],
        ]
        for remark in remarks
    ]
    title = (
        "work: the least that each graph needs, and what its kernels do (loops run the matrix "
        "instructions in the code repeatedly)"
    )
    print_title(console, title)
    numbers = (Column(known[name]) for name in shown)
    print_table(console, [_ID, _TARGET, *numbers, Column("plan", True)], rows)


def _number(text: str) -> str:
    return f"{float(text):,.0f}" if text else ""


def _print_remarks(
    console: Console,
    title: str,
    remarks: Sequence[Remark],
    names: Sequence[str],
    ids: dict[str, str],
) -> None:
    """Prints a row of data from each remark; the message of a lowering is its plan."""
    if not remarks:
        return
    rows = [
        [remark.message if name == "plan" else _short(remark.args[name], ids) for name in names]
        for remark in remarks
    ]
    print_title(console, title)
    headings = ("id" if name in ("executable", "source") else name for name in names)
    print_table(console, [Column(name, True, name == "id") for name in headings], rows)


def _short(text: str, ids: dict[str, str]) -> str:
    return ids.get(text, text)


def _print_declined(console: Console, declined: Sequence[Remark]) -> None:
    """Prints a row for each type of op and reason, the most frequent first."""
    groups: dict[tuple[str, str], list[Remark]] = {}
    for remark in declined:
        subject = _SUBJECT.match(remark.message)
        op = subject[1] if subject and "." in subject[1] else remark.op
        reason = remark.message[subject.end() :] if subject else remark.message
        groups.setdefault((op, reason), []).append(remark)
    rows = [
        [op, str(len(same)), reason, _node_list([one.location for one in same])]
        for (op, reason), same in sorted(groups.items(), key=lambda item: -len(item[1]))
    ]
    print_title(console, "declined")
    texts = (Column("reason", True), Column("nodes of the model", True))
    print_table(console, [Column("op", True), Column("times"), *texts], rows)


def _summary(report: Report, targets: Sequence[str], seconds: float) -> str:
    """Returns a summary of the graphs and the duration."""
    kinds = Counter(row.kind for row in report.graphs)
    graphs = ", ".join(_many(count, kind) for kind, count in kinds.items())
    totals = {
        target: sum(row.launches.get(target, 0) * row.calls for row in report.executables)
        for target in targets
    }
    launches = ", ".join(
        f"{_many(total, 'launch', 'launches')} on {target}"
        for target, total in totals.items()
        if total
    )
    done = "; ".join(text for text in (graphs, launches, f"{seconds:.1f} s") if text)
    return f"compiled {done}"


def _files(paths: Sequence[Path]) -> Iterator[str]:
    """Yields a line for each written file with its size."""
    for number, path in enumerate(paths):
        needed = ", which is needed beside it" if number else ""
        yield f"wrote {path} ({path.stat().st_size:,} bytes){needed}"
