"""Regroups the ops of a block by the estimated time of their graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hipgraft.ir.bindings import ir
from hipgraft.transforms.fusion import ELEMENTWISE, is_compute
from hipgraft.transforms.outlining import Group, Grouping, topological
from hipgraft.transforms.partition.cost import CostModel, GraphTime, graph_time
from hipgraft.transforms.partition.program import Program
from hipgraft.transforms.partition.reader import ProgramReader
from hipgraft.transforms.partition.regions import Partitioner
from hipgraft.transforms.partition.rules import CYCLE, group_declined, join_declined

_MOST_VISITS = 256
"""The limit of ops visited in the search for a path that separates two groups."""


@dataclass(frozen=True)
class Block:
    """The ops of a block.

    Attributes:
        ops: all ops except the terminator.
        returned: values that the terminator reads.
    """

    ops: Sequence[ir.Operation]
    returned: Sequence[ir.Value]


@dataclass(frozen=True)
class GraphCosts:
    """Estimates the time of graphs.

    Attributes:
        reader: converts blocks to programs.
        model: model of the time of groups.
    """

    reader: ProgramReader
    model: CostModel

    def regrouped(
        self, grouping: Grouping, free: Collection[Group], block: Block
    ) -> tuple[Grouping, BlockCosts]:
        """Returns the groups of least cost, and the costs of these groups.

        Args:
            grouping: groups of all ops of a block; `outlined` and `attributes` of a new group
            are those of the old group of its first op.
            free: groups whose ops may be regrouped.
            block: block of the ops.
        """
        free = set(free)
        units = _units(grouping, free, block.ops)
        program, kept = self.reader.read(
            [(group.ops, old in free) for group, old in units], block.returned
        )
        number = {unit: op for op, unit in enumerate(kept)}
        partitioner = Partitioner(self.model)
        partition = partitioner.partition(program)
        members_of = {op: members for members in partition for op in members}
        made: dict[object, Group] = {}
        for unit, (group, old) in enumerate(units):
            key = members_of[number[unit]] if old in free else group
            if key not in made:
                made[key] = Group(outlined=old.outlined, attributes=dict(old.attributes))
            made[key].ops.extend(group.ops)
        numbers = {op: at for at, unit in enumerate(kept) for op in units[unit][0].ops}
        groups = Grouping.of(list(made.values()), grouping.reads)
        return groups, BlockCosts(self.model, program, numbers, partitioner.times)

    def of_block(self, block: Block) -> BlockCosts:
        """Returns the costs of a block, any op of which may share a graph."""
        units = [((op,), is_compute(op) and len(op.results) > 0) for op in block.ops]
        program, kept = self.reader.read(units, block.returned)
        numbers = {block.ops[unit]: at for at, unit in enumerate(kept)}
        return BlockCosts(self.model, program, numbers)


class BlockCosts:
    """The estimated time of the groups of one block.

    Args:
        model: model of the time of groups.
        program: program of the block.
        numbers: indices of the block's ops in the program.
        times: known times, by the group's ops in the program.
    """

    def __init__(
        self,
        model: CostModel,
        program: Program,
        numbers: Mapping[ir.Operation, int],
        times: Mapping[tuple[int, ...], GraphTime] | None = None,
    ):
        self._model, self._program, self._numbers = model, program, numbers
        self._times = times or {}

    def times(self, groups: Iterable[Group]) -> dict[Group, GraphTime]:
        """Returns the estimated times of graphs; must be called before the ops change."""
        return {group: self._time(group) for group in groups}

    def _time(self, group: Group) -> GraphTime:
        members = self._members(group)
        found = self._times.get(tuple(sorted(members)))
        return graph_time(self._model, self._program, members) if found is None else found

    def apart(self, grouping: Grouping) -> list[tuple[ir.Operation, str]]:
        """Returns the elementwise ops that start a graph although another one computes an operand.

        Each op comes with the reason why it is not in the other graph.
        """
        found: list[tuple[ir.Operation, str]] = []
        for group in grouping.groups:
            own = set(group.ops)
            for op in group.ops if group.outlined else ():
                if op.name not in ELEMENTWISE:
                    continue
                sources = [grouping.producer(value) for value in op.operands]
                if group in sources or any(user in own for user in _readers(op)):
                    continue
                others = (one for one in sources if one and one.outlined)
                source = next(others, None)
                if source is not None and self._is_known(source):
                    found.append((op, self._reason(op, group, source)))
        return found

    def _is_known(self, group: Group) -> bool:
        return all(op in self._numbers for op in group.ops)

    def _reason(self, op: ir.Operation, own: Group, source: Group) -> str:
        """Returns why an op is not in the graph that computes one of its operands."""
        program, number = self._program, self._numbers[op]
        members = self._members(source)
        union = {*members, number}
        reason = join_declined(program, number, members) or group_declined(program, union)
        if reason is not None:
            return reason
        if self._leaves_and_returns(members, number):
            return CYCLE
        own_members = self._members(own)
        both = members | own_members
        apart = self._model.time(program, members).seconds
        apart += self._model.time(program, own_members).seconds
        together = self._model.time(program, both).seconds
        if together <= apart:
            return "its operand's graph is faster with other ops"
        return f"one graph takes {1e6 * together:.2f} us, and two {1e6 * apart:.2f} us"

    def _leaves_and_returns(self, members: Collection[int], last: int) -> bool:
        """Whether an op depends on a group through an op that is not in it."""
        program = self._program
        waiting = list(members)
        seen = set(members)
        while waiting and len(seen) < len(members) + _MOST_VISITS:
            op = waiting.pop()
            for value in program.made[op]:
                for reader in program.readers[value]:
                    if reader == last and op not in members:
                        return True
                    if reader not in seen and reader < last:
                        seen.add(reader)
                        waiting.append(reader)
        return False

    def _members(self, group: Group) -> set[int]:
        return {self._numbers[op] for op in group.ops}


def _readers(op: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in op.results for use in result.uses]


def _units(
    grouping: Grouping, free: Collection[Group], ops: Sequence[ir.Operation]
) -> list[tuple[Group, Group]]:
    """Returns single ops that may be regrouped, and the other groups as they are.

    The units are in topological order, each with its original group.
    """
    if all(len(group.ops) == 1 for group in grouping.groups):
        return [(group, group) for group in grouping.groups]
    old_of = {op: group for group in grouping.groups for op in group.ops}
    alone: dict[Group, Group] = {}
    kept: dict[Group, Group] = {}
    for op in ops:
        old = old_of[op]
        if old in kept:
            kept[old].ops.append(op)
            continue
        unit = Group([op])
        alone[unit] = old
        if old not in free:
            kept[old] = unit
    ordered = topological(Grouping.of(list(alone), grouping.reads))
    return [(unit, alone[unit]) for unit in ordered]
