"""Partitions regions of any size by merging neighbours greedily, the largest saving first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from operator import sub

from hipgraft.transforms.partition.cost import CostModel, added, weight
from hipgraft.transforms.partition.exact import Partition
from hipgraft.transforms.partition.program import Program, Spans
from hipgraft.transforms.partition.rules import group_declined, walks_declined

_MOST_VISITS = 512
"""Groups after which the search for a way around two groups ends; they then stay apart."""


def merged_partition(program: Program, cost: CostModel) -> Partition:
    """Returns a partition of ops, none of which is fixed.

    Merges the pair of neighbours that saves most time, until no merge saves time. Groups are
    connected, convex and follow `rules`, and their graph is acyclic.
    """
    merging = _Merging(program, cost)
    merging.run()
    return sorted(tuple(sorted(members)) for members in merging.members.values())


class _Merging:
    def __init__(self, program: Program, cost: CostModel):
        self._program, self._cost = program, cost
        count = len(program.ops)
        self.members = {op: {op} for op in range(count)}
        self._group = list(range(count))
        self._weights = {op: weight(cost, program, {op}) for op in range(count)}
        self._heap: list[tuple[tuple[int, ...], int, int]] = []
        self._next = count
        self._first = {op: op for op in range(count)}
        self._spans = Spans(count)

    def run(self) -> None:
        """Merges until no merge saves time."""
        for op in list(self.members):
            self._propose(op, self._readers(op) | self._related(op))
        while self._heap:
            _, first, second = heapq.heappop(self._heap)
            if first in self.members and second in self.members:
                self._merge(first, second)

    def _propose(self, group: int, others: Iterable[int]) -> None:
        for other in sorted(set(others)):
            union = self.members[group] | self.members[other]
            if walks_declined(self._program, union) or group_declined(self._program, union):
                continue
            apart = added(self._weights[group], self._weights[other])
            union_weight = weight(self._cost, self._program, union)
            if union_weight < apart:
                gained = tuple(map(sub, union_weight, apart))
                heapq.heappush(self._heap, (gained, group, other))

    def _merge(self, first: int, second: int) -> None:
        if self._has_way_around(first, second):
            return
        union = self.members.pop(first) | self.members.pop(second)
        number, self._next = self._next, self._next + 1
        self.members[number] = union
        self._first[number] = min(union)
        self._spans.add(min(union), max(union))
        self._weights[number] = weight(self._cost, self._program, union)
        for op in union:
            self._group[op] = number
        near = self._readers(number) | self._sources(number) | self._related(number)
        self._propose(number, near)

    def _has_way_around(self, first: int, second: int) -> bool:
        """Returns whether a path between two groups leads through a third."""
        bound = self._spans.bound(max(self.members[first] | self.members[second]))
        pair = {first, second}
        waiting = [one for own in pair for one in self._readers(own) if one not in pair]
        seen = set(waiting)
        while waiting:
            if len(seen) > _MOST_VISITS:
                return True
            for reader in self._readers(waiting.pop()):
                if reader in pair:
                    return True
                if reader not in seen and self._first[reader] <= bound:
                    seen.add(reader)
                    waiting.append(reader)
        return False

    def _readers(self, group: int) -> set[int]:
        program = self._program
        return {
            self._group[reader]
            for op in self.members[group]
            for value in program.made[op]
            for reader in program.readers[value]
        } - {group}

    def _related(self, group: int) -> set[int]:
        related = (one for op in self.members[group] for one in self._program.related(op))
        return {self._group[op] for op in related} - {group}

    def _sources(self, group: int) -> set[int]:
        program = self._program
        sources = (
            program.producer[value] for op in self.members[group] for value in program.reads[op]
        )
        return {self._group[op] for op in sources if op >= 0} - {group}
