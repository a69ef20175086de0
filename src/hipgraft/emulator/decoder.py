"""Decodes disassembled instructions into the structures that the core executes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hipgraft.emulator.disassembly import Row
from hipgraft.emulator.errors import UnknownInstructionError
from hipgraft.emulator.memory_decoder import decode_memory
from hipgraft.emulator.native import (
    CONSTANT,
    FLAG_DPP,
    FLAG_DUAL_FIRST,
    FLAG_DUAL_SECOND,
    VECTOR,
    Destination,
    Instruction,
    Operation,
    Source,
    core,
)
from hipgraft.emulator.operands import PARTS, parse_register, parse_source
from hipgraft.emulator.syntax import Statement, parse_statement

_GFX10 = 1000
_KEEP = 2  # `Destination.unused`: the rest of the register is preserved
_UNUSED = {"UNUSED_PAD": 0, "UNUSED_SEXT": 1, "UNUSED_PRESERVE": _KEEP}

# Before gfx10, most operations with 16-bit results clear the upper half; these preserve it.
_KEEPS_UPPER_HALF = re.compile(
    r"v_(fmac|fmaak|fmamk|mac|madak|madmk|fma|mad|div_fixup)_f16|v_mad_[ui]16"
    r"|v_(med3|max3|min3)_[fiu]16|v_cvt_(pk|sr)_(fp8|bf8)_f32|v_cvt_scalef32_(pk|sr)_\w+"
)
_CLAMPS_INTEGERS = re.compile(
    r"v_(add|sub|subrev)(_nc|_co|_co_ci)?_[ui](32|16)|v_dot\w+|v_pk_(add|sub)_[ui]16|v_mad_\w+"
    r"|v_wmma_i32\w*|v_swmmac_i32\w*|v_fma_mix\w*"
)
_PACKED = re.compile(r"v_(pk_|dot2_|dot4_|dot8_|s?wmma|fma_mix|mad_mix|mfma_scale)\w*")

# DPP controls that take a number, and those that do not.
_DPP_NUMBERED = {
    "row_shl": 2,
    "row_shr": 3,
    "row_ror": 4,
    "row_share": 9,
    "row_newbcast": 9,
    "row_xmask": 10,
}
_DPP_PLAIN = {
    "row_mirror": 5,
    "row_half_mirror": 6,
    "wave_shl": 12,
    "wave_rol": 13,
    "wave_shr": 14,
    "wave_ror": 15,
}
_DPP_BROADCAST = {"15": 7, "31": 8}
_OUTPUT_MULTIPLIERS = {"2": 1, "4": 2}


class Decoder:
    """Decodes the instructions of kernels.

    Args:
        architecture: the number after `gfx`.
        wave_size: lanes of a wave.
    """

    def __init__(self, architecture: int, wave_size: int):
        self._rdna = architecture >= _GFX10
        self._wave_size = wave_size
        self._operations: Mapping[str, Operation] = core().operations

    def decode_kernel(self, rows: Sequence[Row]) -> list[Instruction]:
        """Returns a kernel's instructions with resolved branches.

        Raises:
            UnknownInstructionError: instructions are unknown; the message names each mnemonic
                once, with its first address.
        """
        decoded: list[Instruction] = []
        places: dict[int, int] = {}
        branches: list[tuple[Instruction, int]] = []
        unknown: dict[str, str] = {}
        for row in rows:
            places[row.address] = len(decoded)
            try:
                decoded += self._decode_row(row, len(decoded), branches)
            except (ValueError, KeyError, IndexError) as error:
                unknown.setdefault(
                    row.text.split()[0], f"'{row.text}' at 0x{row.address:x}: {error}"
                )
        if unknown:
            raise UnknownInstructionError("unknown instructions: " + "; ".join(unknown.values()))
        for instruction, address in branches:
            instruction.target = places.get(address, -1)
        return decoded

    def _decode_row(
        self, row: Row, index: int, branches: list[tuple[Instruction, int]]
    ) -> list[Instruction]:
        texts = row.text.split(" :: ")
        instructions = [self._decode(parse_statement(text), row) for text in texts]
        if len(instructions) == 2:
            instructions[0].flags |= FLAG_DUAL_FIRST
            instructions[1].flags |= FLAG_DUAL_SECOND
            instructions[0].next = index + 1
        elif self._operation(parse_statement(row.text)).sources == "BR":
            offset = _signed16(row.words[0])
            branches.append((instructions[0], row.address + 4 + 4 * offset))
        return instructions

    def _operation(self, statement: Statement) -> Operation:
        if statement.name not in self._operations:
            raise ValueError("no such operation")
        return self._operations[statement.name]

    def _decode(self, statement: Statement, row: Row) -> Instruction:
        operation = self._operation(statement)
        instruction = Instruction(
            operation=operation.number,
            address=row.address,
            target=-1,
            row_mask=15,
            bank_mask=15,
            scalar_base=-1,
            is_vector=statement.name.startswith("v_") and not statement.name.startswith("v_read"),
        )
        if operation.destinations == "@":
            self._decode_own_form(instruction, operation.sources, statement, row)
        else:
            self._decode_operands(instruction, operation, statement)
        if statement.modifiers:
            left = " ".join(statement.modifiers)
            raise ValueError(f"unknown modifiers {left}")
        return instruction

    def _decode_own_form(
        self, instruction: Instruction, form: str, statement: Statement, row: Row
    ) -> None:
        word = row.words[0]
        match form:
            case "NOP" | "BR":
                statement.modifiers.clear()
            case "IMM":
                statement.modifiers.clear()
                instruction.immediate = word & 0xFFFF
            case "SETREG":
                statement.modifiers.clear()
                instruction.immediate, instruction.immediate2 = word & 0xFFFF, row.words[1]
            case "SETREGR" | "GETREG":
                statement.modifiers.clear()
                instruction.immediate = word & 0xFFFF
                register = parse_register(statement.operands[-1 if form == "SETREGR" else 0])
                assert register is not None
                instruction.s[0] = Source(kind=register.kind, index=register.index, count=1)
                instruction.d[0] = Destination(kind=register.kind, index=register.index, count=1)
            case "GPRIDX":
                statement.modifiers.clear()
                instruction.immediate = word >> 8 & 0xFF
                instruction.s[0] = parse_source(statement.operands[0], "w")
            case _:
                decode_memory(instruction, form, statement, word)

    def _decode_operands(
        self, instruction: Instruction, operation: Operation, statement: Statement
    ) -> None:
        name, texts = statement.name, list(statement.operands)
        destinations, sources = operation.destinations, operation.sources
        self._take_packed_modifiers(instruction, statement)
        count = len(destinations)
        if destinations == "m" and len(texts) == len(sources):
            count = 0  # v_cmpx of gfx10 and later writes EXEC only
        vcc = "vcc_lo" if self._wave_size == 32 else "vcc"
        if name.startswith("v_cndmask_") and len(texts) == 3:
            texts.append(vcc)
        if name.startswith("v_div_fmas_") and len(texts) == 5:
            texts.pop()
        if len(texts) != count + len(sources):
            raise ValueError(f"expected {count + len(sources)} operands, found {len(texts)}")
        for number in range(count):
            instruction.d[number] = self._destination(texts[number], destinations[number], name)
        for number, kind in enumerate(sources):
            text = texts[count + number]
            instruction.s[number] = self._source(instruction, text, kind, number, name)
        self._convert_signs(instruction, name)
        self._take_modifiers(instruction, operation, statement)

    @staticmethod
    def _convert_signs(instruction: Instruction, name: str) -> None:
        """Converts the sign modifiers of operands to the form that the core expects."""
        if "_mix" in name:
            # Mixed-precision operations encode negation in neg_lo and the absolute value in neg_hi.
            for number in range(3):
                source = instruction.s[number]
                instruction.neg_lo |= source.negate << number
                instruction.neg_hi |= source.absolute << number
                source.negate = source.absolute = 0
        if name.startswith("v_pk_") and any(one.negate or one.absolute for one in instruction.s):
            raise ValueError("a sign on a packed operand")

    def _destination(self, text: str, kind: str, name: str) -> Destination:
        register = parse_register(text)
        if register is None:
            raise ValueError(f"'{text}' is no register")
        destination = Destination(kind=register.kind, index=register.index, count=register.count)
        if register.half:
            destination.part = PARTS["WORD_1" if register.half == "h" else "WORD_0"]
            destination.unused = _KEEP
        elif register.kind == VECTOR and kind in "sh" and self._keeps_upper_half(name):
            destination.part, destination.unused = PARTS["WORD_0"], _KEEP
        return destination

    def _keeps_upper_half(self, name: str) -> bool:
        return self._rdna or _KEEPS_UPPER_HALF.fullmatch(name) is not None

    def _source(
        self, instruction: Instruction, text: str, kind: str, number: int, name: str
    ) -> Source:
        if kind == "i":
            value = int(text, 0) & 0xFFFF
            # Only unsigned compares zero-extend their immediate.
            if not re.fullmatch(r"s_cmpk_\w+_u32", name):
                value = _signed16(value)
            return Source(kind=CONSTANT, low=value & 0xFFFFFFFF)
        if kind == "*":
            kind = _matrix_constant(name)
        high = bool(instruction.op_sel_hi >> number & 1)
        return parse_source(text, kind, high=high, signed=name.endswith("_i64"))

    def _take_packed_modifiers(self, instruction: Instruction, statement: Statement) -> None:
        name = statement.name
        if name.startswith(("v_pk_", "v_dot2_")):
            instruction.op_sel_hi = 7
        if _PACKED.fullmatch(name) or name.startswith("v_permlane"):
            instruction.op_sel = _bits(statement.take("op_sel", "[0]"))
        hi = statement.take("op_sel_hi")
        if hi:
            instruction.op_sel_hi = _bits(hi)
        instruction.neg_lo = _bits(statement.take("neg_lo", "[0]"))
        instruction.neg_hi = _bits(statement.take("neg_hi", "[0]"))

    def _take_modifiers(
        self, instruction: Instruction, operation: Operation, statement: Statement
    ) -> None:
        self._take_parts(instruction, operation, statement)
        if statement.dpp or "dpp8" in statement.modifiers:
            _take_dpp(instruction, operation.sources, statement)
        if statement.flag("clamp"):
            name = statement.name
            if operation.destinations[0] not in "fhdPF" and not _CLAMPS_INTEGERS.fullmatch(name):
                raise ValueError("unknown clamp")
            instruction.clamp = 1
        multiplier, divisor = statement.take("mul"), statement.take("div")
        if multiplier:
            instruction.output_modifier = _OUTPUT_MULTIPLIERS[multiplier]
        if divisor:
            instruction.output_modifier = 3
        if statement.name.startswith(("v_mfma", "v_smfmac", "v_swmmac")):
            _take_matrix_modifiers(instruction, statement)
        else:
            instruction.immediate = int(statement.take("bitop3", "0"), 0)
        if operation.destinations == "m":
            instruction.immediate2 = int(statement.name.startswith("v_cmpx"))

    @staticmethod
    def _take_parts(instruction: Instruction, operation: Operation, statement: Statement) -> None:
        """Sets the parts of registers that SDWA, `op_sel` and `byte_sel` select."""
        selected = _list(statement.take("op_sel", "[]"))
        sources = operation.sources
        for number, bit in enumerate(selected):
            if not bit:
                continue
            last = number == len(selected) - 1 and len(selected) > len(sources)
            if last or number >= len(sources):
                if operation.destinations[0] not in "sh":
                    raise ValueError("op_sel on a result of 32 bits")
                instruction.d[0].part, instruction.d[0].unused = PARTS["WORD_1"], _KEEP
            elif sources[number] in "sh" or statement.name.startswith("v_cvt_pk_f32_"):
                instruction.s[number].part = PARTS["WORD_1"]
            else:
                raise ValueError("op_sel on an operand of 32 bits")
        unused = _UNUSED[statement.take("dst_unused", "UNUSED_PAD")]
        part = statement.take("dst_sel")
        if part:
            instruction.d[0].part = PARTS[part]
            instruction.d[0].unused = unused if PARTS[part] else 0
        for number in range(2):
            part = statement.take(f"src{number}_sel")
            if part:
                instruction.s[number].part = PARTS[part]
        byte = statement.take("byte_sel")
        if byte:
            instruction.s[0].part = PARTS["BYTE_0"] + int(byte)


def _signed16(value: int) -> int:
    value &= 0xFFFF
    return value - ((value & 0x8000) << 1)


def _list(text: str) -> list[int]:
    return [int(one) for one in text.strip("[]").split(",") if one]


def _bits(text: str) -> int:
    return sum(bit << number for number, bit in enumerate(_list(text)))


def _matrix_constant(name: str) -> str:
    """Returns the type letter of a matrix operation's constant addend."""
    if name.startswith("v_mfma_f64"):
        return "d"
    if name.startswith(("v_wmma_f16_", "v_wmma_bf16_")):
        return "h"
    return "f"


