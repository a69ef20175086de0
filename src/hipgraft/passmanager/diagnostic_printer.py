"""Diagnostics on a terminal as MLIR's tools print them: with the source line and a caret."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from hipgraft.ir.diagnostics import (
    MEMORY_NAME,
    Diagnostic,
    HipgraftError,
    PipelineParseError,
    split_location,
)

_LONGEST_LINE = 2000
"""Characters beyond which a source line is not shown: lines of weights fill screens."""


class DiagnosticPrinter:
    """Prints diagnostics, with lines of the sources that it can read.

    Attributes:
        stream: where to print.
        memory_name: the name to show for the source that was parsed from memory.
    """

    def __init__(self, stream: TextIO, *, memory_name: str = MEMORY_NAME):
        self.stream = stream
        self.memory_name = memory_name
        self._texts: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def add_source(self, name: str, text: str) -> None:
        """Adds the lines of a source that cannot be read from a file."""
        self._texts[name] = text

    def print(self, diagnostic: Diagnostic) -> None:
        """Prints a diagnostic and its notes; notes at one place do not repeat the source line."""
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
        self._write(f"{where}: {diagnostic.severity.value}: {diagnostic.message}")
        if with_source and position is not None:
            self._print_source(*position)

    def _print_source(self, name: str, line: int, column: int) -> None:
        lines = self._source_lines(name)
        if not 1 <= line <= len(lines):
            return
        text = lines[line - 1]
        if len(text) > _LONGEST_LINE:
            return
        # Tabs stay tabs, so that the caret stands below its character.
        indent = "".join("\t" if character == "\t" else " " for character in text[: column - 1])
        self._write(f"{text}\n{indent}^")

    def _source_lines(self, name: str) -> list[str]:
        if name not in self._lines:
            text = self._texts.get(name)
            self._lines[name] = (_read(name) if text is None else text).splitlines()
        return self._lines[name]

    def _write(self, text: str) -> None:
        self.stream.write(text + "\n")
        self.stream.flush()


def _read(name: str) -> str:
    """Returns the text of a file that a location names; empty if there is none."""
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
