"""Partitions blocks: into regions that no group can cross, and each of these into groups.

An edge that no kernel can contain, for example into a contraction, is a barrier. The level of an op
is the number of barriers before it. An op that can join none of its producers there is on the first
level of its readers. Connected ops of one level form a region. No path leaves a region and comes
back, because each edge between regions leads to a higher level. So partitions of all regions
together are a partition of the block.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from hipgraft.transforms.partition.cost import CostModel, GraphTime, graph_time
from hipgraft.transforms.partition.exact import Partition, best_partition
from hipgraft.transforms.partition.merging import merged_partition
from hipgraft.transforms.partition.program import Program, Role
from hipgraft.transforms.partition.rules import MAX_OPERANDS
from hipgraft.transforms.partition.windows import Windows

MOST_EXACT = 14
"""Ops of a block or a region that is partitioned exactly."""

_MOST_NEW = 64
"""Windows, equal ones once, that are partitioned again; each takes up to 30 ms."""


class Partitioner:
    """Partitions programs by a cost model; solves equal regions only once.

    Args:
        cost: cost model of groups.
        most_exact: most ops of a block or a region that is partitioned exactly.
        most_window: most ops of a window that is partitioned again.

    Attributes:
        times: estimated times of the last program's groups.
    """

    def __init__(
        self, cost: CostModel, most_exact: int = MOST_EXACT, most_window: int = MOST_EXACT
    ):
        self._cost = cost
        self._most_exact, self._most_window = most_exact, most_window
        self._known: dict[Hashable, list[tuple[tuple[int, ...], GraphTime]] | None] = {}
        self.times: dict[tuple[int, ...], GraphTime] = {}

    def partition(self, program: Program) -> Partition:
        """Returns groups of all ops that are not fixed; their graph is acyclic.

        Blocks and regions of at most `most_exact` ops get the least cost. The result does not
        depend on the order of equal ops.
        """
        self.times = {}
        if not program.ops:
            return []
        if len(program.ops) <= self._most_exact:
            found = self._solve(program, range(len(program.ops)), is_whole=True)
            if found is not None:
                return found
        groups: Partition = []
        solved = [-1] * len(program.ops)
        for number, region in enumerate(_regions(program)):
            groups.extend(self._solve(program, region) or ())
            if len(region) <= self._most_exact:
                for op in region:
                    solved[op] = number

        left = _MOST_NEW

        def solve(ops: Sequence[int]) -> Partition | None:
            nonlocal left
            known = len(self._known)
            found = self._solve(program, ops, is_whole=True) if left else None
            left -= len(self._known) > known
            return found

        windows = Windows(program, groups, solved, self._cost, solve, self._most_window)
        return windows.improved()

    def _solve(
        self, program: Program, ops: Sequence[int], *, is_whole: bool = False
    ) -> Partition | None:
        """Returns the groups of some ops; None if `is_whole` and an exact search takes too long."""
        if len(ops) == 1:
            return [] if program.ops[ops[0]].role is Role.FIXED else [(ops[0],)]
        key = (is_whole, _signature(program, ops))
        if key not in self._known:
            self._known[key] = self._solved(_extracted(program, ops), is_whole=is_whole)
        found = self._known[key]
        if found is None:
            return None
        timed = {tuple(ops[op] for op in group): time for group, time in found}
        self.times |= timed
        return list(timed)

    def _solved(
        self, part: Program, *, is_whole: bool
    ) -> list[tuple[tuple[int, ...], GraphTime]] | None:
        order = _canonical_order(part)
        local = self._solve_part(_extracted(part, order), is_whole=is_whole)
        if local is None:
            return None
        groups = [tuple(sorted(order[op] for op in group)) for group in local]
        return [(group, graph_time(self._cost, part, set(group))) for group in groups]

    def _solve_part(self, part: Program, *, is_whole: bool) -> Partition | None:
        if is_whole or len(part.ops) <= self._most_exact:
            found = best_partition(part, self._cost)
            if found is not None or is_whole:
                return found
        coarse, runs = _coarsened(part)
        found = None
        if len(coarse.ops) <= self._most_exact:
            found = best_partition(coarse, self._cost)
        if found is None:
            found = merged_partition(coarse, self._cost)
        return [tuple(sorted(op for run in group for op in runs[run])) for group in found]


def _regions(program: Program) -> list[list[int]]:
    """Returns the regions of ops that are not fixed."""
    root = list(range(len(program.ops)))

    def find(op: int) -> int:
        while root[op] != op:
            root[op] = root[root[op]]
            op = root[op]
        return op

    for pair in _neighbours(program, _levels(program)):
        first, second = sorted(map(find, pair))
        root[second] = first
    regions: dict[int, list[int]] = {}
    for op, facts in enumerate(program.ops):
        if facts.role is not Role.FIXED:
            regions.setdefault(find(op), []).append(op)
    return list(regions.values())


def _neighbours(program: Program, levels: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields pairs of ops of one level that may share a kernel."""
    for op, reads in enumerate(program.reads):
        for value in reads:
            source = program.producer[value]
            if source >= 0 and levels[source] == levels[op] and program.joins(op, value):
                yield op, source
    for ops in program.kindred.values():
        yield from ((ops[0], op) for op in ops[1:] if levels[op] == levels[ops[0]])


