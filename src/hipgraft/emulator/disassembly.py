"""Disassembles code objects with LLVM."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache

from hipgraft.emulator.errors import EmulatorError, MissingEmulatorError
from hipgraft.ir.environment import variable

VARIABLE = "HIPGRAFT_LLVM_OBJDUMP"
"""The environment variable that holds the path of the disassembler."""

# The first release that supports gfx12. The upper bound leaves room for later releases.
_FIRST = 18
_NAMES = (*(f"llvm-objdump-{version}" for version in range(40, _FIRST - 1, -1)), "llvm-objdump")
_PLACES = ("/opt/rocm/llvm/bin/llvm-objdump",)
_VERSION = re.compile(r"LLVM version (\d+)")
_ROW = re.compile(r"^\t(.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)")


@dataclass(frozen=True)
class Row:
    """One disassembled instruction.

    Attributes:
        address: address in the code object's image.
        text: mnemonic, operands and modifiers.
        words: the encoding as 32-bit words.
    """

    address: int
    text: str
    words: tuple[int, ...]


@cache
def disassembler() -> str:
    """Returns the path of `llvm-objdump`.

    Raises:
        MissingEmulatorError: no `llvm-objdump` that supports AMD GPUs is found.
    """
    given = variable(VARIABLE)
    for name in (given,) if given else (*_NAMES, *_PLACES):
        path = shutil.which(name)
        if path and _knows_amd_gpus(path):
            return path
    where = f"{VARIABLE}='{given}' is none" if given else "none is installed"
    raise MissingEmulatorError(
        f"the emulator needs LLVM's disassembler for AMD GPUs, llvm-objdump 18 or newer; {where}: "
        f"run `apt-get install llvm-22`, or set {VARIABLE} to its path"
    )


def _knows_amd_gpus(path: str) -> bool:
    command = [path, "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    version = _VERSION.search(text)
    return version is not None and int(version[1]) >= _FIRST and "amdgcn" in text


def disassemble(data: bytes, architecture: int) -> list[Row]:
    """Returns the instructions of a code object in the order of their addresses.

    Args:
        data: an ELF file.
        architecture: the number after `gfx`.

    Raises:
        MissingEmulatorError: there is no disassembler.
        EmulatorError: the disassembler fails.
    """
    # From gfx11 on, only this makes the text name the half of a register that an instruction uses.
    flags = ["--mattr=+real-true16"] if architecture >= 1100 else []
    with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
        file.write(data)
        file.flush()
        command = [disassembler(), "-d", *flags, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EmulatorError(f"'{command[0]}' fails: {done.stderr.strip()}")
    rows: list[Row] = []
    for line in done.stdout.splitlines():
        if match := _ROW.match(line):
            words = tuple(int(word, 16) for word in match[3].split())
            rows.append(Row(int(match[2], 16), match[1], words))
    return rows
