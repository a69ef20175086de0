"""Formats the reports of a run: time, statistics and remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hipgraft.ir.diagnostics import Diagnostic, Remark, Severity, split_location
from hipgraft.passmanager.runner import PassRecord

_WIDTH = 79
_RULE = "===" + "-" * (_WIDTH - 6) + "===\n"


def timing_report(phases: Sequence[tuple[str, float]]) -> str:
    """Returns the wall time of each phase and its share, as MLIR prints it.

    Args:
        phases: name and seconds, in order.
    """
    total = sum(seconds for _, seconds in phases)
    lines = [
        _heading("... Execution time report ..."),
        f"  Total Execution Time: {total:.4f} seconds\n\n  ----Wall Time----  ----Name----\n",
    ]
    for name, seconds in (*phases, ("Total", total)):
        share = 100 * seconds / total if total else 0.0
        lines.append(f"  {seconds:8.4f} ({share:5.1f}%)  {name}\n")
    return "".join(lines)


def statistics_report(records: Sequence[PassRecord]) -> str:
    """Returns the statistics of the passes, as MLIR prints them."""
    lines = [_heading("... Pass statistics report ...")]
    for record in records:
        if record.state.counters:
            lines.append(f"{record.name}\n")
            lines += [f"  (S) {n} {name}\n" for name, n in sorted(record.state.counters.items())]
    return "".join(lines)


def remarks_of(records: Sequence[PassRecord]) -> Iterator[Remark]:
    """Yields the remarks of a run in order."""
    for record in records:
        yield from record.state.remarks


def remark_diagnostic(remark: Remark) -> Diagnostic:
    """Returns a remark as a diagnostic: `remark: message [missed=pass:reason]`."""
    source = f"[{remark.kind.value}={remark.pass_name}:{remark.name}]"
    return Diagnostic(Severity.REMARK, f"{remark.message} {source}", remark.location)


def remarks_yaml(remarks: Iterable[Remark]) -> str:
    """Returns remarks in the YAML form of LLVM's optimisation records."""
    return "".join(_remark_document(remark) for remark in remarks)


def _remark_document(remark: Remark) -> str:
    lines = [
        f"--- !{remark.kind.value.capitalize()}",
        f"Pass:            {_quoted(remark.pass_name)}",
        f"Name:            {_quoted(remark.name)}",
    ]
    position = split_location(remark.location)
    if position is not None:
        file, line, column = position
        where = f"{{ File: {_quoted(file)}, Line: {line}, Column: {column} }}"
        lines.append(f"DebugLoc:        {where}")
    lines += [f"Function:        {_quoted(remark.function)}", "Args:"]
    for key, value in {"String": remark.message, **remark.args}.items():
        lines.append(f"  - {_quoted(key)}: {_quoted(value)}")
    return "\n".join([*lines, "...", ""])


def _quoted(text: str) -> str:
    """Returns a YAML scalar, plain if it is unambiguous."""
    if text and text.replace("-", "").replace("_", "").isalpha() and text.lower() not in _WORDS:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"


_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def _heading(title: str) -> str:
    return f"{_RULE}{title:^{_WIDTH + 1}}".rstrip() + f"\n{_RULE}"