def _take_dpp(instruction: Instruction, sources: str, statement: Statement) -> None:
    if sources[:1] in ("q", "d", "F"):
        raise ValueError("DPP on an operand of 64 bits")
    instruction.flags |= FLAG_DPP
    modifiers = statement.modifiers
    if quad := statement.take("quad_perm"):
        instruction.dpp_kind = 1
        instruction.dpp_control = sum(lane << 2 * n for n, lane in enumerate(_list(quad)))
    elif lanes := statement.take("dpp8"):
        instruction.dpp_kind = 11
        instruction.dpp_control = sum(lane << 3 * n for n, lane in enumerate(_list(lanes)))
    elif broadcast := statement.take("row_bcast"):
        instruction.dpp_kind = _DPP_BROADCAST[broadcast]
    elif plain := next((one for one in _DPP_PLAIN if one in modifiers), None):
        statement.flag(plain)
        instruction.dpp_kind = _DPP_PLAIN[plain]
    elif numbered := next((one for one in _DPP_NUMBERED if one in modifiers), None):
        instruction.dpp_kind = _DPP_NUMBERED[numbered]
        instruction.dpp_control = int(statement.take(numbered))
    else:
        raise ValueError("unknown DPP control")
    instruction.row_mask = int(statement.take("row_mask", "15"), 0)
    instruction.bank_mask = int(statement.take("bank_mask", "15"), 0)
    instruction.bound_control = int(statement.take("bound_ctrl", "0"))
    instruction.fetch_inactive = int(statement.take("fi", "0"))


def _take_matrix_modifiers(instruction: Instruction, statement: Statement) -> None:
    cbsz, abid = int(statement.take("cbsz", "0")), int(statement.take("abid", "0"))
    blgp = int(statement.take("blgp", "0"))
    negated = _bits(statement.take("neg", "[0]"))
    if negated and not statement.name.startswith("v_mfma_f64"):
        raise ValueError("unknown negation")
    if "f8f6f4" in statement.name:
        instruction.immediate, instruction.immediate2 = cbsz, blgp
    elif statement.name.startswith("v_swmmac"):
        instruction.immediate = int(statement.take("index_key", "0"))
    else:
        instruction.immediate = cbsz | abid << 4 | (blgp or negated) << 8
