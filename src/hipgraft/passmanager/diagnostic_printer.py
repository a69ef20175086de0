"""Prints diagnostics as MLIR's tools do: with the source line and a caret."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, TextIO

from hipgraft.ir.diagnostics import (
    MEMORY_NAME,
    Diagnostic,
    HipgraftError,
    PipelineParseError,
    Severity,
    split_location,
)

_LONGEST_LINE = 2000
"""The shortest length of source lines that are not shown: lines of weights would fill screens."""

# LLVM's colours, which are readable on light and on dark terminals.
_BOLD = "1"
_GREEN = "0;1;32"
_COLOURS = {
    Severity.ERROR: "0;1;31",
    Severity.WARNING: "0;1;35",
    Severity.NOTE: "0;1;36",
    Severity.REMARK: "0;1;34",
}


class DiagnosticPrinter:
    """Prints diagnostics, with lines of the sources that it can read.

    Attributes:
        stream: output stream.
        memory_name: name to show for the source that was parsed from memory.
    """

    in_colour: ClassVar[bool] = False
    """Whether diagnostics have LLVM's colours; tools with a flag for colours set it."""

    def __init__(self, stream: TextIO, *, memory_name: str = MEMORY_NAME):
        self.stream = stream
        self.memory_name = memory_name
        self._texts: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def add_source(self, name: str, text: str) -> None:
        """Adds the lines of a source that cannot be read from a file."""
        self._texts[name] = text

    def print(self, diagnostic: Diagnostic) -> None:
        """Prints a diagnostic and its notes; notes at one location do not repeat the line."""
        self._print_one(diagnostic, with_source=True)
        for note in diagnostic.notes:
            self._print_one(note, with_source=note.location != diagnostic.location)

    def print_error(self, error: HipgraftError) -> None:
        """Prints an error that no diagnostic handler has shown."""
        if error.reported:
            return
        if isinstance(error, PipelineParseError) and error.text:
            self.add_source(error.location.split(":")[0], error.text)
        if error.location:
            self.print(error.diagnostic())
        else:
            self._write(str(error))

    def _print_one(self, diagnostic: Diagnostic, *, with_source: bool) -> None:
        position = split_location(diagnostic.location)
        where = diagnostic.location or "<unknown>:0"
        if position is not None and position[0] == MEMORY_NAME:
            position = (self.memory_name, position[1], position[2])
            where = f"{self.memory_name}:{position[1]}:{position[2]}"
        severity = diagnostic.severity
        place = self._coloured(f"{where}: ", _BOLD)
        kind = self._coloured(f"{severity.value}: ", _COLOURS[severity])
        self._write(f"{place}{kind}{self._coloured(diagnostic.message, _BOLD)}")
        if with_source and position is not None:
            self._print_source(*position)

    def _print_source(self, name: str, line: int, column: int) -> None:
        lines = self._source_lines(name)
        if not 1 <= line <= len(lines):
            return
        text = lines[line - 1]
        if len(text) > _LONGEST_LINE:
            return
        # Tabs stay tabs, so that the caret is below its character.
        indent = "".join("\t" if character == "\t" else " " for character in text[: column - 1])
        self._write(f"{text}\n{indent}{self._coloured('^', _GREEN)}")

    def _coloured(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.in_colour else text

    def _source_lines(self, name: str) -> list[str]:
        if name not in self._lines:
            text = self._texts.get(name)
            self._lines[name] = (_read(name) if text is None else text).splitlines()
        return self._lines[name]

    def _write(self, text: str) -> None:
        self.stream.write(text + "\n")
        self.stream.flush()


def _read(name: str) -> str:
    """Returns the text of a file that a location refers to; empty if there is none."""
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
