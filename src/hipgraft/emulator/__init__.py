"""Executes AMDGPU code objects on the CPU, instruction by instruction.

A code object's kernels are disassembled by LLVM, decoded once, and run by a core in C++ (`core/`).
Execution is in order; a wave's lanes execute an instruction together. See docs/emulator.md.
"""

from hipgraft.emulator.code_object import CodeObject
from hipgraft.emulator.device import GARBAGE, EmulatorDevice, check_available
from hipgraft.emulator.errors import (
    EmulatorError,
    ExecutionError,
    MissingEmulatorError,
    UnknownInstructionError,
)
from hipgraft.emulator.findings import Check, Finding, parse_checks
from hipgraft.emulator.launch_layout import TrackedArray
from hipgraft.emulator.launches import Counts, Order, launch
from hipgraft.emulator.timing import Estimate, estimate

__all__ = [
    "GARBAGE",
    "Check",
    "CodeObject",
    "Counts",
    "EmulatorDevice",
    "EmulatorError",
    "Estimate",
    "ExecutionError",
    "Finding",
    "MissingEmulatorError",
    "Order",
    "TrackedArray",
    "UnknownInstructionError",
    "check_available",
    "estimate",
    "launch",
    "parse_checks",
]
