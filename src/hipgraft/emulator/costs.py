"""Derives the cost of an instruction from its text: the kind of work, cycles, registers.

Cycles are those of LLVM's `SISchedule.td` and AMD's ISA guides; docs/timing.md has the sources.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from enum import IntEnum

from hipgraft.codegen.chips import Chip
from hipgraft.emulator.code_object import Kernel
from hipgraft.emulator.native import Cost, Registers
from hipgraft.emulator.syntax import parse_statement


class Kind(IntEnum):
    """Kinds of work, as the core numbers them."""

    VALU = 0
    TRANSCENDENTAL = 1
    MATRIX = 2
    SCALAR = 3
    SCALAR_LOAD = 4
    LDS_LOAD = 5
    LDS_STORE = 6
    LDS_SHUFFLE = 7
    LOAD = 8
    STORE = 9
    ATOMIC = 10
    WAIT = 11
    BARRIER = 12
    BRANCH = 13
    IDLE = 14
    END = 15


_NO_LIMIT = 1 << 20
_ACCUMULATION = 256  # number of the first accumulation register
_MOST_SOURCES = 5

# The first pattern that matches the beginning of a mnemonic determines its kind.
_KINDS: Sequence[tuple[re.Pattern[str], Kind]] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"v_(s?mfma|s?wmma|smfmac|swmmac)", Kind.MATRIX),
        (r"v_(exp|log|rcp|rsq|sqrt|sin|cos|rcp_iflag)_(f32|f16|f64|legacy)", Kind.TRANSCENDENTAL),
        (r"v_s_(exp|log|rcp|rsq|sqrt)", Kind.TRANSCENDENTAL),
        (r"v_nop", Kind.IDLE),
        (r"v_", Kind.VALU),
        (r"s_waitcnt(_vscnt)?$", Kind.WAIT),
        (r"s_barrier", Kind.BARRIER),
        (r"s_endpgm", Kind.END),
        (r"s_c?branch|s_setpc|s_swappc", Kind.BRANCH),
        (r"s_(nop|sleep|delay_alu|clause|setprio|sched|code_end|wait|icache)", Kind.IDLE),
        (r"s_(load|buffer_load|dcache|scratch_load)", Kind.SCALAR_LOAD),
        (r"s_", Kind.SCALAR),
        (r"ds_(bpermute|permute|swizzle)", Kind.LDS_SHUFFLE),
        (r"ds_(read|load)", Kind.LDS_LOAD),
        (r"ds_", Kind.LDS_STORE),
        (r"(global|buffer|flat|scratch)_load", Kind.LOAD),
        (r"(global|buffer|flat|scratch)_store", Kind.STORE),
        (r"(global|buffer|flat)_atomic", Kind.ATOMIC),
        (r"(buffer|global)_(inv|wb|gl)", Kind.IDLE),
    )
)
_QUARTER_RATE = re.compile(r"v_(mul_lo_[ui]32|mul_hi_[ui]32|mad_u64_u32|mad_i64_i32|mad_co_)")
_COUNTERS = re.compile(r"(vmcnt|lgkmcnt|vscnt)\((\d+)\)")
_MATRIX = re.compile(r"v_s?mfmac?_(?:scale_)?(\w+?)_(\d+)x(\d+)x(\d+)_?(\w*)")
_REGISTERS = re.compile(r"(?<![a-z_0-9])([va])(?:(\d+)|\[(\d+):(\d+)\])")
_WRITES_FIRST = frozenset({Kind.VALU, Kind.TRANSCENDENTAL, Kind.MATRIX})
_LOADS = frozenset({Kind.LOAD, Kind.LDS_LOAD, Kind.LDS_SHUFFLE})


def cost_table(kernel: Kernel, chip: Chip) -> ctypes.Array[Cost]:
    """Returns the cost of each instruction of a kernel, in order."""
    texts = [part for row in kernel.rows for part in row.text.split(" :: ")]
    return (Cost * len(texts))(*[_cost(text, kernel, chip) for text in texts])


def _cost(text: str, kernel: Kernel, chip: Chip) -> Cost:
    statement = parse_statement(text)
    mnemonic, operands = statement.name, statement.operands
    kind = next((kind for pattern, kind in _KINDS if pattern.match(mnemonic)), Kind.SCALAR)
    cost = Cost(kind=kind, issue=1, most_loads=_NO_LIMIT, most_lds=_NO_LIMIT, most_stores=_NO_LIMIT)
    if kind in (Kind.VALU, Kind.TRANSCENDENTAL):
        cost.issue = _vector_cycles(mnemonic, kind, kernel.metadata.wave_size, chip)
    elif kind is Kind.MATRIX:
        cost.matrix = _matrix_cycles(mnemonic, chip)
        cost.matrix_latency = chip.matrix_latency
    elif kind is Kind.WAIT:
        _set_wait(cost, mnemonic, text)
    elif kind is Kind.IDLE:
        idle = mnemonic == "s_nop"
        cost.issue = int(operands[0], 0) + 1 if idle else int(mnemonic == "s_setprio")
    _set_registers(cost, kind, operands)
    return cost


def _vector_cycles(mnemonic: str, kind: Kind, wave_size: int, chip: Chip) -> int:
    cycles = int(chip.cadence) * (wave_size // chip.lanes_per_issue)
    if kind is Kind.TRANSCENDENTAL or _QUARTER_RATE.match(mnemonic):
        return 4 * cycles
    return cycles * chip.double_cycles if "_f64" in mnemonic else cycles


def _matrix_cycles(mnemonic: str, chip: Chip) -> int:
    """Returns the cycles that the matrix unit is busy: its passes take four cycles each."""
    found = _MATRIX.match(mnemonic)
    if found is None:
        return chip.wmma_cycles
    kind, rows, _, depth, tail = found.groups()
    m, k = int(rows), int(depth)
    if kind == "f64":
        return 32 if m == 16 else 16
    if m == 4:
        return 8
    if m == 16:
        return 32 if k in (1, 4) or (k == 2 and "xf32" not in tail) else 16
    return 64 if k in (1, 2, 4) and "xf32" not in tail else 32


def _set_wait(cost: Cost, mnemonic: str, text: str) -> None:
    for name, number in _COUNTERS.findall(text):
        field = {"vmcnt": "most_loads", "lgkmcnt": "most_lds", "vscnt": "most_stores"}[name]
        setattr(cost, field, int(number))
    number = text.replace(",", " ").split()[-1]
    if mnemonic == "s_waitcnt_vscnt":
        cost.most_stores = int(number, 0)
    elif re.fullmatch(r"0x0|0", number):
        cost.most_loads = cost.most_lds = 0


def _set_registers(cost: Cost, kind: Kind, operands: Sequence[str]) -> None:
    found = [_registers(operand) for operand in operands]
    if kind in _WRITES_FIRST and found and found[0] is not None:
        cost.destination = found[0]
    sources = found[1:] if kind in _WRITES_FIRST | _LOADS else found
    for position, registers in enumerate(sources[:_MOST_SOURCES]):
        if registers is not None:
            cost.sources[position] = registers


def _registers(operand: str) -> Registers | None:
    found = _REGISTERS.search(operand)
    if found is None:
        return None
    letter, single, first, last = found.groups()
    start = int(single or first)
    number = 1 if single else int(last) - start + 1
    return Registers(start + (_ACCUMULATION if letter == "a" else 0), number)
