"""Launches kernels on host memory."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from math import prod

from hipgraft.emulator import native
from hipgraft.emulator.code_object import CodeObject
from hipgraft.emulator.errors import ExecutionError
from hipgraft.emulator.findings import Check, Finding
from hipgraft.emulator.launch_layout import KernelArgument, Prepared, prepare
from hipgraft.emulator.native import Statistics, core
from hipgraft.emulator.sites import describe_fault, describe_findings

ERROR_BYTES = 1024
"""The size of the buffer for the text of a fault, in bytes."""
_MOST_FINDINGS = 64


class Order(IntEnum):
    """The order in which the waves of a workgroup run between barriers."""

    FORWARD = 0
    REVERSE = 1
    RANDOM = 2


@dataclass(frozen=True)
class Counts:
    """Counts and findings of a launch.

    Attributes:
        kernel: symbol of the kernel.
        instructions: number of wave instructions executed.
        bytes_loaded: bytes that lanes requested.
        bytes_stored: bytes that lanes wrote.
        loads_out_of_bounds: lanes that loaded outside of a buffer resource, which returns zeros.
        stores_out_of_bounds: lanes that stored outside of a buffer resource, which drops the store.
        partly_out_of_bounds: out-of-bounds loads and stores that were partly inside of the
            resource.
        barriers: barriers that all workgroups executed.
        workgroups: number of workgroups that ran.
        of_workgroups: number of workgroups of the launch. If it exceeds `workgroups`, the counts
            are of a sample, and memory holds results of the sample only.
        seconds: run time on this machine.
        findings: defects that the checks found.
    """

    kernel: str
    instructions: int
    bytes_loaded: int
    bytes_stored: int
    loads_out_of_bounds: int
    stores_out_of_bounds: int
    partly_out_of_bounds: int
    barriers: int
    workgroups: int
    of_workgroups: int
    seconds: float
    findings: tuple[Finding, ...] = ()

    @property
    def scale(self) -> float:
        """The factor from the sample's counts to an estimate for the launch."""
        return self.of_workgroups / self.workgroups

    def __str__(self) -> str:
        lines = [f"kernel {self.kernel}: {self.workgroups} of {self.of_workgroups} workgroups"]
        estimated = "estimated from the sample " if self.workgroups < self.of_workgroups else ""
        for name in ("instructions", "bytes_loaded", "bytes_stored", "barriers"):
            number = round(getattr(self, name) * self.scale)
            lines.append(f"  {name.replace('_', ' ')} {estimated}{number}")
        lines.append(
            f"  loads and stores out of bounds of a buffer resource "
            f"{self.loads_out_of_bounds} {self.stores_out_of_bounds}"
        )
        lines.append(f"  seconds {self.seconds:.3f}")
        return "\n".join(lines)


def launch(
    code: CodeObject,
    name: str,
    grid: Sequence[int],
    block: Sequence[int] | None,
    arguments: Iterable[KernelArgument],
    *,
    dynamic_lds: int = 0,
    every: int = 1,
    order: Order = Order.FORWARD,
    seed: int = 1,
    preload: bool = True,
    garbage: bool = True,
    threads: int | None = None,
    read_only: bool = True,
    check: Check = Check.NONE,
) -> Counts:
    """Runs a kernel. Array arguments are device memory, which stores change.

    Args:
        code: the code object.
        name: symbol of the kernel.
        grid: workgroups, up to three extents.
        block: work items of a workgroup, up to three extents; None uses the kernel's required size.
        arguments: the explicit arguments in order. A kernel may access each array from its start to
            its end, and no other memory. Only `TrackedArray`s can have uninitialised bytes.
        dynamic_lds: bytes of LDS besides the kernel's own.
        every: n, to run only every n-th workgroup as a sample.
        order: order of the waves of a workgroup.
        seed: seed of a random order and of garbage.
        preload: whether the firmware loads arguments into registers where a kernel allows it.
        garbage: whether registers, LDS and scratch start as garbage instead of zeros.
        threads: number of threads that run workgroups; one per processor by default.
        read_only: whether stores through pointers that the compiler marked as read-only are errors.
        check: kinds of defects to check for; a checked launch runs on one thread.

    Raises:
        EmulatorError: arguments do not fit, or an instruction is unknown or does something illegal.
    """
    prepared = prepare(code, name, grid, block, arguments, dynamic_lds, preload, read_only)
    structure = prepared.structure
    structure.schedule, structure.seed, structure.poison = int(order), seed, int(garbage)
    structure.threads, structure.every = threads or os.cpu_count() or 1, every
    structure.checks = int(check)
    found = (native.Finding * _MOST_FINDINGS)()
    structure.findings, structure.most_findings = ctypes.addressof(found), _MOST_FINDINGS
    statistics, seconds = _run(prepared)
    total = prod(structure.grid)
    return Counts(
        kernel=name,
        instructions=statistics.instructions,
        bytes_loaded=statistics.bytes_loaded,
        bytes_stored=statistics.bytes_stored,
        loads_out_of_bounds=statistics.loads_out_of_bounds,
        stores_out_of_bounds=statistics.stores_out_of_bounds,
        partly_out_of_bounds=statistics.partly_out_of_bounds,
        barriers=statistics.barriers,
        workgroups=-(-total // every),
        of_workgroups=total,
        seconds=seconds,
        findings=describe_findings(prepared.kernel, found[: statistics.findings]),
    )


def _run(prepared: Prepared) -> tuple[Statistics, float]:
    statistics, kernel = Statistics(), prepared.kernel
    error = ctypes.create_string_buffer(ERROR_BYTES)
    start = time.perf_counter()
    failed = core().library.emulator_launch(
        kernel.machine,
        ctypes.byref(prepared.structure),
        prepared.table,
        len(prepared.regions),
        ctypes.byref(statistics),
        error,
        ERROR_BYTES,
    )
    seconds = time.perf_counter() - start
    if failed:
        raise ExecutionError(describe_fault(kernel, error.value.decode()))
    return statistics, seconds
