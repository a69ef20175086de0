"""The report of a compilation as tables on standard error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from hipgraft.compiler.report import GraphRow, KernelRow, LaunchRow, Report
from hipgraft.ir.diagnostics import Remark
from hipgraft.tools.memory_chart import print_plans

_WIDTH_OFF_TERMINAL = 120
_PATHOLOGICAL = "pathological"  # has a table of its own


def print_report(report: Report, targets: Sequence[str]) -> None:
    """Prints graphs, kernel launches, and what was declined, with counts.

    Args:
        report: of a compilation.
        targets: a column of launches each.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        console = Console(stderr=True, width=_WIDTH_OFF_TERMINAL)
    if report.graphs:
        console.print(_graphs(report.graphs))
    if report.executables:
        console.print(_executables(report.executables, targets))
    if report.kernels:
        console.print(_kernels(report.kernels))
    print_plans(console, report.remarks)
    tables = (
        ("work", "plan", _work),
        ("work", "excess", _excess),
        ("lowering", "plan", _choices),
        (_PATHOLOGICAL, "problems", _pathological),
    )
    for name, fact, table in tables:
        remarks = [each for each in report.remarks if each.name == name and fact in each.args]
        if remarks:
            console.print(table(remarks))
    declined = [remark for remark in report.declined if remark.name != _PATHOLOGICAL]
    if declined:
        console.print(_declined(declined))


def _graphs(rows: Sequence[GraphRow]) -> Table:
    table = Table("name", "kind", "ops", title=f"{len(rows)} graphs", title_justify="left")
    for row in rows:
        table.add_row(row.name, row.kind, _counted(row.ops))
    return table


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{n} x {name}" if n > 1 else name for name, n in Counter(names).items())


def _executables(rows: Sequence[LaunchRow], targets: Sequence[str]) -> Table:
    totals = {t: sum(row.launches.get(t, 0) * row.calls for row in rows) for t in targets}
    title = ", ".join(f"{count} launches on {target}" for target, count in totals.items())
    table = Table("executable", "calls", title=title, title_justify="left")
    for target in targets:
        table.add_column(target, justify="right")
    for row in rows:
        table.add_row(row.name, str(row.calls), *(str(row.launches.get(t, 0)) for t in targets))
    return table


def _kernels(rows: Sequence[KernelRow]) -> Table:
    names = ("VGPR", "AGPR", "SGPR", "spills", "LDS", "scratch", "kernarg", "wave", "occupancy")
    table = Table(title="kernels", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("executable", overflow="fold")
    table.add_column("target")
    table.add_column("workgroup", justify="right")
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        f = row.resources
        values = (f.vgprs, f.agprs, f.sgprs, f.spills, f.lds, f.scratch, f.kernarg, f.wavefront)
        table.add_row(
            row.executable, row.target, str(f.workgroup), *map(str, values), str(f.occupancy)
        )
    return table


def _choices(remarks: Sequence[Remark]) -> Table:
    """Graphs that are not compiled by the default plan, or for which others were tried."""
    table = Table("source", "plan", title="choice of lowerings", title_justify="left")
    for remark in remarks:
        table.add_row(remark.args["source"], remark.message)
    return table


def _work(remarks: Sequence[Remark]) -> Table:
    """What graphs need at least, and what their kernels hold and do."""
    title = "work: what kernels hold or do (what their graphs need at least)"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    texts = ("executable", "target", "plan", "excess")
    for name in texts[:-1]:
        table.add_column(name, overflow="fold")
    for name in ("matrix instructions", "bytes", "wave instructions", "us"):
        table.add_column(name, justify="right")
    for remark in remarks:
        numbers = {name: _number(text) for name, text in remark.args.items() if name not in texts}
        table.add_row(
            *(remark.args[name] for name in texts[:-1]),
            f"{numbers.get('matrix-instructions', '')} ({numbers['least-matrix-instructions']})",
            f"{numbers.get('bytes', '')} ({numbers['least-bytes']})",
            numbers.get("instructions", ""),
            numbers.get("microseconds", ""),
        )
    return table


def _excess(remarks: Sequence[Remark]) -> Table:
    """Why kernels move more bytes than their graphs need."""
    title = "bytes beyond the least"
    table = Table("executable", "target", "bytes", title=title, title_justify="left")
    for remark in remarks:
        table.add_row(*(remark.args[name] for name in ("executable", "target", "excess")))
    return table


def _number(text: str) -> str:
    return f"{float(text):,.0f}"


def _pathological(remarks: Sequence[Remark]) -> Table:
    """Kernels that a better compiler would make better, with files to show it."""
    table = Table(title="still pathological", title_justify="left")
    for name in ("executable", "target", "problem", "reproducer"):
        table.add_column(name, overflow="fold")
    for remark in remarks:
        names = ("executable", "target", "problems", "reproducer")
        table.add_row(*(remark.args[name] for name in names))
    return table


def _declined(declined: Sequence[Remark]) -> Table:
    """One row per pass and reason; the message is that of the first."""
    counts = Counter((remark.pass_name, remark.name) for remark in declined)
    first = {(r.pass_name, r.name): r.message for r in reversed(declined)}
    table = Table("pass", "reason", "times", "for example", title="declined", title_justify="left")
    for (pass_name, name), count in counts.most_common():
        table.add_row(pass_name, name, str(count), first[pass_name, name])
    return table
