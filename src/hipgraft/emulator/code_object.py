"""Code objects in memory, ready to run: image, kernel descriptors, decoded kernels."""

from __future__ import annotations

import ctypes
import hashlib
import io
import re
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from elftools.elf.elffile import ELFFile  # pyright: ignore[reportMissingTypeStubs]

from hipgraft.emulator.decoded_cache import decoded_instructions
from hipgraft.emulator.decoder import Decoder
from hipgraft.emulator.disassembly import Row, disassemble
from hipgraft.emulator.errors import EmulatorError
from hipgraft.emulator.native import Instruction, core
from hipgraft.emulator.source_lines import SourceLines

_MAGIC = b"\x7fELF"
_AMDGPU_NOTE = 32
_WRITABLE = 2  # PF_W
# Kernel descriptor: sizes of LDS, scratch and kernarg; entry offset at byte 16; from byte 44, three
# resource words, properties, preload. Source: LLVM's AMDGPU usage guide, "Kernel Descriptor".
_ENTRY = struct.Struct("<q")
_RESOURCES = struct.Struct("<III")
_PROPERTIES = struct.Struct("<HH")

_METADATA: dict[str, str] = {
    "arguments": ".args",
    "kernarg_size": ".kernarg_segment_size",
    "lds_bytes": ".group_segment_fixed_size",
    "most_items": ".max_flat_workgroup_size",
    "name": ".name",
    "required_block": ".reqd_workgroup_size",
    "scalar_registers": ".sgpr_count",
    "scratch_bytes": ".private_segment_fixed_size",
    "symbol": ".symbol",
    "uses_dynamic_stack": ".uses_dynamic_stack",
    "wave_size": ".wavefront_size",
}


class Argument(
    msgspec.Struct,
    rename={
        "kind": ".value_kind",
        "offset": ".offset",
        "size": ".size",
        "access": ".actual_access",
    },
    frozen=True,
):
    """One kernel argument, explicit or hidden; offset and size are in bytes.

    `access` is `read_only` where the compiler found that the kernel only reads.
    """

    kind: str
    offset: int
    size: int
    access: str = ""

    @property
    def hidden(self) -> bool:
        """Whether the runtime passes the argument, not the caller."""
        return self.kind.startswith("hidden_")


class Metadata(msgspec.Struct, rename=_METADATA, frozen=True):
    """A kernel's entry in the code object's metadata; sizes are in bytes."""

    name: str
    symbol: str
    kernarg_size: int
    lds_bytes: int
    scratch_bytes: int
    wave_size: int
    required_block: tuple[int, int, int] | None = None
    uses_dynamic_stack: bool = False
    most_items: int = 0
    scalar_registers: int = 0
    arguments: tuple[Argument, ...] = ()


class _Note(
    msgspec.Struct, rename={"target": "amdhsa.target", "kernels": "amdhsa.kernels"}, frozen=True
):
    target: str
    kernels: tuple[Metadata, ...]


@dataclass(frozen=True)
class Descriptor:
    """A kernel's descriptor, which the hardware reads.

    Attributes:
        entry: address of the first instruction in the image.
        resources: the words COMPUTE_PGM_RSRC1 and 2.
        properties: bits that enable user registers.
        preload_length: number of argument words that are preloaded into user registers.
        preload_offset: offset of the first preloaded word in the kernarg segment, in words.
    """

    entry: int
    resources: tuple[int, int]
    properties: int
    preload_length: int
    preload_offset: int


class Kernel:
    """A kernel of a code object.

    Attributes:
        name: symbol of the kernel.
        metadata: entry of the kernel in the code object's metadata.
        descriptor: descriptor of the kernel.
    """

    def __init__(
        self, code: CodeObject, metadata: Metadata, descriptor: Descriptor, extent: tuple[int, int]
    ):
        self.name = metadata.name
        self.metadata = metadata
        self.descriptor = descriptor
        self._code = code
        self._extent = extent

    @property
    def rows(self) -> list[Row]:
        """The disassembled instructions."""
        low, high = self._extent
        rows = [row for row in self._code.rows if low <= row.address < high]
        if not rows:
            raise EmulatorError(f"kernel '{self.name}' has no instructions")
        return rows

    @cached_property
    def instructions(self) -> ctypes.Array[Instruction]:
        """The decoded instructions."""
        decoder = Decoder(self._code.number, self.metadata.wave_size)
        return decoded_instructions(
            self._code.digest, self.name, lambda: decoder.decode_kernel(self.rows)
        )

    @cached_property
    def machine(self) -> int:
        """The address of the core's representation of the kernel."""
        count = len(self.instructions)
        return core().library.emulator_new(self.instructions, count, self._code.number)

    def source(self, address: int) -> str:
        """Returns the source file and line of the instruction at an address; '' if unknown."""
        return self._code.lines.find(address)

    def index_of(self, address: int) -> int:
        """Returns the index of the instruction at an address; -1 if there is none."""
        addresses = [one.address for one in self.instructions]
        return addresses.index(address) if address in addresses else -1

    def __del__(self):
        if "machine" in self.__dict__:
            core().library.emulator_free(self.machine)


