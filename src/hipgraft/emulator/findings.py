"""The defects, other than faults, that a checked launch reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag

from hipgraft.emulator import native
from hipgraft.emulator.errors import EmulatorError


class Check(IntFlag):
    """Kinds of findings for which a launch checks."""

    NONE = 0
    RACES = 1
    UNINITIALISED = 2
    ALIGNMENT = 4
    BARRIERS = 8
    ORDER = 16
    ALL = 31


@dataclass(frozen=True)
class _Kind:
    """The text of a kind of finding, and whether it has a memory address and another site."""

    what: str
    has_memory: bool
    other: str = ""


_KINDS = (
    _Kind("race in LDS", True, "the other is"),
    _Kind("race in global memory", True, "the other is"),
    _Kind("misaligned access", True),
    _Kind("barrier while lanes are off", False),
    _Kind("waves wait at different barriers", False, "the other is"),
    _Kind("store of an uninitialised value", True, "it comes from"),
    _Kind("address that depends on an uninitialised value", True, "it comes from"),
    _Kind("control flow that depends on an uninitialised value", False, "it comes from"),
    _Kind("result that depends on the order of waves", True),
)


@dataclass(frozen=True)
class Site:
    """The place in a launch where a defect occurred.

    Attributes:
        instruction: address of the instruction in the code object.
        text: text of the instruction.
        workgroup: number of the workgroup, x first.
        wave: number of the wave in the workgroup.
        source: file and line, such as `add.cpp:12`; '' if the code object has no line table.
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
        kind: kind of defect, in words.
        site: where it was detected.
        other: the earlier access, the other barrier, or the instruction that first read
            uninitialised data.
        relation: words that introduce `other`.
        lane: lane of the wave.
        address: accessed address in memory or in LDS; None for barriers.
        size: bytes accessed.
    """

    kernel: str
    kind: str
    site: Site
    other: Site | None
    lane: int
    address: int | None
    size: int
    relation: str = ""

    def __str__(self) -> str:
        text = f"kernel '{self.kernel}': {self.kind}: {self.site}, lane {self.lane}"
        if self.address is not None:
            unit = "byte" if self.size == 1 else "bytes"
            text += f", address 0x{self.address:x}, {self.size} {unit}"
        return f"{text}; {self.relation} {self.other}" if self.other else text


def describe(found: native.Finding, kernel: str, site: Callable[[int, int, int], Site]) -> Finding:
    """Describes a finding of the core in words.

    Args:
        found: the finding as the core reports it.
        kernel: symbol.
        site: builds a site from the instruction's address, the workgroup and the wave.
    """
    kind, other = _KINDS[int(found.kind)], None
    if kind.other and found.other_instruction:
        other = site(found.other_instruction, found.other_workgroup, found.other_wave)
    return Finding(
        kernel=kernel,
        kind=kind.what,
        site=site(found.instruction, found.workgroup, found.wave),
        other=other,
        lane=found.lane,
        address=found.address if kind.has_memory else None,
        size=found.size,
        relation=kind.other,
    )


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
