"""The partition of least cost, by dynamic programming over downward closed sets of ops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from hipgraft.transforms.partition.cost import NO_WEIGHT, CostModel, Weight, added, weight
from hipgraft.transforms.partition.program import Program, Role
from hipgraft.transforms.partition.rules import group_declined, walks_declined

Partition: TypeAlias = list[tuple[int, ...]]
"""Groups of ops, each in ascending order; ops that are fixed are in none."""

MOST_GROUPS = 512
"""Candidate groups beyond which the search is given up: a region then has too many kernels."""

MOST_STEPS = 60_000
"""Steps of the dynamic programme beyond which it is given up, about 30 ms."""

_State: TypeAlias = tuple[Weight, tuple[int, ...]]


def best_partition(program: Program, cost: CostModel) -> Partition | None:
    """Returns the partition of least cost into kernels; None if the search takes too long.

    Groups are connected, convex and follow `rules`, and their graph is acyclic. Among partitions of
    equal weight, the one whose groups have smaller indices wins.
    """
    if (whole := _whole(program, cost)) is not None:
        return whole
    search = _Search(program)
    groups = search.groups()
    if groups is None:
        return None
    weights = {
        group: weight(cost, program, set(_bits(group))) if search.is_free(group) else NO_WEIGHT
        for group in groups
    }
    found = search.cheapest(weights)
    if found is None:
        return None
    return [tuple(_bits(group)) for group in sorted(found) if search.is_free(group)]


def _whole(program: Program, cost: CostModel) -> Partition | None:
    """Returns all ops as one group if they form a kernel that no two kernels can beat."""
    members = set(range(len(program.ops)))
    if walks_declined(program, members) or group_declined(program, members):
        return None
    if len(members) > 1 and not _is_connected(program, members):
        return None
    limit = cost.least_seconds(program, 2)
    return [tuple(members)] if cost.time(program, members).seconds <= limit else None


def _is_connected(program: Program, members: set[int]) -> bool:
    reached, waiting = {0}, [0]
    while waiting:
        op = waiting.pop()
        near = {program.producer[value] for value in program.reads[op]}
        near.update(reader for value in program.made[op] for reader in program.readers[value])
        near.update(program.related(op))
        new = (near & members) - reached
        reached |= new
        waiting.extend(new)
    return reached == members


class _Search:
    """Searches over sets of ops, represented as the bits of a number."""

    def __init__(self, program: Program):
        self._program = program
        count = len(program.ops)
        self._before = [0] * count
        self._joined = [0] * count
        self._above = [0] * count
        self._below = [0] * count
        for op in range(count):
            for value in program.reads[op]:
                source = program.producer[value]
                if source < 0:
                    continue
                self._before[op] |= 1 << source
                self._above[op] |= 1 << source | self._above[source]
                if program.joins(op, value):
                    self._joined[op] |= 1 << source
                    self._joined[source] |= 1 << op
            for other in program.related(op):
                self._joined[op] |= 1 << other
        for op in reversed(range(count)):
            for source in _bits(self._before[op]):
                self._below[source] |= 1 << op | self._below[op]

    def is_free(self, group: int) -> bool:
        """Returns whether a group consists of ops that are not fixed."""
        return self._program.ops[group.bit_length() - 1].role is not Role.FIXED

    def groups(self) -> list[int] | None:
        """Returns all groups that are one kernel, and single fixed ops; None if too many."""
        seen = set[int]()
        waiting = [1 << op for op in range(len(self._program.ops))]
        seen.update(waiting)
        while waiting:
            if len(seen) > MOST_GROUPS:
                return None
            group = waiting.pop()
            near = 0
            for op in _bits(group):
                near |= self._joined[op]
            for op in _bits(near & ~group):
                bigger = group | 1 << op
                if bigger in seen:
                    continue
                if walks_declined(self._program, _bits(bigger)) is None:
                    seen.add(bigger)
                    waiting.append(bigger)
        return sorted(filter(self._is_kernel, seen))

    def _is_kernel(self, group: int) -> bool:
        above = below = 0
        for op in _bits(group):
            above |= self._above[op]
            below |= self._below[op]
        if above & below & ~group:
            return False
        if group & group - 1 == 0:
            return True
        return group_declined(self._program, set(_bits(group))) is None

    def cheapest(self, weights: dict[int, Weight]) -> Sequence[int] | None:
        """Returns the groups of least cost that cover all ops in some order of their reads."""
        needs: dict[int, int] = {}
        for group in weights:
            before = 0
            for op in _bits(group):
                before |= self._before[op]
            needs[group] = before & ~group
        full = (1 << len(self._program.ops)) - 1
        best: dict[int, _State] = {0: (NO_WEIGHT, ())}
        layers: list[set[int]] = [set[int]() for _ in range(full.bit_count() + 1)]
        layers[0].add(0)
        steps = 0
        for layer in layers:
            for done in sorted(layer):
                steps += len(weights)
                if steps > MOST_STEPS:
                    return None
                state = best[done]
                for group, need in needs.items():
                    if group & done or need & ~done:
                        continue
                    reached = done | group
                    total = added(state[0], weights[group])
                    old = best.get(reached)
                    if old is not None and total > old[0]:
                        continue
                    new = total, tuple(sorted((*state[1], group)))
                    if old is None or new < old:
                        best[reached] = new
                        layers[reached.bit_count()].add(reached)
        return best[full][1]


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low
