"""Estimates the time of kernels: traces workgroups and replays them on a compute unit's model.

Counts of instructions do not order kernels as hardware does, because they do not see parallelism,
latency or bandwidth. docs/timing.md describes the model and its comparison with hardware.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from hipgraft.codegen.chips import CHIPS, Chip
from hipgraft.emulator.code_object import CodeObject, Kernel
from hipgraft.emulator.costs import cost_table
from hipgraft.emulator.errors import EmulatorError, ExecutionError
from hipgraft.emulator.launch_layout import KernelArgument, Prepared, prepare
from hipgraft.emulator.launches import ERROR_BYTES
from hipgraft.emulator.native import ComputeUnit, Replayed, TraceStatistics, core
from hipgraft.emulator.sites import describe_fault

_LINE = 128
_PAGE = 4096
# Wave instructions that are traced; recorded workgroups take at most a quarter of them.
_BUDGET = 3_000_000
_MOST_RECORDED = 3
_MOST_NEIGHBOURS = 20
# Number of rounds of workgroups to replay; later rounds are extrapolated.
_ROUNDS = 4
# The maximum number of workgroups that a compute unit holds at a time.
_MOST_WORKGROUPS = 32
_LDS_GRANULE = 512
# With fewer neighbours than this, the trend of shared lines cannot be estimated.
_FEWEST_NEIGHBOURS = 4

VARIATIONS: Sequence[Mapping[str, float]] = (
    {},
    {"l1_latency": 0.67, "l2_latency": 0.67, "far_latency": 0.67, "lds_latency": 0.67},
    {"l1_latency": 1.5, "l2_latency": 1.5, "far_latency": 1.5, "lds_latency": 1.5},
    {"far_bandwidth": 0.5},
    {"lds_bytes": 0.5},
)
"""Factors for uncertain properties of a chip. An estimate is the mean over all variations."""


@dataclass(frozen=True)
class Estimate:
    """The estimated time of a launch.

    Attributes:
        kernel: symbol of the kernel.
        chip: name of the product that the estimate is for.
        microseconds: mean time over `VARIATIONS`.
        spread: ratio of the largest to the smallest estimate.
        bound: bottleneck of the launch: `launch`, `latency`, or one of `parts`.
        parts: microseconds that each part of a compute unit is busy: `vector`, `matrix`, `scalar`,
            `lds`, `l1`, `l2`, `fabric`; `memory` for the whole chip.
        instructions: wave instructions of the whole launch.
        workgroups: number of workgroups of the launch.
        occupancy: number of waves that a compute unit holds.
        units: number of compute units that have work.
    """

    kernel: str
    chip: str
    microseconds: float
    spread: float
    bound: str
    parts: Mapping[str, float]
    instructions: float
    workgroups: int
    occupancy: int
    units: int

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {value:.3g}" for name, value in self.parts.items())
        return (
            f"kernel {self.kernel} on {self.chip}: {self.microseconds:.4g} us "
            f"(spread {self.spread:.2f}), bound by {self.bound}\n"
            f"  {self.workgroups} workgroups on {self.units} units, {self.occupancy} waves each\n"
            f"  us of each part: {parts}"
        )


def estimate(
    code: CodeObject,
    name: str,
    grid: Sequence[int],
    block: Sequence[int] | None,
    arguments: Iterable[KernelArgument],
    *,
    dynamic_lds: int = 0,
) -> Estimate:
    """Estimates the time of a launch, executed on page-aligned copies of the arrays.

    Args:
        code: the code object; its architecture selects the chip.
        name: symbol of the kernel.
        grid: workgroups, up to three extents.
        block: work items of a workgroup, up to three extents; None uses the kernel's required size.
        arguments: see `launch`. Their values matter where a kernel branches on them.
        dynamic_lds: bytes of LDS besides the kernel's own.

    Raises:
        EmulatorError: the architecture's properties are unknown, or the kernel cannot be executed.
    """
    chip = CHIPS.get(code.architecture)
    if chip is None:
        known = ", ".join(CHIPS)
        raise EmulatorError(f"times are estimated for {known}, not for {code.architecture}")
    given = list(arguments)
    values = [_aligned(one) if isinstance(one, np.ndarray) else one for one in given]
    prepared = prepare(code, name, grid, block, values, dynamic_lds)
    footprint = _distinct_bytes([one for one in given if isinstance(one, np.ndarray)])
    return _Timing(prepared, chip, footprint).estimate()


def _distinct_bytes(arrays: Iterable[np.ndarray[Any, Any]]) -> int:
    """Returns the bytes of all arrays, counting memory that several arrays view only once."""
    size = reached = 0
    for start, nbytes in sorted((array.ctypes.data, array.nbytes) for array in arrays):
        size += max(start + nbytes - max(start, reached), 0)
        reached = max(reached, start + nbytes)
    return size


def _aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    memory = np.empty(array.nbytes + _PAGE, np.uint8)
    start = -memory.ctypes.data % _PAGE
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


@dataclass(frozen=True)
class _Occupancy:
    """The distribution of a launch over a chip.

    Attributes:
        groups: number of workgroups of the launch.
        per_unit: number of workgroups of the busiest unit.
        slots: number of workgroups that a unit holds at a time.
        waves: number of waves of a workgroup.
        active: number of units that have work.
    """

    groups: int
    per_unit: int
    slots: int
    waves: int
    active: float

    @classmethod
    def of(cls, prepared: Prepared, chip: Chip) -> _Occupancy:
        structure, kernel = prepared.structure, prepared.kernel
        groups, items = math.prod(structure.grid), math.prod(structure.block)
        waves = -(-items // structure.wave_size)
        of_simd = min(chip.most_waves, max(chip.registers // _registers(kernel, chip), 1))
        slots = of_simd * chip.simds // waves
        if structure.lds_bytes:
            rounded = -(-structure.lds_bytes // _LDS_GRANULE) * _LDS_GRANULE
            slots = min(slots, chip.lds_size // rounded)
        of_die = math.ceil(groups / chip.dies)
        per_unit = math.ceil(of_die / (chip.units // chip.dies))
        slots = min(max(slots, 1), _MOST_WORKGROUPS, per_unit)
        return cls(groups, per_unit, slots, waves, min(groups / per_unit, chip.units))


def _registers(kernel: Kernel, chip: Chip) -> int:
    """Returns the number of vector registers of a wave from the first resource word."""
    encoded = (kernel.descriptor.resources[0] & 63) + 1
    granule = 8 if kernel.metadata.wave_size == chip.lanes_per_issue else 4
    return -(-encoded * granule // chip.register_granule) * chip.register_granule


class _Timing:
    def __init__(self, prepared: Prepared, chip: Chip, footprint: int):
        self._prepared = prepared
        self._chip = chip
        self._footprint = footprint
        self._occupancy = _Occupancy.of(prepared, chip)
        self._costs = cost_table(prepared.kernel, chip)
        if len(self._costs) != len(prepared.kernel.instructions):
            raise EmulatorError(f"kernel '{prepared.kernel.name}' has instructions without a cost")

    def estimate(self) -> Estimate:
        occupancy, chip = self._occupancy, self._chip
        recorded, neighbours, round_size = self._choose()
        with self._trace([*recorded, *neighbours], len(recorded)) as (trace, statistics):
            scale, unique = _sharing(statistics, len(neighbours), round_size)
            results = [self._replay(trace, varied, scale) for varied in variations(chip)]
        traced = len(recorded) + len(neighbours)
        # Each round of workgroups on a die reads each of its cache lines once.
        far = unique * _LINE * occupancy.groups / max(round_size, 1)
        # An operand may be a part of a larger buffer, or a table from which the kernel reads few
        # rows.
        read = min(self._footprint, far)
        memory = [_memory_seconds(read, varied) for varied in variations(chip)]
        times = [
            max(seconds, of_memory) + chip.kernel_seconds
            for (seconds, _), of_memory in zip(results, memory, strict=True)
        ]
        parts = {name: 1e6 * value for name, value in results[0][1].items()}
        parts["fabric"] = max(parts["fabric"], 1e6 * far / chip.far_bandwidth)
        parts["memory"] = 1e6 * memory[0]
        return Estimate(
            kernel=self._prepared.kernel.name,
            chip=chip.name,
            microseconds=1e6 * sum(times) / len(times),
            spread=max(times) / min(times),
            bound=self._bound(1e6 * times[0], parts),
            parts=parts,
            instructions=statistics.instructions / traced * occupancy.groups,
            workgroups=occupancy.groups,
            occupancy=occupancy.slots * occupancy.waves,
            units=math.ceil(occupancy.active),
        )

    def _bound(self, microseconds: float, parts: Mapping[str, float]) -> str:
        launch = 1e6 * self._chip.kernel_seconds
        work = microseconds - launch
        name, longest = max(parts.items(), key=lambda item: item[1])
        if work < launch:
            return "launch"
        return name if longest > work / 2 else "latency"

    def _choose(self) -> tuple[list[int], list[int], int]:
        """Returns the workgroups to record, their neighbours on a die, and the size of a round."""
        occupancy, chip = self._occupancy, self._chip
        with self._trace([0], 1) as (_, statistics):
            instructions = max(int(statistics.instructions), 1)
        most = min(occupancy.slots, _MOST_RECORDED)
        number = max(1, min(most, _BUDGET // 4 // instructions))
        recorded = [index * chip.units % occupancy.groups for index in range(number)]
        of_die = range(0, occupancy.groups, chip.dies)
        round_size = min(len(of_die), occupancy.slots * (chip.units // chip.dies))
        number = max(1, min(round_size, _MOST_NEIGHBOURS, _BUDGET // instructions))
        return recorded, list(of_die[:number]), round_size

    @contextmanager
    def _trace(
        self, workgroups: Sequence[int], recorded: int
    ) -> Generator[tuple[int, TraceStatistics]]:
        prepared, statistics = self._prepared, TraceStatistics()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        numbers = np.array(workgroups, np.uint64)
        unit = compute_unit(self._chip, self._occupancy.active, 1.0)
        trace = core().library.emulator_trace(
            prepared.kernel.machine,
            ctypes.byref(prepared.structure),
            prepared.table,
            len(prepared.regions),
            self._costs,
            ctypes.byref(unit),
            numbers.ctypes.data,
            len(numbers),
            recorded,
            ctypes.byref(statistics),
            error,
            ERROR_BYTES,
        )
        if not trace:
            raise ExecutionError(describe_fault(prepared.kernel, error.value.decode()))
        try:
            yield trace, statistics
        finally:
            core().library.emulator_trace_free(trace)

    def _replay(self, trace: int, chip: Chip, scale: float) -> tuple[float, dict[str, float]]:
        """Returns the busiest unit's seconds, and the seconds that each of its parts is busy."""
        occupancy = self._occupancy
        unit = compute_unit(chip, occupancy.active, scale)

        def run(workgroups: int) -> Replayed:
            replayed = Replayed()
            core().library.emulator_replay(
                trace, ctypes.byref(unit), workgroups, occupancy.slots, ctypes.byref(replayed)
            )
            return replayed

        most = min(occupancy.per_unit, occupancy.slots * _ROUNDS)
        whole = run(most)
        cycles, factor = whole.cycles, occupancy.per_unit / most
        if occupancy.per_unit > most:
            first = run(occupancy.slots)
            slope = (whole.cycles - first.cycles) / (most - occupancy.slots)
            cycles += slope * (occupancy.per_unit - most)
        # Each SIMD has its own vector and matrix unit.
        parts = {
            "vector": whole.vector / chip.simds,
            "matrix": whole.matrix / chip.simds,
            "scalar": whole.scalar / chip.simds,
            "lds": whole.lds,
            "l1": whole.l1,
            "l2": whole.l2,
            "fabric": whole.far,
        }
        seconds = {name: factor * value / chip.clock for name, value in parts.items()}
        return cycles / chip.clock, seconds


