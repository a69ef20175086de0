"""Removes access qualifiers from a code object's metadata note.

The note qualifies some pointer arguments as read-only. The qualifier holds for accesses through the
pointer, not for the whole allocation: a merged program keeps its buffers in one arena, and a tool
that protects allocations by these qualifiers would reject stores through another argument into the
same arena. No loader needs the qualifiers.
"""

from __future__ import annotations

import io
import struct
from typing import Any

import msgspec
from elftools.elf.elffile import ELFFile  # pyright: ignore[reportMissingTypeStubs]
from elftools.elf.sections import NoteSection  # pyright: ignore[reportMissingTypeStubs]

_QUALIFIERS = (".access", ".actual_access")
_NOTE_HEADER = struct.Struct("<III")
_SIZE = struct.Struct("<Q")
# Offsets of the size fields in 64-bit headers: sh_size; p_filesz and p_memsz.
_SH_SIZE, _P_FILESZ, _P_MEMSZ = 32, 32, 40


def without_access_qualifiers(elf: bytes) -> bytes:
    """Returns the code object with access qualifiers removed from its note; all offsets stay."""
    file = ELFFile(io.BytesIO(elf))
    for index, section in enumerate(file.iter_sections()):
        notes = list(section.iter_notes()) if isinstance(section, NoteSection) else []
        if [note["n_name"] for note in notes] == ["AMDGPU"]:
            metadata = msgspec.msgpack.decode(notes[0]["n_desc"])
            return _replace_note(elf, file, index, msgspec.msgpack.encode(_stripped(metadata)))
    return elf


def _stripped(metadata: dict[str, Any]) -> dict[str, Any]:
    for kernel in metadata["amdhsa.kernels"]:
        for argument in kernel.get(".args", ()):
            for name in _QUALIFIERS:
                argument.pop(name, None)
    return metadata


def _replace_note(elf: bytes, file: Any, index: int, description: bytes) -> bytes:
    """Writes a description that is no longer than the old one, and updates the note's sizes."""
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
