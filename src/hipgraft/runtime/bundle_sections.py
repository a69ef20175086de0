"""Collects and writes the data of a bundle: objects, constants and host programs."""

from __future__ import annotations

import struct
import zlib
from typing import Any, BinaryIO

CHECKSUM = struct.Struct("<I")
"""The format of the checksums, one for each piece, after all data."""

_ALIGNMENT = 4096


def aligned(size: int) -> int:
    """Rounds a size in bytes up to the alignment, so that constants can be mapped."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Sections:
    """Data to be written, each piece at a multiple of the alignment."""

    def __init__(self) -> None:
        self.size = 0
        self.code: dict[int, bytes | memoryview] = {}
        self.extents: list[tuple[int, int]] = []
        self._numbers: dict[Any, int] = {}
        self._readers: list[Any] = []

    def add(self, key: Any, nbytes: int, read: Any) -> int:
        """Adds a piece of data and returns its index; pieces with equal keys are stored once."""
        if key not in self._numbers:
            self._numbers[key] = len(self.extents)
            self.extents.append((self.size, nbytes))
            self._readers.append(read)
            self.size = aligned(self.size + nbytes)
        return self._numbers[key]

    def add_code(self, key: Any, data: bytes) -> int:
        """Adds an object or a host program and returns its index."""
        number = self.add(key, len(data), lambda: data)
        self.code[number] = data
        return number

    def write(self, file: BinaryIO) -> None:
        """Writes all pieces, then their checksums; constants are read one at a time."""
        start = aligned(file.tell())
        file.write(bytes(start - file.tell()))  # also needed if there is no data
        file.truncate(start + self.size)
        checksums: list[int] = []
        for (offset, _), read in zip(self.extents, self._readers, strict=True):
            data = read()
            file.seek(start + offset)
            file.write(data)
            checksums.append(zlib.crc32(data))
            del data
        file.seek(start + self.size)
        file.write(b"".join(map(CHECKSUM.pack, checksums)))
