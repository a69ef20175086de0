"""Parses operands in the text of LLVM's disassembler: registers and constants."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

import numpy as np

from hipgraft.emulator.native import CONSTANT, EXECZ, SCALAR, SCC, VCCZ, VECTOR, Source

PARTS = {
    "DWORD": 0,
    "WORD_0": 1,
    "WORD_1": 2,
    "BYTE_0": 3,
    "BYTE_1": 4,
    "BYTE_2": 5,
    "BYTE_3": 6,
}

# Numbers of the core's scalar registers.
_TRAP = 108
_NAMED = {
    "flat_scratch": (102, 2),
    "flat_scratch_lo": (102, 1),
    "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2),
    "xnack_mask_lo": (104, 1),
    "xnack_mask_hi": (105, 1),
    "vcc": (106, 2),
    "vcc_lo": (106, 1),
    "vcc_hi": (107, 1),
    "exec": (126, 2),
    "exec_lo": (126, 1),
    "exec_hi": (127, 1),
    "m0": (130, 1),
    "null": (140, 1),
}
_FLAGS = {"scc": SCC, "src_scc": SCC, "vccz": VCCZ, "src_vccz": VCCZ, "execz": EXECZ}
# Upper halves of generic addresses in the core.
_APERTURES = {"src_shared_base": 0x10000, "src_private_base": 0x20000}

_REGISTER = re.compile(r"(v|s|a|ttmp)(?:(\d+)|\[(\d+)(?::(\d+))?\])(\.[lh])?")
_INTEGER = re.compile(r"-?(?:\d+|0x[0-9a-fA-F]+)")
_MASK = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF
# The accumulation registers of gfx9 are numbered after the 256 others.
_ACCUMULATION = 256

# 1 / (2 pi) as an inline constant, which the disassembler prints with more digits than any other.
_INVERSE_TWO_PI = 0.15915494
_INVERSE_TWO_PI_BITS = {"h": 0x3118, "f": 0x3E22F983, "d": 0x3FC45F306DC9C882}


@dataclass(frozen=True)
class Register:
    """A register operand: one register, or several consecutive ones.

    Attributes:
        kind: `VECTOR` or `SCALAR`.
        index: the core's number of the first register.
        count: number of registers.
        half: `l` or `h` for the low or high half of a register, else empty.
    """

    kind: int
    index: int
    count: int = 1
    half: str = ""


def parse_register(text: str) -> Register | None:
    """Returns the register that a text names, or None."""
    if text in _NAMED:
        return Register(SCALAR, *_NAMED[text])
    match = _REGISTER.fullmatch(text)
    if match is None:
        return None
    letter, single, first, last, half = match.groups()
    index = int(single or first)
    count = int(last) - index + 1 if last else 1
    kind = VECTOR if letter in "va" else SCALAR
    index += {"a": _ACCUMULATION, "ttmp": _TRAP}.get(letter, 0)
    return Register(kind, index, count, (half or "").removeprefix("."))


@dataclass(frozen=True)
class _Modified:
    """An operand without its modifiers."""

    text: str
    negate: bool
    absolute: bool
    sign_extend: bool


def _strip_modifiers(text: str) -> _Modified:
    negate = absolute = sign_extend = False
    if text.startswith("sext("):
        sign_extend, text = True, text[5:-1]
    if text.startswith("neg("):
        negate, text = True, text[4:-1]
    # A minus before a digit belongs to the number.
    if text.startswith("-") and text[1:2] in ("v", "s", "a", "t", "|", "m", "e"):
        negate, text = not negate, text[1:]
    if text.startswith("|"):
        absolute, text = True, text[1:-1]
    if text.startswith("abs("):
        absolute, text = True, text[4:-1]
    return _Modified(text, negate, absolute, sign_extend)


def parse_source(text: str, kind: str, *, high: bool = False, signed: bool = False) -> Source:
    """Parses a source operand.

    Args:
        text: text that the disassembler prints.
        kind: the letter of its type, as `core/machine.h` defines them.
        high: whether `op_sel_hi` is set for the operand; in mixed-precision operations this bit
            selects halves instead of floats.
        signed: whether a 32-bit literal is sign-extended to 64 bits.

    Raises:
        ValueError: there is no such operand.
    """
    bare = _strip_modifiers(text)
    source = Source(
        negate=bare.negate, absolute=bare.absolute, sign_extend=bare.sign_extend, kind=CONSTANT
    )
    register = parse_register(bare.text)
    if bare.text == "null":
        return source
    if register is not None:
        source.kind, source.index, source.count = register.kind, register.index, register.count
        if register.half == "h":
            source.part = PARTS["WORD_1"]
        elif register.half == "l" and kind == "w":
            source.part = PARTS["WORD_0"]
        return source
    if bare.text in _FLAGS:
        source.kind = _FLAGS[bare.text]
        return source
    if bare.text in _APERTURES:
        source.high = _APERTURES[bare.text]
        return source
    value = _constant(bare.text, kind, high=high, signed=signed)
    source.low, source.high = value & _MASK, value >> 32 & _MASK
    return source


def _constant(text: str, kind: str, *, high: bool, signed: bool) -> int:
    if text.startswith("lit") and text.endswith(")"):
        text = text[text.index("(") + 1 : -1]
    if _INTEGER.fullmatch(text):
        value = int(text, 0)
        if "0x" not in text:
            return value & (_MASK64 if kind in "qdmF" else _MASK)
        if kind == "d" and value <= _MASK:
            return value << 32
        if kind == "q" and signed and value <= _MASK:
            return (value - (value >> 31 << 32)) & _MASK64
        return value & _MASK64
    if kind == "F" and high:
        raise ValueError(f"constant '{text}' for the upper of two packed floats")
    if kind == "x":
        kind = "h" if high else "f"
    return _float_bits(text, kind)


def _float_bits(text: str, kind: str) -> int:
    value = float(text)
    size = "h" if kind in "hPs" else "d" if kind in "dq" else "f"
    if abs(value - _INVERSE_TWO_PI) < 1e-6 and len(text) > len("0.15915"):
        return _INVERSE_TWO_PI_BITS[size]
    if size == "h":
        return int(np.float16(value).view(np.uint16))
    code, bits = ("<d", "<Q") if size == "d" else ("<f", "<I")
    (number,) = struct.unpack(bits, struct.pack(code, value))
    return int(number)
