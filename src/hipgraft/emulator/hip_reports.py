"""Describes the findings and faults of launches of emulated programs in words.

The emulated `libamdhip64` writes a file for each such launch; `hip/reports.h` defines its format.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipgraft.emulator import native
from hipgraft.emulator.disassembly import Row
from hipgraft.emulator.hip_module import read_decoded
from hipgraft.emulator.sites import Described, describe_fault, describe_findings
from hipgraft.ir.diagnostics import HipgraftError

_MOST_FINDINGS, _FAULT_BYTES, _NAME_BYTES = 64, 1024, 4096


class _Report(ctypes.Structure):
    _fields_ = (
        ("decoded", ctypes.c_char * _NAME_BYTES),
        ("kernel", ctypes.c_char * _NAME_BYTES),
        ("fault", ctypes.c_char * _FAULT_BYTES),
        ("findings", native.Finding * _MOST_FINDINGS),
    )


class Reports:
    """The reports in a folder.

    Args:
        folder: folder that programs write reports to.
        architecture: architecture of the GPUs.

    Attributes:
        faults: number of faults reported so far.
        findings: number of findings reported so far, each counted once per kernel.
    """

    def __init__(self, folder: Path, architecture: str):
        self.faults = self.findings = 0
        self._folder = folder
        self._told: set[tuple[object, ...]] = set()
        self._architecture = architecture
        self._kernels: dict[tuple[bytes, bytes], Described] = {}

    def news(self, *, ended: bool = False) -> Iterator[str]:
        """Yields a line for each fault and finding that was not reported yet.

        Args:
            ended: whether the programs have ended, so that no launch is still running.
        """
        finished = sorted(self._folder.glob("report-*"), key=lambda one: one.stat().st_mtime_ns)
        for path in [*finished, *(sorted(self._folder.glob("launch-*")) if ended else ())]:
            data = path.read_bytes()
            path.unlink()
            # A program that was killed may have left an incomplete file.
            if len(data) == ctypes.sizeof(_Report):
                yield from self._describe(_Report.from_buffer_copy(data))

    def _describe(self, report: _Report) -> Iterator[str]:
        kernel = self._kernel(report)
        found = [one for one in report.findings if one.kind or one.size]
        for one, finding in zip(found, describe_findings(kernel, found), strict=True):
            places = frozenset((one.instruction, one.other_instruction))
            key = (report.decoded, report.kernel, one.kind, places)
            if key not in self._told:
                self._told.add(key)
                self.findings += 1
                yield f"error: {finding}"
        if report.fault:
            self.faults += 1
            yield f"error: {describe_fault(kernel, report.fault.decode())}"

    def _kernel(self, report: _Report) -> Described:
        key = report.decoded, report.kernel
        if key not in self._kernels:
            name = report.kernel.decode()
            try:
                code = read_decoded(Path(report.decoded.decode()).read_bytes(), self._architecture)
                self._kernels[key] = code.kernel(name)
            except (OSError, HipgraftError):
                # The cache has evicted the decoded file.
                self._kernels[key] = _Unread(name)
        return self._kernels[key]


@dataclass(frozen=True)
class _Unread:
    """A kernel about which only its name is known."""

    name: str
    rows: Sequence[Row] = ()

    def source(self, address: int) -> str:
        del address
        return ""
