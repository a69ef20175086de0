"""Finds source lines of instructions in the line tables that compilers write for debuggers."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, cast

from elftools.common.exceptions import (  # pyright: ignore[reportMissingTypeStubs]
    DWARFError,
    ELFError,
)
from elftools.construct import ConstructError  # pyright: ignore[reportMissingTypeStubs]
from elftools.dwarf.structs import DWARFStructs  # pyright: ignore[reportMissingTypeStubs]
from elftools.elf.elffile import ELFFile  # pyright: ignore[reportMissingTypeStubs]

_VERSION_WITH_FILE_0 = 5
_LENGTH_BYTES = 4
# Exceptions that reading a damaged table may raise.
_MALFORMED = (
    DWARFError,
    ELFError,
    ConstructError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
)


class SourceLines:
    """The line tables (`.debug_line`) of an ELF file.

    Args:
        data: bytes of the file. A damaged table is ignored.
    """

    def __init__(self, data: bytes):
        try:
            self._ranges = sorted(_ranges(data))
        except _MALFORMED:
            self._ranges = []

    def find(self, address: int) -> str:
        """Returns an instruction's source line as `file:line`, without folders; '' if unknown."""
        index = bisect_right(self._ranges, address, key=lambda one: one[0]) - 1
        if index < 0:
            return ""
        _, high, place = self._ranges[index]
        return place if address < high else ""


def _ranges(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yields address ranges [low, high), each with the source line of the instructions in it."""
    # pyelftools' types have gaps.
    elf = cast(Any, ELFFile)(io.BytesIO(data))
    section = elf.get_section_by_name(".debug_line")
    if section is None:
        return
    dwarf, place = elf.get_dwarf_info(), 0
    while place < section.data_size:
        program = dwarf.line_program_for_CU(_Unit(place))
        place += program.header["unit_length"] + _LENGTH_BYTES
        states = [entry.state for entry in program.get_entries() if entry.state]
        for state, after in pairwise(states):
            if state.line and not state.end_sequence and state.address < after.address:
                name = _file_name(program.header, state.file)
                yield state.address, after.address, f"{name}:{state.line}"


class _Unit:
    """Replaces pyelftools' unit of a line table, because assemblers write tables without units."""

    structs = DWARFStructs(
        little_endian=True, dwarf_format=32, address_size=8, dwarf_version=_VERSION_WITH_FILE_0
    )

    def __init__(self, place: int):
        self.attributes = {"DW_AT_stmt_list": SimpleNamespace(value=place)}

    def get_top_DIE(self) -> _Unit:  # noqa: N802 - pyelftools' name
        return self


def _file_name(header: Any, number: int) -> str:
    first = 0 if header["version"] >= _VERSION_WITH_FILE_0 else 1
    return PurePosixPath(header["file_entry"][number - first].name.decode(errors="replace")).name
