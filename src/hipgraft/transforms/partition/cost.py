"""Estimates the time of graphs by a roofline of compute, memory and launch."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from hipgraft.codegen.chips import Gpu
from hipgraft.transforms.partition.program import Program, Role
from hipgraft.transforms.partition.rules import is_read_outside, is_stored, repeats


@dataclass(frozen=True)
class Time:
    """The components of a kernel's estimated time, in seconds.

    Attributes:
        compute: time of the arithmetic.
        memory: time to move operands and results.
        launch: time until the kernel starts, plus its least duration.
    """

    compute: float
    memory: float
    launch: float

    @property
    def seconds(self) -> float:
        """The whole time."""
        return self.launch + max(self.compute, self.memory)

    @property
    def bound(self) -> str:
        """The bottleneck: `compute`, `memory` or `launch`."""
        longest = max(self.compute, self.memory, self.launch)
        if longest == self.launch:
            return "launch"
        return "compute" if longest == self.compute else "memory"


@dataclass(frozen=True)
class GraphTime:
    """The estimated time of a graph.

    Attributes:
        fused: its time as one kernel.
        apart: seconds of a kernel for each of its ops.
        kernels: number of its ops.
    """

    fused: Time
    apart: float
    kernels: int

    def __str__(self) -> str:
        text = f"{1e6 * self.fused.seconds:.2f} us"
        if self.kernels > 1:
            text += f", as {self.kernels} kernels {1e6 * self.apart:.2f} us"
        return f"{text}, bound by {self.fused.bound}"


class CostModel(Protocol):
    """Estimates how long groups of ops take as kernels."""

    def time(self, program: Program, members: Collection[int]) -> Time:
        """Returns the time of one kernel for some ops of a program."""
        ...

    def least_seconds(self, program: Program, kernels: int) -> float:
        """Returns a lower bound of the time that a program takes as so many kernels."""
        ...


def graph_time(model: CostModel, program: Program, members: Collection[int]) -> GraphTime:
    """Returns the estimated time of a group's graph, and of its ops in separate kernels."""
    fused = model.time(program, members)
    if len(members) == 1:
        return GraphTime(fused, fused.seconds, 1)
    apart = sum(model.time(program, {op}).seconds for op in members)
    return GraphTime(fused, apart, len(members))


Weight: TypeAlias = tuple[int, int, int, int, int]
"""The key by which partitions are ordered, summed over their groups.

Time in quanta, kernels, tensors moved, and elementwise ops that do not depend on an anchor of their
group: they rather end the kernel that makes their operand than start the one that reads them. Last,
the depths that a group spans: of two products, the sum joins the one that is computed later.
"""

_QUANTUM = 20e-9
"""The quantum of time: a hundredth of the assumed gap between two launches, in seconds."""

NO_WEIGHT: Weight = (0, 0, 0, 0, 0)


def weight(model: CostModel, program: Program, members: Collection[int]) -> Weight:
    """Returns the weight of one kernel for some ops of a program."""
    read = set[int]()
    after = set[int]()
    stored = starts = 0
    for op in sorted(members):
        stored += sum(is_read_outside(program, value, members) for value in program.made[op])
        sources = [program.producer[one] for one in program.reads[op]]
        read.update(one for one in program.reads[op] if program.producer[one] not in members)
        is_after = any(source in after for source in sources)
        if is_after or program.ops[op].role is not Role.ELEMENTWISE:
            after.add(op)
        else:
            starts += 1
    quanta = round(model.time(program, members).seconds / _QUANTUM)
    tensors = stored + sum(program.bytes_of[one] > 0 for one in read)
    depths = [program.depth[op] for op in members]
    return quanta, 1, tensors, starts, max(depths) - min(depths)


def added(first: Weight, second: Weight) -> Weight:
    """Returns the weight of two partitions together."""
    return (
        first[0] + second[0],
        first[1] + second[1],
        first[2] + second[2],
        first[3] + second[3],
        first[4] + second[4],
    )


def _evaluated_twice(program: Program, members: Collection[int]) -> set[int]:
    """Returns the ops that norms depend on: their kernel walks its rows a second time."""
    found = set[int]()
    waiting = [op for op in members if program.ops[op].role is Role.NORM]
    while waiting:
        for value in program.reads[waiting.pop()]:
            source = program.producer[value]
            if source in members and source not in found:
                found.add(source)
                waiting.append(source)
    return found


@dataclass(frozen=True)
class Roofline:
    """Estimates the time of a kernel from a GPU's peak rates.

    Attributes:
        gpu: GPU that runs the kernels.
        memory_scale: factor of the time that accesses take by the GPU's bandwidth.
        launch_seconds: seconds of each launch; the GPU's default if None.
    """

    gpu: Gpu
    memory_scale: float = 1.0
    launch_seconds: float | None = None

    def time(self, program: Program, members: Collection[int]) -> Time:
        """Returns the time of one kernel for some ops of a program.

        Each tensor moves once, between the compute units and the last cache if all tensors fit
        there, else memory. A few workgroups reach the peaks of only as many compute units. Matrix
        units run in parallel with the vector unit. The operand of a norm is computed twice, and an
        op with fewer elements than the kernel iterates over is computed once per iteration.
        """
        moved = 0
        matrix = vector = 0.0
        times = repeats(program, members)
        for op in _evaluated_twice(program, members):
            times[op] = 2 * times.get(op, 1)
        walkers = 0
        anchored = 0
        read = set[int]()
        for op in members:
            facts = program.ops[op]
            if facts.role is Role.ANCHOR:
                matrix += facts.seconds
            else:
                vector += times.get(op, 1) * facts.seconds
            if facts.role is Role.ELEMENTWISE:
                walkers = max(walkers, facts.workgroups)
            else:
                anchored = max(anchored, facts.workgroups)
            read.update(program.reads[op])
            if is_stored(program, op, members):
                moved += sum(program.bytes_of[value] for value in program.made[op])
        for op in members:
            read.difference_update(program.made[op])
        moved += sum(program.bytes_of[value] for value in read)
        # The anchor's loops decide, not those that the elementwise ops would have alone.
        return self._of_totals(max(matrix, vector), moved, anchored or walkers)

    def least_seconds(self, program: Program, kernels: int) -> float:
        """Returns a lower bound of the time that a program takes as so many kernels."""
        moved = sum(
            nbytes
            for value, nbytes in enumerate(program.bytes_of)
            if program.exported[value] or program.producer[value] < 0
        )
        bandwidth = max(self.gpu.far_bandwidth, self.gpu.memory_bandwidth)
        memory = self.memory_scale * moved / bandwidth
        by_unit = (
            sum(facts.seconds for facts in program.ops if (facts.role is Role.ANCHOR) == is_matrix)
            for is_matrix in (False, True)
        )
        return kernels * self._launch_seconds + max(memory, *by_unit)

    @property
    def _launch_seconds(self) -> float:
        launch = self.gpu.kernel_seconds + self.gpu.gap_seconds
        return launch if self.launch_seconds is None else self.launch_seconds

    def _of_totals(self, seconds: float, moved: int, workgroups: int) -> Time:
        """Returns the time of a kernel with so many seconds of arithmetic on the whole GPU."""
        gpu = self.gpu
        busy = min(workgroups, gpu.units)
        bandwidth = gpu.far_bandwidth if moved <= gpu.far_size else gpu.memory_bandwidth
        bandwidth = min(bandwidth, busy * gpu.l2_bytes * gpu.clock)
        return Time(
            seconds * gpu.units / busy,
            self.memory_scale * moved / bandwidth,
            self._launch_seconds,
        )