class CodeObject:
    """A loaded AMDGPU ELF file.

    Args:
        data: the file, or a container that holds it.

    Attributes:
        data: the ELF file.
        architecture: e.g. `gfx942`, without feature suffixes.
        number: the architecture's number; 90 for gfx90a.
        digest: SHA-256 of the file.
        kernels: kernels by symbol.
        variables: address in the image and size in bytes of each variable, by symbol.
        segments: loaded address ranges of the image, and whether kernels may write to them.

    Raises:
        EmulatorError: `data` is not a code object that can be loaded.
    """

    def __init__(self, data: bytes):
        start = data.find(_MAGIC)
        if start < 0:
            raise EmulatorError("expected a code object, found no ELF file")
        self.data = data[start:]
        self.digest = hashlib.sha256(self.data).hexdigest()
        # pyelftools has no types.
        elf = cast(Any, ELFFile)(io.BytesIO(self.data))
        segments = [one for one in elf.iter_segments() if one["p_type"] == "PT_LOAD"]
        self.size: int = max(one["p_vaddr"] + one["p_memsz"] for one in segments)
        self._image = np.zeros(self.size, np.uint8)
        for segment in segments:
            content = np.frombuffer(segment.data(), np.uint8)
            self._image[segment["p_vaddr"] :][: content.size] = content
        if any(
            one["sh_type"] in ("SHT_RELA", "SHT_REL") and one.num_relocations()
            for one in elf.iter_sections()
        ):
            raise EmulatorError("unsupported relocations in the code object")
        note = _read_note(elf)
        self.architecture = note.target.split(":")[0].rsplit("-", 1)[-1]
        self.number = architecture_number(self.architecture)
        symbols = _symbols(elf)
        self.variables = _symbols(elf, "STT_OBJECT")
        for metadata in note.kernels:
            self.variables.pop(metadata.symbol, None)
        self.segments = [
            (one["p_vaddr"], one["p_vaddr"] + one["p_memsz"], bool(one["p_flags"] & _WRITABLE))
            for one in segments
        ]
        self.kernels: dict[str, Kernel] = {}
        for metadata in note.kernels:
            descriptor = self._descriptor(symbols[metadata.symbol][0])
            low, size = symbols[metadata.name]
            self.kernels[metadata.name] = Kernel(self, metadata, descriptor, (low, low + size))

    @staticmethod
    def read(path: str | Path) -> CodeObject:
        """Loads a code object from a file.

        Raises:
            EmulatorError: the file cannot be read, or is not a code object.
        """
        try:
            return CodeObject(Path(path).read_bytes())
        except OSError as error:
            raise EmulatorError(f"'{path}' cannot be read: {error.strerror}") from error

    @property
    def image(self) -> bytes:
        """The bytes of the loaded segments before any kernel has run."""
        return self._image.tobytes()

    @property
    def base(self) -> int:
        """The address of the image."""
        return int(self._image.ctypes.data)

    @cached_property
    def rows(self) -> list[Row]:
        """The disassembled instructions of all kernels."""
        return disassemble(self.data, self.number)

    @cached_property
    def lines(self) -> SourceLines:
        """The source lines of the instructions."""
        return SourceLines(self.data)

    def kernel(self, name: str) -> Kernel:
        """Returns a kernel by its symbol.

        Raises:
            EmulatorError: there is none.
        """
        if name not in self.kernels:
            known = ", ".join(f"'{each}'" for each in sorted(self.kernels))
            raise EmulatorError(f"no kernel '{name}'; the code object has {known}")
        return self.kernels[name]

    def _descriptor(self, place: int) -> Descriptor:
        data = self._image[place : place + 64].tobytes()
        (entry,) = _ENTRY.unpack_from(data, 16)
        _, resource1, resource2 = _RESOURCES.unpack_from(data, 44)
        properties, preload = _PROPERTIES.unpack_from(data, 56)
        return Descriptor(
            place + entry, (resource1, resource2), properties, preload & 127, preload >> 7
        )


def architecture_number(architecture: str) -> int:
    """Returns the number after `gfx`; 90 for gfx90a.

    Raises:
        EmulatorError: there is none.
    """
    digits = re.match(r"gfx(\d+)", architecture)
    if digits is None:
        raise EmulatorError(f"unknown architecture '{architecture}'")
    return int(digits[1])


def _read_note(elf: Any) -> _Note:
    for segment in elf.iter_segments():
        if segment["p_type"] != "PT_NOTE":
            continue
        for note in segment.iter_notes():
            if note["n_name"] == "AMDGPU":
                try:
                    return msgspec.msgpack.decode(note["n_desc"], type=_Note)
                except msgspec.MsgspecError as error:
                    raise EmulatorError(f"malformed metadata in the code object: {error}") from None
    raise EmulatorError("the code object has no AMDGPU metadata note")


def _symbols(elf: Any, kind: str = "") -> dict[str, tuple[int, int]]:
    """Returns addresses and sizes by name, of all symbols or of one kind."""
    found: dict[str, tuple[int, int]] = {}
    for section in (".dynsym", ".symtab"):
        table = elf.get_section_by_name(section)
        for symbol in table.iter_symbols() if table else ():
            if symbol.name and kind in ("", symbol["st_info"]["type"]):
                found[symbol.name] = (symbol["st_value"], symbol["st_size"])
    return found
