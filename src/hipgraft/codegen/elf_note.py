"""Dropping access qualifiers from a code object's note.

The note says of some pointer arguments that the kernel only reads through them. That holds for
the pointer, not for the memory around it: a merged program keeps its buffers in one arena, and
what checks or protects memory by these qualifiers would refuse the stores of another argument of
the same allocation. No loader needs them.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import msgpack  # pyright: ignore[reportMissingTypeStubs]
from elftools.elf.elffile import ELFFile  # pyright: ignore[reportMissingTypeStubs]
from elftools.elf.sections import NoteSection  # pyright: ignore[reportMissingTypeStubs]

_QUALIFIERS = (".access", ".actual_access")
_NOTE_HEADER = struct.Struct("<III")
_SIZE = struct.Struct("<Q")
# Offsets of the size fields in 64-bit headers: sh_size; p_filesz and p_memsz.
_SH_SIZE, _P_FILESZ, _P_MEMSZ = 32, 32, 40


def without_access_qualifiers(elf: bytes) -> bytes:
    """Returns the code object with a note that has no access qualifiers; nothing else moves."""
    file = ELFFile(io.BytesIO(elf))
    for index, section in enumerate(file.iter_sections()):
        notes = list(section.iter_notes()) if isinstance(section, NoteSection) else []
        if [note["n_name"] for note in notes] == ["AMDGPU"]:
            metadata = msgpack.unpackb(notes[0]["n_desc"], strict_map_key=False)
            return _replace_note(elf, file, index, msgpack.packb(_stripped(metadata)))
    return elf


def _stripped(metadata: dict[str, Any]) -> dict[str, Any]:
    for kernel in metadata["amdhsa.kernels"]:
        for argument in kernel.get(".args", ()):
            for name in _QUALIFIERS:
                argument.pop(name, None)
    return metadata


def _replace_note(elf: bytes, file: Any, index: int, description: bytes) -> bytes:
    """Writes a description that is no longer than the old one, and the sizes that follow it."""
    header = file.get_section(index).header
    start, old_size = header["sh_offset"], header["sh_size"]
    name_size, _, kind = _NOTE_HEADER.unpack_from(elf, start)
    name_end = start + _NOTE_HEADER.size + _aligned(name_size)
    size = name_end - start + _aligned(len(description))
    data = bytearray(elf)
    data[start : start + old_size] = bytes(old_size)
    _NOTE_HEADER.pack_into(data, start, name_size, len(description), kind)
    data[start + _NOTE_HEADER.size : name_end] = elf[start + _NOTE_HEADER.size : name_end]
    data[name_end : name_end + len(description)] = description
    table = file["e_shoff"] + index * file["e_shentsize"]
    _SIZE.pack_into(data, table + _SH_SIZE, size)
    for number, segment in enumerate(file.iter_segments()):
        if segment["p_type"] == "PT_NOTE" and segment["p_offset"] == start:
            table = file["e_phoff"] + number * file["e_phentsize"]
            _SIZE.pack_into(data, table + _P_FILESZ, size)
            _SIZE.pack_into(data, table + _P_MEMSZ, size)
    return bytes(data)


def _aligned(size: int) -> int:
    return -(-size // 4) * 4
