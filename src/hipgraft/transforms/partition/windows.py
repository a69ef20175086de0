"""Improves a partition by solving small parts of it again, across the boundaries of regions.

The groups at a boundary, and the ops between them, form a window: no path leaves it and comes back,
so a partition of it is part of one of the whole program. In large programs, the search considers
only boundaries where an op could also be in the group on the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hipgraft.transforms.partition.cost import NO_WEIGHT, CostModel, Weight, added, weight
from hipgraft.transforms.partition.exact import Partition
from hipgraft.transforms.partition.program import Program, Role, Spans
from hipgraft.transforms.partition.rules import walks_declined

_MOST_BORDERS = 256
"""With more borders than this, only the promising ones are considered."""

_MOST_WINDOWS = 256
"""Borders that are looked at in each round, those of the first ops."""

_MOST_VISITS = 64
"""Ops or groups after which the search for what is between some groups ends."""

_ROUNDS = 3
"""How often all borders are looked at: once, and again where something changed."""

Solve = Callable[[Sequence[int]], Partition | None]
"""Returns the partition of least cost of ascending ops, None if it takes too long to find."""


class Windows:
    """Improves one partition of one program.

    Args:
        program: all ops.
        groups: groups of its ops that are not fixed.
        solved: for each op, the number of its region if that was partitioned exactly, else
            negative.
        cost: cost model of groups.
        solve: partitions a window.
        most: most ops of a window.
    """

    def __init__(
        self,
        program: Program,
        groups: Partition,
        solved: Sequence[int],
        cost: CostModel,
        solve: Solve,
        most: int,
    ):
        self._program, self._cost, self._solve, self._most = program, cost, solve, most
        self._solved = list(solved)
        self._group: list[tuple[int, ...]] = [(op,) for op in range(len(program.ops))]
        self._spans = Spans(len(program.ops))
        for group in groups:
            self._set(group)
        self._weights: dict[tuple[int, ...], Weight] = {}

    def improved(self) -> Partition:
        """Returns a partition that costs at most as much."""
        for _ in range(_ROUNDS):
            changed = self._round()
            if not changed:
                break
            # The groups around these ops may gain from the change.
            for op in changed:
                self._solved[op] = -1
        ops = self._program.ops
        return sorted({one for one in self._group if ops[one[0]].role is not Role.FIXED})

    def _round(self) -> set[int]:
        """Solves the windows at all boundaries; returns the ops of the windows that improved."""
        borders = self._borders()
        if len(borders) > _MOST_BORDERS:
            borders = [border for border in borders if self._is_promising(*border)]
        changed, seen = set[int](), set[tuple[int, ...]]()
        for source, op in sorted(borders, key=self._label)[:_MOST_WINDOWS]:
            if self._group[source] is self._group[op]:
                continue
            window = self._window(source, op)
            if window is not None and window not in seen:
                seen.add(window)
                if self._solve_again(window):
                    changed.update(window)
        return changed

    def _set(self, group: tuple[int, ...]) -> None:
        self._spans.add(group[0], group[-1])
        for op in group:
            self._group[op] = group

    def _label(self, border: tuple[int, int]) -> tuple[object, ...]:
        """Returns a sort key of boundaries in which the indices of ops count last."""
        ops = [self._program.ops[op] for op in border]
        depths = [self._program.depth[op] for op in border]
        return (*depths, *((one.name, one.shape, one.walked, one.seconds) for one in ops), border)

    def _borders(self) -> list[tuple[int, int]]:
        """Returns edges between groups that a kernel could contain, unless both are solved."""
        program, group, solved = self._program, self._group, self._solved
        return [
            (source, op)
            for op, reads in enumerate(program.reads)
            for value in reads
            if (source := program.producer[value]) >= 0
            and group[source] is not group[op]
            and (solved[source] != solved[op] or solved[op] < 0)
            and program.joins(op, value)
        ] + [
            (ops[0], op)
            for ops in program.kindred.values()
            for op in ops[1:]
            if group[ops[0]] is not group[op] and (solved[ops[0]] != solved[op] or solved[op] < 0)
        ]

    def _is_promising(self, source: int, op: int) -> bool:
        """Whether the op at one end of a boundary could join the group at the other end."""
        before, after = self._group[source], self._group[op]
        if walks_declined(self._program, (*before, op)) is None:
            return not self._depends(op, before)
        if walks_declined(self._program, (*after, source)) is None:
            return not self._feeds(source, after)
        return False

    def _depends(self, op: int, group: tuple[int, ...]) -> bool:
        """Whether an op depends on a group through another op; true if the search is too long."""
        program, members, first = self._program, set(group), group[0]
        waiting, seen = [op], {op}
        while waiting:
            one = waiting.pop()
            for value in program.reads[one]:
                source = program.producer[value]
                if source in members and one != op:
                    return True
                if source > first and source not in members and source not in seen:
                    seen.add(source)
                    waiting.append(source)
            if len(seen) > _MOST_VISITS:
                return True
        return False

    def _feeds(self, op: int, group: tuple[int, ...]) -> bool:
        """Whether a group depends on an op through another op; true if the search is too long."""
        program, members, last = self._program, set(group), group[-1]
        waiting, seen = [op], {op}
        while waiting:
            one = waiting.pop()
            for reader in _readers(program, one):
                if reader in members and one != op:
                    return True
                if reader < last and reader not in members and reader not in seen:
                    seen.add(reader)
                    waiting.append(reader)
            if len(seen) > _MOST_VISITS:
                return True
        return False

    def _window(self, source: int, op: int) -> tuple[int, ...] | None:
        """Returns the ops of the groups at a boundary, and of as many neighbours as fit."""
        window = self._closed({self._group[source], self._group[op]})
        if window is None:
            return None
        for group in sorted(self._around(window), key=self._group_label):
            bigger = self._closed({*window, group})
            window = bigger or window
        return tuple(sorted(op for group in window for op in group))

    def _group_label(self, group: tuple[int, ...]) -> tuple[object, ...]:
        ops = [self._program.ops[op] for op in group]
        depths = [self._program.depth[op] for op in group]
        return (depths, [(one.name, one.shape, one.seconds) for one in ops], group)

    def _around(self, window: set[tuple[int, ...]]) -> set[tuple[int, ...]]:
        """Returns the groups that share an edge with a window that a kernel can contain."""
        program = self._program
        found = set[tuple[int, ...]]()
        for op in (op for group in window for op in group):
            for value in program.reads[op]:
                if program.producer[value] >= 0 and program.joins(op, value):
                    found.add(self._group[program.producer[value]])
            for value in program.made[op]:
                found.update(
                    self._group[one] for one in program.readers[value] if program.joins(one, value)
                )
            found.update(self._group[one] for one in program.related(op))
        return found - window

    def _closed(self, groups: set[tuple[int, ...]]) -> set[tuple[int, ...]] | None:
        """Returns groups and everything between them; None if these are too many."""
        bound = self._spans.bound(max(group[-1] for group in groups))
        reached: list[tuple[int, ...]] = []
        waiting, seen = list(groups), set(groups)
        while waiting:
            for other in self._after(waiting.pop()):
                if other not in seen and other[0] <= bound:
                    seen.add(other)
                    reached.append(other)
                    waiting.append(other)
            if len(reached) > _MOST_VISITS:
                return None
        closed = set(groups)
        while between := [
            one for one in reached if one not in closed and not closed.isdisjoint(self._after(one))
        ]:
            closed.update(between)
        return closed if sum(map(len, closed)) <= self._most else None

    def _after(self, group: tuple[int, ...]) -> set[tuple[int, ...]]:
        """Returns the groups and fixed ops that read a group's results."""
        found = {self._group[one] for op in group for one in _readers(self._program, op)}
        return found - {group}

    def _solve_again(self, window: tuple[int, ...]) -> bool:
        """Partitions a window again; returns whether the cost decreased."""
        program = self._program
        found = self._solve(window)
        if found is None:
            return False
        old = {self._group[op] for op in window if program.ops[op].role is not Role.FIXED}
        if self._sum(found) >= self._sum(old):
            return False
        for group in found:
            self._set(group)
        return True

    def _sum(self, groups: Iterable[tuple[int, ...]]) -> Weight:
        total = NO_WEIGHT
        for group in groups:
            if group not in self._weights:
                self._weights[group] = weight(self._cost, self._program, set(group))
            total = added(total, self._weights[group])
        return total


def _readers(program: Program, op: int) -> Iterator[int]:
    for value in program.made[op]:
        yield from program.readers[value]
