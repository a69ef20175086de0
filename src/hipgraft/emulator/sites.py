"""Describes the core's findings and faults in words, with their instructions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from hipgraft.emulator import native
from hipgraft.emulator.disassembly import Row
from hipgraft.emulator.findings import Finding, Site, describe

_AT = re.compile(r"(?<=, at )0x([0-9a-f]+)(?= in wave \d+ of workgroup \([^()]*\)$)")


class Described(Protocol):
    """The properties of a kernel that descriptions use; see `Kernel`."""

    @property
    def name(self) -> str:
        """The symbol of the kernel."""
        ...

    @property
    def rows(self) -> Sequence[Row]:
        """The disassembled instructions."""
        ...

    def source(self, address: int) -> str:
        """Returns the source file and line of the instruction at an address; '' if unknown."""
        ...


def describe_fault(kernel: Described, text: str) -> str:
    """Returns the message of a fault: the kernel, the core's text, and the source line."""

    def located(match: re.Match[str]) -> str:
        source = kernel.source(int(match[1], 16))
        return f"{match[0]} ({source})" if source else match[0]

    return f"kernel '{kernel.name}': {_AT.sub(located, text)}"


def describe_findings(kernel: Described, found: Sequence[native.Finding]) -> tuple[Finding, ...]:
    """Returns the core's findings in a kernel, with the texts of the instructions."""
    if not found:
        return ()
    texts = {row.address: row.text for row in kernel.rows}

    def site(address: int, workgroup: int, wave: int) -> Site:
        return Site(address, texts.get(address, ""), workgroup, wave, kernel.source(address))

    return tuple(describe(one, kernel.name, site) for one in found)
