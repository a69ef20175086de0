"""Implements `--verify-diagnostics`: compares diagnostics with those that a source expects.

// expected-error @below {{op needs two operands}}
// expected-remark-re @+2 {{moved {{[0-9]+}} ops}}
// expected-warning @unknown {{no location}}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hipgraft.ir.diagnostics import Diagnostic, Severity, split_location

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)?"
    r"\s*(?:@(?P<line>[+-]\d+|above|below|unknown))?\s*\{\{(?P<message>.*)\}\}\s*$"
)
_MARK = re.compile(r"expected-(?:error|warning|note|remark)")
_INNER_REGEX = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Expectation:
    """One expected diagnostic.

    Attributes:
        severity: severity of the diagnostic.
        message: text that the message must contain, as written.
        pattern: the text as a regular expression.
        line: 1-based line of the diagnostic; 0 for no known location.
        written_at: 1-based line and column of the comment.
    """

    severity: Severity
    message: str
    pattern: re.Pattern[str]
    line: int
    written_at: tuple[int, int]

    def matches(self, diagnostic: Diagnostic, line: int) -> bool:
        """Returns whether a diagnostic at `line` is the expected one."""
        same_place = diagnostic.severity is self.severity and line == self.line
        return same_place and self.pattern.search(diagnostic.message) is not None


def expectations(text: str, name: str, first_line: int = 1) -> list[Expectation | Diagnostic]:
    """Returns the expectations in a source, and an error for each malformed one.

    Args:
        text: the source, or a part of it.
        name: the source's name.
        first_line: 1-based line in the source at which `text` begins.
    """
    lines = text.splitlines()
    found: list[Expectation | Diagnostic] = []
    for number, line in enumerate(lines, first_line):
        mark = _MARK.search(line)
        if mark is None or "//" not in line[: mark.start()]:
            continue
        match = _EXPECTED.match(line, mark.start())
        location = f"{name}:{number}:{mark.start() + 1}"
        if match is None:
            message = "malformed expectation: expected '{{message}}' at the end of the line"
            found.append(Diagnostic(Severity.ERROR, message, location))
            continue
        target = _target(match["line"], number, lines, first_line)
        pattern = _pattern(match["message"], bool(match["re"]))
        severity = Severity(match["severity"])
        written_at = (number, mark.start() + 1)
        found.append(Expectation(severity, match["message"], pattern, target, written_at))
    return found


def mismatches(
    expected: Sequence[Expectation | Diagnostic],
    produced: Iterable[Diagnostic],
    name: str,
    memory_name: str,
) -> list[Diagnostic]:
    """Returns an error for each diagnostic that is unexpected or missing.

    Args:
        expected: result of `expectations`.
        produced: all diagnostics of the run.
        name: the source's name.
        memory_name: the name under which MLIR may know the source.
    """
    errors = [item for item in expected if isinstance(item, Diagnostic)]
    open_ = [item for item in expected if isinstance(item, Expectation)]
    noted = any(item.severity is Severity.NOTE for item in open_)
    for diagnostic in _flatten(produced, with_notes=noted):
        line = _line(diagnostic, (name, memory_name))
        match = next((item for item in open_ if item.matches(diagnostic, line)), None)
        if match is not None:
            open_.remove(match)
        elif diagnostic.severity is not Severity.NOTE:
            kind = diagnostic.severity.value
            message = f"unexpected {kind}: {diagnostic.message}"
            errors.append(Diagnostic(Severity.ERROR, message, diagnostic.location))
    return errors + [_missing(item, name) for item in open_]


def _target(line_offset: str | None, line: int, lines: Sequence[str], first_line: int) -> int:
    if line_offset is None:
        return line
    if line_offset == "unknown":
        return 0
    if line_offset[0] in "+-":
        return line + int(line_offset)
    # Consecutive expectations all refer to the same line.
    step = 1 if line_offset == "below" else -1
    line += step
    while 0 <= line - first_line < len(lines) and _MARK.search(lines[line - first_line]):
        line += step
    return line


def _pattern(message: str, has_regex: bool) -> re.Pattern[str]:
    if not has_regex:
        return re.compile(re.escape(message))
    parts = _INNER_REGEX.split(message)
    return re.compile(
        "".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    )


def _flatten(diagnostics: Iterable[Diagnostic], *, with_notes: bool) -> list[Diagnostic]:
    flat: list[Diagnostic] = []
    for diagnostic in diagnostics:
        flat.append(diagnostic)
        if with_notes:
            flat += diagnostic.notes
    return flat


def _line(diagnostic: Diagnostic, names: tuple[str, str]) -> int:
    position = split_location(diagnostic.location)
    return position[1] if position is not None and position[0] in names else 0


def _missing(item: Expectation, name: str) -> Diagnostic:
    message = f'expected {item.severity.value} "{item.message}" was not produced'
    line, column = item.written_at
    return Diagnostic(Severity.ERROR, message, f"{name}:{line}:{column}")
