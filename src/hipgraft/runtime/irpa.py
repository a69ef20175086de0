"""Writes IREE's parameter archives (`.irpa`) one constant at a time, and reads their tables.

IREE's own writer needs all constants in memory at once, and its reader does not check the file.
Source: IREE's `schemas/parameter_archive.h`, version 0 of the format.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

from hipgraft.ir.diagnostics import HipgraftError

_HEADER = struct.Struct("<4sHHQQQQQQQQQQ")
_ENTRY = struct.Struct("<QIQQQQQQQQ")
_MAGIC = b"IRPA"
_SKIPPED_ENTRY = 0
_DATA_ENTRY = 2
_TABLE_ALIGNMENT = 16
_DATA_ALIGNMENT = 64
_FILE_ALIGNMENT = 4096

DIGEST = "hipgraft.digest"
"""The name of the entry, or of the metadata field, that holds the SHA-256 of all constants."""


class Constant(Protocol):
    """A constant to be written."""

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        ...

    def read(self) -> bytes | memoryview:
        """Returns its bytes."""
        ...


@dataclass(frozen=True)
class _Digest:
    """The digest as the last entry: it is known when all other entries have been read."""

    digest: Any
    nbytes: int = 32

    def read(self) -> bytes:
        """Returns the digest of the bytes read so far."""
        return self.digest.digest()


def write_irpa(path: Path, constants: Mapping[str, Constant]) -> str:
    """Writes an archive with the constants and, as `hipgraft.digest`, their SHA-256.

    Args:
        path: the file.
        constants: constants by name; each is read once, when it is written.

    Returns:
        The digest.
    """
    names = [name.encode() for name in (*constants, DIGEST)]
    digest = hashlib.sha256(b"\0".join(names))
    entries = (*constants.values(), _Digest(digest))
    sizes = [constant.nbytes for constant in entries]
    name_offsets = [0, *accumulate(map(len, names))]
    offsets = [0, *accumulate(_aligned(size, _DATA_ALIGNMENT) for size in sizes)]
    stride = _aligned(_ENTRY.size, _TABLE_ALIGNMENT)
    table = _aligned(_HEADER.size, _TABLE_ALIGNMENT)
    table_end = table + stride * len(names)
    start = _aligned(table_end + name_offsets[-1], _DATA_ALIGNMENT)
    with path.open("wb") as file:
        segments = (table, table_end - table, table_end, name_offsets[-1], start, offsets[-1])
        file.write(_HEADER.pack(_MAGIC, 0, 0, _HEADER.size, 0, 0, len(names), *segments))
        for number, (name, size) in enumerate(zip(names, sizes, strict=True)):
            file.seek(table + stride * number)
            where = (name_offsets[number], len(name), 0, 0, _DATA_ALIGNMENT, offsets[number], size)
            file.write(_ENTRY.pack(_ENTRY.size, _DATA_ENTRY, 0, *where))
        file.seek(table_end)
        file.write(b"".join(names))
        for offset, constant in zip(offsets, entries, strict=False):
            file.seek(start + offset)
            data = constant.read()
            file.write(data)
            if not isinstance(constant, _Digest):
                digest.update(data)
        file.truncate(_aligned(start + offsets[-1], _FILE_ALIGNMENT))
    return digest.hexdigest()


def read_irpa(data: memoryview) -> dict[str, tuple[int, int]]:
    """Returns the offset and the size in bytes of each constant, by name, without checking them.

    Raises:
        HipgraftError: the table exceeds the data, or has entries that do not store data.
        struct.error: the data is truncated.
    """
    magic, version, _, _, following, _, count, table, table_size, *rest = _HEADER.unpack_from(data)
    names, names_size, start, _ = rest
    if magic != _MAGIC or version != 0 or following != 0:
        raise HipgraftError("it is no archive of version 0, or several of them")
    if table + table_size > len(data) or names + names_size > len(data):
        raise HipgraftError("its table is beyond its end")
    found: dict[str, tuple[int, int]] = {}
    for _ in range(count):
        size, kind, _, name, length, _, _, _, place, nbytes = _ENTRY.unpack_from(data, table)
        if kind not in (_SKIPPED_ENTRY, _DATA_ENTRY) or size < _ENTRY.size:
            raise HipgraftError(f"it has an entry of kind {kind} and {size} bytes")
        if kind == _DATA_ENTRY:
            if name + length > names_size:
                raise HipgraftError("a name is beyond its end")
            found[bytes(data[names + name :][:length]).decode()] = (start + place, nbytes)
        table += _aligned(size, _TABLE_ALIGNMENT)
    return found


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
