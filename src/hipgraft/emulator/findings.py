"""Findings of a checked launch, besides faults."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from hipgraft.emulator.errors import EmulatorError


class Check(IntFlag):
    """Kinds of findings for which a launch checks."""

    NONE = 0
    RACES = 1
    UNINITIALISED = 2
    ALIGNMENT = 4
    BARRIERS = 8
    ALL = 15


_WHAT = (
    "race in LDS",
    "race in global memory",
    "read of uninitialised LDS",
    "misaligned access",
    "barrier while lanes are off",
    "waves wait at different barriers",
)
_HAS_OTHER = (0, 1, 5)
_HAS_MEMORY = (0, 1, 2, 3)


@dataclass(frozen=True)
class Site:
    """Where something happened.

    Attributes:
        instruction: address in the code object.
        text: the instruction.
        workgroup: number of the workgroup, x first.
        wave: number of the wave in it.
        source: file and line, such as `add.cpp:12`; '' where the code object does not tell.
    """

    instruction: int
    text: str
    workgroup: int
    wave: int
    source: str = ""

    def __str__(self) -> str:
        place = f"0x{self.instruction:x}" + (f" ({self.source})" if self.source else "")
        return f"'{self.text}' at {place} in wave {self.wave} of workgroup {self.workgroup}"


@dataclass(frozen=True)
class Finding:
    """One defect of a kernel.

    Attributes:
        kernel: symbol.
        kind: what it is, in words.
        site: where it was noticed.
        other: the access before, or the other barrier.
        lane: of the wave.
        address: of the memory, or in LDS; None for barriers.
        size: bytes accessed.
    """

    kernel: str
    kind: str
    site: Site
    other: Site | None
    lane: int
    address: int | None
    size: int

    def __str__(self) -> str:
        text = f"kernel '{self.kernel}': {self.kind}: {self.site}, lane {self.lane}"
        if self.address is not None:
            text += f", address 0x{self.address:x}, {self.size} bytes"
        return f"{text}; the other is {self.other}" if self.other else text


def describe_kind(number: int) -> str:
    """Returns what a kind of findings is, in words."""
    return _WHAT[number]


def has_other_site(number: int) -> bool:
    """Whether findings of a kind have a second site."""
    return number in _HAS_OTHER


def has_memory(number: int) -> bool:
    """Whether findings of a kind are about an address."""
    return number in _HAS_MEMORY


def parse_checks(text: str) -> Check:
    """Returns the checks that a comma-separated list names.

    Raises:
        EmulatorError: a name is unknown.
    """
    known = {each.name.lower(): each for each in (*Check, Check.ALL) if each.name}
    checks = Check.NONE
    for name in text.split(",") if text else ():
        if name not in known:
            raise EmulatorError(f"expected checks of {', '.join(known)}, found '{name}'")
        checks |= known[name]
    return checks
