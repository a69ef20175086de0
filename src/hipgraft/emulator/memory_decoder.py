"""Decodes loads, stores and atomics, each of which has its own form.

Forms, as `core/memory.cpp` names them: SL scalar loads; B, G and C buffer, global and scratch
memory, with L, S and A for loads, stores and atomics; GLL global loads to LDS; D LDS, with L, S
and A, LD and SD for two addresses, AR for atomics that return the old value, AC and ARC for those
with two operands; DP permutes, DW swizzles.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hipgraft.emulator.native import (
    MEMORY_IDXEN,
    MEMORY_LDS,
    MEMORY_OFFEN,
    SCALAR,
    VECTOR,
    Destination,
    Instruction,
    Source,
)
from hipgraft.emulator.operands import Register, parse_register, parse_source
from hipgraft.emulator.syntax import Statement

_NUMBER = re.compile(r"-?(?:0x[0-9a-f]+|\d+)")
# Modifiers of caching and coherence, which the emulator does not model.
_CACHE_MODIFIERS = ("glc", "slc", "dlc", "sc0", "sc1", "nt", "nv", "scope", "th")


def decode_memory(instruction: Instruction, form: str, statement: Statement, word: int) -> None:
    """Sets the operands of a memory instruction.

    Args:
        instruction: the instruction to complete.
        form: name of its form.
        statement: its text.
        word: the first word of its encoding.

    Raises:
        ValueError: the text lacks the operands of the form.
    """
    returns = (
        statement.flag("sc0")
        | statement.flag("glc")
        | ("ATOMIC_RETURN" in statement.modifiers.get("th", ""))
    )
    for name in _CACHE_MODIFIERS:
        statement.take(name)
    kind = form.rstrip("0123456789")
    if kind == "DW":
        statement.take("offset")
        instruction.immediate = word & 0xFFFF
    elif kind in ("DLD", "DSD"):
        instruction.offset0 = int(statement.take("offset0", "0"), 0)
        instruction.offset1 = int(statement.take("offset1", "0"), 0)
    else:
        instruction.offset0 = int(statement.take("offset", "0"), 0)
    if kind[0] in "D":
        _decode_lds(instruction, kind, statement)
    elif kind == "SL":
        _decode_scalar(instruction, statement)
    elif kind[0] == "B":
        _decode_buffer(instruction, kind, statement, returns)
    else:
        _decode_global(instruction, kind, statement, returns)


# Roles of the operands of an LDS instruction, in order.
_LDS_OPERANDS = {
    "DL": "da",
    "DLD": "da",
    "DS": "a1",
    "DSD": "a13",
    "DP": "da1",
    "DW": "da",
    "DA": "a1",
    "DAR": "da1",
    "DAC": "a13",
    "DARC": "da13",
}


def _decode_lds(instruction: Instruction, kind: str, statement: Statement) -> None:
    roles = _LDS_OPERANDS[kind]
    if len(roles) != len(statement.operands):
        raise ValueError(f"expected {len(roles)} operands, found {len(statement.operands)}")
    setters: dict[str, Callable[[str], None]] = {
        "d": lambda text: _set_destination(instruction, text),
        "a": lambda text: _set_source(instruction, 0, text),
        "1": lambda text: _set_source(instruction, 1, text),
        "3": lambda text: _set_source(instruction, 3, text),
    }
    for role, text in zip(roles, statement.operands, strict=True):
        setters[role](text)


def _decode_scalar(instruction: Instruction, statement: Statement) -> None:
    target, base, *offsets = statement.operands
    register = _register(target, SCALAR)
    instruction.d[0] = Destination(kind=SCALAR, index=register.index, count=register.count)
    instruction.scalar_base = _register(base, SCALAR).index
    for text in offsets:
        if _NUMBER.fullmatch(text):
            instruction.offset0 += int(text, 0)
        elif text != "null":
            instruction.s[2] = parse_source(text, "w")


def _decode_buffer(
    instruction: Instruction, kind: str, statement: Statement, returns: bool
) -> None:
    operands = list(statement.operands)
    if statement.flag("lds"):
        instruction.memory_flags |= MEMORY_LDS
    elif kind == "BL":
        _set_destination(instruction, operands.pop(0))
    else:
        data = operands.pop(0)
        _set_source(instruction, 1, data)
        if kind == "BA" and returns:
            _set_destination(instruction, data)
    vector, resource, scalar = operands
    if statement.flag("offen"):
        instruction.memory_flags |= MEMORY_OFFEN
    if statement.flag("idxen"):
        instruction.memory_flags |= MEMORY_IDXEN
    if vector != "off":
        _set_source(instruction, 0, vector)
    instruction.scalar_base = _register(resource, SCALAR).index
    instruction.s[2] = parse_source(scalar, "w")


def _decode_global(
    instruction: Instruction, kind: str, statement: Statement, returns: bool
) -> None:
    operands = list(statement.operands)
    if statement.flag("lds") or kind == "GLL":
        instruction.memory_flags |= MEMORY_LDS
    elif kind in ("GL", "CL") or (kind == "GA" and returns):
        _set_destination(instruction, operands.pop(0))
    vector = operands.pop(0)
    if vector != "off":
        _set_source(instruction, 0, vector)
    if kind in ("GS", "CS", "GA"):
        _set_source(instruction, 1, operands.pop(0))
    scalar = operands.pop(0) if operands else "off"
    if scalar not in ("off", "null"):
        instruction.scalar_base = _register(scalar, SCALAR).index
    if operands:
        raise ValueError(f"unknown operand '{operands[0]}'")
    wide = parse_register(vector)
    if kind[0] == "G" and instruction.scalar_base < 0 and (wide is None or wide.count != 2):
        raise ValueError("a global address of other than 64 bits")


def _set_destination(instruction: Instruction, text: str) -> None:
    register = _register(text, VECTOR)
    instruction.d[0] = Destination(kind=VECTOR, index=register.index, count=register.count)


def _set_source(instruction: Instruction, number: int, text: str) -> None:
    register = _register(text, VECTOR)
    instruction.s[number] = Source(kind=VECTOR, index=register.index, count=register.count)


def _register(text: str, kind: int) -> Register:
    register = parse_register(text)
    if register is None or register.kind != kind or register.half:
        raise ValueError(f"'{text}' is not a register of the expected kind")
    return register