def _memory_seconds(nbytes: float, chip: Chip) -> float:
    """Returns the seconds to read bytes from the level of memory that holds them."""
    fits = nbytes < chip.far_size
    return nbytes / (chip.far_bandwidth if fits else chip.memory_bandwidth)


def variations(chip: Chip) -> list[Chip]:
    """Returns the variations of a chip over which an estimate is averaged."""
    names = {field.name for field in fields(Chip)}
    assert all(factors.keys() <= names for factors in VARIATIONS)
    return [
        replace(chip, **{name: getattr(chip, name) * factor for name, factor in factors.items()})
        for factors in VARIATIONS
    ]


def _sharing(statistics: TraceStatistics, neighbours: int, round_size: int) -> tuple[float, float]:
    """Returns the factor by which a whole round shares more lines, and its distinct lines.

    The number of distinct lines grows as a power of the number of workgroups; the exponent follows
    from the lines of half and of all neighbours.
    """
    unique, half = statistics.unique_lines, statistics.unique_lines_of_half
    if neighbours < _FEWEST_NEIGHBOURS or not half or round_size <= neighbours:
        return 1.0, float(unique) * max(round_size / max(neighbours, 1), 1.0)
    power = math.log(unique / half) / math.log(neighbours / (neighbours // 2))
    of_round = unique * (round_size / neighbours) ** min(max(power, 0.0), 1.0)
    return max((unique / neighbours) / (of_round / round_size), 1.0), of_round


def compute_unit(chip: Chip, active: float, scale: float) -> ComputeUnit:
    """Returns a compute unit with its share of the bandwidth that `active` units share."""
    share = min(chip.far_bandwidth / chip.clock / active, chip.l2_bytes)
    return ComputeUnit(
        simds=chip.simds,
        cadence=chip.cadence,
        valu_latency=chip.valu_latency,
        scalar_latency=chip.scalar_latency,
        branch_cycles=chip.branch_cycles,
        launch_cycles=chip.launch_cycles,
        matrix_beside_vector=chip.matrix_beside_vector,
        lds_bytes=chip.lds_bytes,
        lds_latency=chip.lds_latency,
        l1_bytes=chip.l1_bytes,
        l1_least_cycles=chip.l1_least_cycles,
        l1_scale=chip.l1_scale,
        l1_latency=chip.l1_latency,
        l1_lines=chip.l1_size // _LINE,
        l2_line_cycles=_LINE / chip.l2_bytes,
        l2_latency=chip.l2_latency,
        far_line_cycles=_LINE / share,
        far_latency=chip.far_latency,
        store_latency=chip.store_latency,
        scalar_load_latency=chip.scalar_load_latency,
        separate_stores=chip.separate_stores,
        share_scale=scale,
    )
