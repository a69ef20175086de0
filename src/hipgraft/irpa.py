"""Writes IREE's parameter archives (`.irpa`) one constant at a time.

IREE's own writer wants all constants in memory at once. Source: IREE's
`schemas/parameter_archive.h`, version 0 of the format.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Protocol

_HEADER = struct.Struct("<4sHHQQQQQQQQQQ")
_ENTRY = struct.Struct("<QIQQQQQQQQ")
_DATA_ENTRY = 2
_TABLE_ALIGNMENT = 16
_DATA_ALIGNMENT = 64
_FILE_ALIGNMENT = 4096


class Constant(Protocol):
    """What is to be written."""

    @property
    def nbytes(self) -> int:
        """Its size."""
        ...

    def read(self) -> bytes | memoryview:
        """Returns its bytes."""
        ...


def write_irpa(path: Path, constants: Mapping[str, Constant]) -> None:
    """Writes an archive.

    Args:
        path: of the file.
        constants: by their names; each is read once, when it is written.
    """
    names = [name.encode() for name in constants]
    sizes = [constant.nbytes for constant in constants.values()]
    name_places = [0, *accumulate(map(len, names))]
    places = [0, *accumulate(_aligned(size, _DATA_ALIGNMENT) for size in sizes)]
    stride = _aligned(_ENTRY.size, _TABLE_ALIGNMENT)
    table = _aligned(_HEADER.size, _TABLE_ALIGNMENT)
    table_end = table + stride * len(names)
    start = _aligned(table_end + name_places[-1], _DATA_ALIGNMENT)
    with path.open("wb") as file:
        segments = (table, table_end - table, table_end, name_places[-1], start, places[-1])
        file.write(_HEADER.pack(b"IRPA", 0, 0, _HEADER.size, 0, 0, len(names), *segments))
        for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
            file.seek(table + stride * number)
            where = (name_places[number], len(name), 0, 0, _DATA_ALIGNMENT, places[number], size)
            file.write(_ENTRY.pack(_ENTRY.size, _DATA_ENTRY, 0, *where))
        file.seek(table_end)
        file.write(b"".join(names))
        for place, constant in zip(places, constants.values(), strict=False):
            file.seek(start + place)
            file.write(constant.read())
        file.truncate(_aligned(start + places[-1], _FILE_ALIGNMENT))


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
