"""Finds matrix instructions in the machine code of kernels, without a disassembler.

Instructions are multiples of 4 bytes long, and matrix instructions begin with encodings of their
own. The scan also reads the second words of instructions and literals, so a few hits may be false;
a kernel without hits certainly has no matrix instruction. Sources: the instruction set references
of CDNA 3 (VOP3P-MAI) and RDNA 3 (VOP3P).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_SHT_DYNSYM = 11
_STT_FUNC = 2
_SYMBOL_SIZE = 24

# The upper 16 bits of the first word. MFMA shares its range with accumulator moves.
_MFMA = range(0xD3C0, 0xD400)
_ACCUMULATOR_MOVES = (0xD3D8, 0xD3D9)
_MFMA_LATER = (0xD3AD, 0xD3AE, 0xD3BE, 0xD3BF)
_WMMA = range(0xCC40, 0xCC80)

_CODES = {
    "gfx9": (frozenset(_MFMA) - frozenset(_ACCUMULATOR_MOVES)) | frozenset(_MFMA_LATER),
    "gfx1": frozenset(_WMMA),
}


def count_matrix_instructions(code_object: bytes, architecture: str) -> dict[str, int]:
    """Returns how many MFMA or WMMA instructions each kernel of a code object holds.

    Args:
        code_object: an AMDGPU ELF.
        architecture: its processor, e.g. `gfx942`.
    """
    codes = _CODES[architecture[:4]]
    return {
        name: sum(word >> 16 in codes for (word,) in struct.iter_unpack("<I", code))
        for name, code in _functions(code_object)
    }


def _functions(data: bytes) -> Iterator[tuple[str, bytes]]:
    sections = list(_sections(data))
    for kind, _, offset, size, link in sections:
        # Stripped code objects keep the dynamic symbols, which name all kernels.
        if kind != _SHT_DYNSYM:
            continue
        names = sections[link][2]
        for at in range(offset, offset + size, _SYMBOL_SIZE):
            name, info, _, section, value, length = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == _STT_FUNC:
                start = sections[section][2] + value - sections[section][1]
                end = data.index(b"\0", names + name)
                yield data[names + name : end].decode(), data[start : start + length // 4 * 4]


def _sections(data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """Yields kind, address, offset, size and link of each section of an ELF64."""
    (table,) = struct.unpack_from("<Q", data, 40)
    entry_size, entries = struct.unpack_from("<HH", data, 58)
    for at in range(table, table + entry_size * entries, entry_size):
        (kind,) = struct.unpack_from("<I", data, at + 4)
        yield (kind, *struct.unpack_from("<QQQI", data, at + 16))