def _levels(program: Program) -> list[int]:
    """Returns the levels of ops: that of a producer that the op may join, else the latest."""
    count = len(program.ops)
    edges: list[list[tuple[int, int]]] = [
        [
            (program.producer[value], 0 if program.joins(op, value) else 1)
            for value in reads
            if program.producer[value] >= 0
        ]
        for op, reads in enumerate(program.reads)
    ]
    early = [0] * count
    for op in range(count):
        early[op] = max((early[source] + barrier for source, barrier in edges[op]), default=0)
    late: list[int | None] = [None] * count
    for op in reversed(range(count)):
        own = late[op]
        bound = late[op] = early[op] if own is None else own
        for source, barrier in edges[op]:
            known = late[source]
            late[source] = bound - barrier if known is None else min(known, bound - barrier)
    # Products that share a kernel are in the region of the product that is read first.
    for ops in program.kindred.values():
        earliest = min(late[op] or 0 for op in ops)
        for op in ops:
            late[op] = earliest
    levels = [0] * count
    for op in range(count):
        least = max((levels[source] + barrier for source, barrier in edges[op]), default=0)
        joined = any(barrier == 0 and levels[source] == least for source, barrier in edges[op])
        levels[op] = least if joined else late[op] or 0
    return levels


def _extracted(program: Program, ops: Sequence[int]) -> Program:
    """Returns a program of some ops, in their order; values that other ops read are exported."""
    part = Program()
    members = set(ops)
    first = min(program.depth[op] for op in ops)
    local: dict[int, int] = {}
    for op in ops:
        reads: list[int] = []
        for value in program.reads[op]:
            if value not in local:
                local[value] = part.value(program.bytes_of[value])
            reads.append(local[value])
        made = program.made[op]
        number = part.op(program.ops[op], reads, [program.bytes_of[value] for value in made])
        part.depth[number] = program.depth[op] - first
        if op in program.kin:
            part.relate(number, program.kin[op])
        for value, new in zip(made, part.made[number], strict=True):
            local[value] = new
            is_read_elsewhere = not members.issuperset(program.readers[value])
            part.exported[new] = program.exported[value] or is_read_elsewhere
    return part


def _signature(program: Program, ops: Sequence[int]) -> Hashable:
    """Returns what `_extracted` depends on."""
    members = set(ops)
    first = min(program.depth[op] for op in ops)
    local: dict[int, int] = {}
    kin: dict[int, int] = {}
    found: list[object] = []
    for op in ops:
        found.append(program.ops[op])
        found.append(program.depth[op] - first)
        if op in program.kin:
            found.append(("kin", kin.setdefault(program.kin[op], len(kin))))
        for value in program.reads[op]:
            if value not in local:
                local[value] = len(local)
                found.append(program.bytes_of[value])
            found.append(local[value])
        found.append(None)
        for value in program.made[op]:
            local[value] = len(local)
            found.append(program.bytes_of[value])
            exported = program.exported[value] or not members.issuperset(program.readers[value])
            found.append(exported)
    return tuple(found)


