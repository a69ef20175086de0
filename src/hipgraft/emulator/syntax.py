"""Parses a disassembled instruction into mnemonic, operands and modifiers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hipgraft.emulator.operands import parse_register

_SUFFIXES = ("_e64_dpp", "_e32", "_e64", "_sdwa", "_dpp", "_e96")
_CACHE_FLAGS = ("glc", "slc", "dlc", "sc0", "sc1", "nt", "nv", "scc", "gds")
_MEMORY_FLAGS = ("offen", "idxen", "lds", "tfe", "swz", *_CACHE_FLAGS)
_DPP_FLAGS = ("row_mirror", "row_half_mirror", "wave_shl", "wave_shr", "wave_rol", "wave_ror")
_FLAGS = frozenset(("clamp", *_MEMORY_FLAGS, *_DPP_FLAGS))
_MODIFIER = re.compile(r"([a-z_]\w*):(.*)")


@dataclass
class Statement:
    """The parts of an instruction.

    Attributes:
        name: mnemonic without the suffix of the encoding.
        operands: texts of the operands, in order.
        modifiers: values by name, empty for flags; decoding removes each one that it handles.
        dpp: whether the encoding is DPP.
    """

    name: str
    operands: list[str] = field(default_factory=list[str])
    modifiers: dict[str, str] = field(default_factory=dict[str, str])
    dpp: bool = False

    def take(self, name: str, default: str = "") -> str:
        """Removes a modifier and returns its value."""
        return self.modifiers.pop(name, default)

    def flag(self, name: str) -> bool:
        """Removes a modifier without a value and returns whether it was present."""
        return self.modifiers.pop(name, None) is not None


def parse_statement(text: str) -> Statement:
    """Returns the parts of a disassembled instruction."""
    mnemonic, _, rest = text.strip().partition(" ")
    name = mnemonic
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            name = name.removesuffix(suffix)
            break
    if name.startswith("v_dual_"):
        name = "v_" + name.removeprefix("v_dual_")
    statement = Statement(name, dpp=mnemonic.endswith("_dpp"))
    for piece in _split(rest):
        # A piece is an operand with modifiers after it, or modifiers only.
        first, *others = piece.split()
        if _is_modifier(first):
            others.insert(0, first)
        else:
            statement.operands.append(first)
        for one in others:
            key, _, value = one.partition(":")
            statement.modifiers[key] = value
    return statement


def _is_modifier(text: str) -> bool:
    if text in _FLAGS:
        return True
    return _MODIFIER.fullmatch(text) is not None and parse_register(text) is None


def _split(text: str) -> list[str]:
    """Splits a text at the commas outside of brackets."""
    pieces: list[str] = []
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            pieces.append(text[start:place])
            start = place + 1
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]
