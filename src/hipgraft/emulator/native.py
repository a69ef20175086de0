"""The core's C interface: the structures of `core/emulator.h`, and the library."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hipgraft.emulator.errors import MissingEmulatorError

NONE, VECTOR, SCALAR, CONSTANT, SCC, SHUFFLED, VCCZ, EXECZ = range(8)
"""Kinds of operands."""

FLAG_DPP, FLAG_DUAL_FIRST, FLAG_DUAL_SECOND = 1, 2, 4
MEMORY_OFFEN, MEMORY_IDXEN, MEMORY_LDS = 1, 2, 4

_int, _uint, _int64, _uint64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64


def _fields(kind: type, names: str) -> list[tuple[str, type]]:
    return [(name, kind) for name in names.split()]


class Source(ctypes.Structure):
    """An operand that an instruction reads."""

    _fields_ = (
        *_fields(_int, "kind index count"),
        *_fields(_uint, "low high"),
        *_fields(_int, "negate absolute part sign_extend"),
    )


class Destination(ctypes.Structure):
    """An operand that an instruction writes."""

    _fields_ = _fields(_int, "kind index count part unused")


class Instruction(ctypes.Structure):
    """A decoded instruction."""

    _fields_ = (
        *_fields(_int, "operation flags"),
        ("address", _uint),
        ("target", _int),
        ("d", Destination * 2),
        ("s", Source * 5),
        *_fields(_int, "output_modifier clamp op_sel op_sel_hi neg_lo neg_hi"),
        *_fields(_int, "dpp_kind dpp_control row_mask bank_mask bound_control fetch_inactive"),
        *_fields(_int, "offset0 offset1 memory_flags scalar_base"),
        *_fields(_int, "immediate immediate2 is_vector next"),
    )


class Region(ctypes.Structure):
    """Memory that a kernel may access."""

    _fields_ = (
        *_fields(_uint64, "low high"),
        *_fields(_int, "writable id"),
        ("defined", _uint64),
    )


class Launch(ctypes.Structure):
    """A launch, as passed to the core."""

    _fields_ = (
        ("entry", _uint64),
        ("grid", _uint * 3),
        ("block", _uint * 3),
        *_fields(_uint, "lds_bytes scratch_bytes rsrc1 rsrc2 properties"),
        *_fields(_uint64, "kernel_arguments dispatch_packet"),
        *_fields(_int, "user_registers preload_length preload_offset wave_size schedule"),
        ("seed", _uint64),
        ("threads", _int),
        ("poison", _uint),
        ("most_instructions", _uint64),
        *_fields(_int, "first ids_in_trap_registers"),
        ("image", _uint64),
        *_fields(_uint, "every checks"),
        ("findings", _uint64),
        ("most_findings", _uint),
    )


class Finding(ctypes.Structure):
    """A defect that a checked launch noticed."""

    _fields_ = (
        *_fields(_int, "kind lane"),
        *_fields(_uint, "size instruction other_instruction workgroup other_workgroup"),
        *_fields(_uint, "wave other_wave"),
        ("address", _uint64),
    )


class Statistics(ctypes.Structure):
    """The core's counts of a launch."""

    _fields_ = _fields(
        _uint64,
        "instructions loads_out_of_bounds stores_out_of_bounds partly_out_of_bounds barriers "
        "bytes_loaded bytes_stored findings",
    )


class Registers(ctypes.Structure):
    """Consecutive vector registers."""

    _fields_ = _fields(_int, "first number")


class Cost(ctypes.Structure):
    """The cost of an instruction; see `costs.py`."""

    _fields_ = (
        *_fields(_int, "kind issue matrix matrix_latency most_loads most_lds most_stores"),
        ("sources", Registers * 5),
        ("destination", Registers),
    )


class ComputeUnit(ctypes.Structure):
    """A compute unit; see `chips.py`."""

    _fields_ = _fields(
        ctypes.c_double,
        "simds cadence valu_latency scalar_latency branch_cycles launch_cycles "
        "matrix_beside_vector lds_bytes lds_latency l1_bytes l1_least_cycles l1_scale l1_latency "
        "l1_lines l2_line_cycles l2_latency far_line_cycles far_latency store_latency "
        "scalar_load_latency separate_stores share_scale",
    )


COST_KINDS = 16


class TraceStatistics(ctypes.Structure):
    """The core's counts while it traces a launch."""

    _fields_ = (
        ("instructions", _uint64),
        ("kinds", _uint64 * COST_KINDS),
        *_fields(
            _uint64,
            "matrix_cycles lds_cycles l1_cycles group_lines shared_lines unique_lines "
            "unique_lines_of_half",
        ),
    )


class Replayed(ctypes.Structure):
    """The cycles of a replay, and the cycles that each part was busy."""

    _fields_ = _fields(ctypes.c_double, "cycles vector matrix scalar lds l1 l2 far")


@dataclass(frozen=True)
class Operation:
    """An operation that the core implements.

    Attributes:
        number: number by which instructions refer to it.
        destinations: types of the operands that it writes, one letter each.
        sources: the types of the operands that it reads; for destinations `@`, the name of the
            operation's own form.
    """

    number: int
    destinations: str
    sources: str


class Core:
    """The loaded library.

    Attributes:
        operations: operations by mnemonic.
        digest: digest of the core's operations and structures.
    """

    def __init__(self, library: ctypes.CDLL):
        self.library = library
        library.emulator_new.restype = ctypes.c_void_p
        library.emulator_new.argtypes = [ctypes.c_void_p, _int, _int]
        library.emulator_free.argtypes = [ctypes.c_void_p]
        library.emulator_launch.argtypes = [
            *[ctypes.c_void_p] * 3,
            _int,
            ctypes.c_void_p,
            ctypes.c_char_p,
            _int,
        ]
        library.emulator_trace.restype = ctypes.c_void_p
        library.emulator_trace.argtypes = [
            *[ctypes.c_void_p] * 3,
            _int,
            *[ctypes.c_void_p] * 3,
            _int,
            _int,
            ctypes.c_void_p,
            ctypes.c_char_p,
            _int,
        ]
        library.emulator_trace_free.argtypes = [ctypes.c_void_p]
        library.emulator_replay.argtypes = [*[ctypes.c_void_p] * 2, _int, _int, ctypes.c_void_p]
        library.emulator_replay.restype = None
        texts = [library.emulator_operation_name, library.emulator_destination_types]
        texts.append(library.emulator_source_types)
        for function in texts:
            function.restype = ctypes.c_char_p
        self.operations: dict[str, Operation] = {}
        for number in range(library.emulator_operation_count()):
            name, destinations, sources = (function(number).decode() for function in texts)
            self.operations.setdefault(name, Operation(number, destinations, sources))
        described = repr((library.emulator_abi(), self.operations))
        self.digest = hashlib.sha256(described.encode()).hexdigest()


@cache
def core() -> Core:
    """Returns the core; the first call loads it.

    Raises:
        MissingEmulatorError: it was not built with this package, or was built for another version.
    """
    found = sorted(Path(__file__).parent.glob("_core*.so"))
    if not found:
        raise MissingEmulatorError("the emulator's core is not built: install hipgraft again")
    library = ctypes.CDLL(str(found[0]))
    others = (Launch, Statistics, Cost, ComputeUnit, TraceStatistics, Replayed)
    sizes = 1000 * ctypes.sizeof(Instruction) + sum(map(ctypes.sizeof, others))
    if library.emulator_abi() != sizes:
        raise MissingEmulatorError(
            "the emulator's core is of another version: install hipgraft again"
        )
    return Core(library)