def _canonical_order(part: Program) -> list[int]:
    """Returns a topological order that does not depend on the indices of ops.

    Ops differ if they, or their neighbours within a few steps, have different properties.
    """
    labels = _ranks([_own_label(part, op) for op in range(len(part.ops))])
    for _ in range(4):
        described = [_label_with_neighbours(part, op, labels) for op in range(len(part.ops))]
        refined = _ranks(described)
        if refined == labels:
            break
        labels = refined
    waiting = [
        sum(part.producer[value] >= 0 for value in part.reads[op]) for op in range(len(part.ops))
    ]
    ready = [op for op, count in enumerate(waiting) if count == 0]
    order: list[int] = []
    while ready:
        op = min(ready, key=lambda one: (labels[one], one))
        ready.remove(op)
        order.append(op)
        for value in part.made[op]:
            for reader in part.readers[value]:
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    ready.append(reader)
    return order


def _own_label(part: Program, op: int) -> tuple[object, ...]:
    facts = part.ops[op]
    made = tuple((part.bytes_of[value], part.exported[value]) for value in part.made[op])
    return (part.depth[op], facts.role.value, facts.name, facts.shape, facts.walked, facts.seconds,
            facts.workgroups, facts.factor, made)  # fmt: skip


def _label_with_neighbours(part: Program, op: int, labels: Sequence[int]) -> tuple[object, ...]:
    reads = tuple(
        (labels[part.producer[value]], 0)
        if part.producer[value] >= 0
        else (-1, part.bytes_of[value])
        for value in part.reads[op]
    )
    readers = tuple(
        sorted(labels[reader] for value in part.made[op] for reader in part.readers[value])
    )
    return labels[op], reads, readers


def _ranks(labels: Sequence[tuple[object, ...]]) -> list[int]:
    order = {label: rank for rank, label in enumerate(sorted(set(labels)))}  # pyright: ignore
    return [order[label] for label in labels]


def _coarsened(part: Program) -> tuple[Program, list[list[int]]]:
    """Returns a program that contracts each chain of single-reader elementwise ops to one op.

    Returns:
        The program, and for each of its ops the ops of `part` in it.
    """
    run_of: dict[int, int] = {}
    runs: list[list[int]] = []
    inputs: list[list[int]] = []
    for op in range(len(part.ops)):
        reads = list(part.reads[op])
        joined = [run_of[source] for source in _run_before(part, op) if source in run_of]
        merged: list[int] = []
        for run in dict.fromkeys(joined):
            union = dict.fromkeys([*reads, *inputs[run]])
            made = {value for one in (*runs[run], *merged) for value in part.made[one]}
            outside = [value for value in union if value not in made]
            if len(outside) > MAX_OPERANDS:
                continue
            reads = outside
            merged.extend(runs[run])
            runs[run], inputs[run] = [], []
        run_of[op] = len(runs)
        runs.append([*merged, op])
        inputs.append(reads)
        for one in merged:
            run_of[one] = len(runs) - 1
    kept = [number for number, run in enumerate(runs) if run]
    return _of_runs(part, [runs[one] for one in kept], [inputs[one] for one in kept])


def _run_before(part: Program, op: int) -> list[int]:
    """Returns the elementwise ops that only `op` reads and that iterate over its loops."""
    facts = part.ops[op]
    if facts.role is not Role.ELEMENTWISE:
        return []
    found: list[int] = []
    for value in part.reads[op]:
        source = part.producer[value]
        if source < 0 or part.exported[value] or len(part.readers[value]) > 1:
            continue
        other = part.ops[source]
        if other.role is Role.ELEMENTWISE and other.shape == facts.shape:
            found.append(source)
    return found


def _of_runs(
    part: Program, runs: list[list[int]], inputs: list[list[int]]
) -> tuple[Program, list[list[int]]]:
    coarse = Program()
    local: dict[int, int] = {}
    for run, reads in zip(runs, inputs, strict=True):
        for value in reads:
            if value not in local:
                local[value] = coarse.value(part.bytes_of[value])
        last = part.ops[run[-1]]
        seconds = sum(part.ops[op].seconds for op in run)
        facts = replace(last, seconds=seconds)
        made = part.made[run[-1]]
        number = coarse.op(
            facts, [local[value] for value in reads], [part.bytes_of[value] for value in made]
        )
        coarse.depth[number] = part.depth[run[-1]]
        if run[-1] in part.kin:
            coarse.relate(number, part.kin[run[-1]])
        for value, new in zip(made, coarse.made[number], strict=True):
            local[value] = new
            coarse.exported[new] = part.exported[value]
    return coarse, runs
