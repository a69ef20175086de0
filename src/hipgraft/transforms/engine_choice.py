"""Forms groups that engines accept, the preferred engine first.

An op joins a group as long as the group's engine, or a preferred one, accepts the bigger graph. An
engine with patterns may only accept a graph after more nodes have joined: a convolution with
bias and activation. Such a group stays open; if those nodes never join it, the ops that joined in
vain are held back and the block is grouped again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass

from hipgraft.engines import Engine, graph_of_ops
from hipgraft.engines.graph import alikeness
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import node_name
from hipgraft.passmanager.base import PassState
from hipgraft.transforms.block_costs import Block, GraphCosts
from hipgraft.transforms.fusion import (
    ELEMENTWISE,
    FusionPolicy,
    is_compute,
    leave_to_fallbacks,
)
from hipgraft.transforms.outlining import Group, Grouping
from hipgraft.transforms.partition.cost import GraphTime
from hipgraft.transforms.partition.rules import CYCLE

COST, GREEDY, SINGLE_OP, MIGRAPHX = "cost", "greedy", "single-op", "migraphx"
POLICIES = (COST, GREEDY, SINGLE_OP, MIGRAPHX)

_CHOICE = "engine"
_TAKEN = "taken"


@dataclass(frozen=True)
class _Choice:
    """The engine of a group.

    Attributes:
        rank: its position among the engines.
        is_whole: whether the engine accepts the group as it is; else more ops have to join.
    """

    rank: int
    is_whole: bool


def _choice_of(group: Group) -> _Choice:
    return group.attributes[_CHOICE]


@dataclass(frozen=True)
class EngineChoice:
    """The engines that graphs are formed for.

    Attributes:
        engines: engines, the preferred one first.
        architecture: architecture to check for; empty to skip the check.
        type_of: returns the element type of a value, given whether it stays inside a graph.
        policy: how ops are grouped, one of `POLICIES`.
        costs: estimates of the time of graphs.
    """

    engines: Sequence[Engine]
    architecture: str
    type_of: Callable[[ir.Value, bool], str]
    policy: str
    costs: GraphCosts

    def group(self, block: Block, state: PassState) -> tuple[Grouping, dict[Group, GraphTime]]:
        """Returns the groups of a block with their times; reports the ops outside of them."""
        held: dict[ir.Operation, str] = {}
        known: dict[Hashable, _Choice | None] = {}
        while True:
            scratch = PassState(state.pass_name)
            policy = _Policy(self, held, known, scratch)
            for op in block.ops:
                policy.place(op)
            late = policy.late()
            if not late:
                state.remarks.extend(scratch.remarks)
                return self._completed(policy, block, state)
            held |= late

    def _completed(
        self, policy: _Policy, block: Block, state: PassState
    ) -> tuple[Grouping, dict[Group, GraphTime]]:
        grouping = policy.grouping
        if self.policy == COST:
            grouping, costs = self.costs.regrouped(grouping, self._compiled(grouping), block)
            for op, reason in costs.apart(grouping):
                state.missed(op, "not-fused", f"'{op.name}' starts a graph: {reason}")
        else:
            costs = self.costs.of_block(block)
        times = costs.times(self._compiled(grouping))
        for group in leave_to_fallbacks(self._compiled(grouping), block.ops):
            for op in group.ops:
                state.missed(op, "left", f"'{op.name}' stays: it shares the kernel of a torch op")
        return grouping, times

    def _compiled(self, grouping: Grouping) -> list[Group]:
        """Returns the groups of engines that accept any graph."""
        return [
            one
            for one in grouping.groups
            if one.outlined and self.engines[_choice_of(one).rank].takes_any_graph
        ]

    def engine_of(self, group: Group) -> str:
        """Returns the name of the engine that accepts a group."""
        return self.engines[_choice_of(group).rank].name

    def choose(
        self, ops: Sequence[ir.Operation], held: Container[ir.Operation], most: int | None = None
    ) -> _Choice | None:
        """Returns the first engine that accepts ops as a graph, possibly with more ops.

        Args:
            ops: ops in topological order.
            held: ops that must be accepted without further ops.
            most: rank of the last engine to try, None for all.
        """
        graph = graph_of_ops(ops, self.type_of)
        waits = not any(op in held for op in ops)
        for rank, engine in enumerate(self.engines[: None if most is None else most + 1]):
            if engine.check(graph, self.architecture) is None:
                return _Choice(rank, is_whole=True)
            if waits and self._may_take_more(engine, ops):
                return _Choice(rank, is_whole=False)
        return None

    def _may_take_more(self, engine: Engine, ops: Sequence[ir.Operation]) -> bool:
        graph = graph_of_ops(ops, self.type_of, is_part=True)
        return engine.may_take_more(graph, self.architecture)

    def reason(self, ops: Sequence[ir.Operation], engine: Engine) -> str:
        """Returns the first rule of an engine that fails for ops as a graph."""
        failure = engine.check(graph_of_ops(ops, self.type_of), self.architecture)
        return "it waits for other ops" if failure is None else failure.message


class _Policy:
    """Decides for each op which group it joins."""

    def __init__(
        self,
        options: EngineChoice,
        held: dict[ir.Operation, str],
        known: dict[Hashable, _Choice | None],
        state: PassState,
    ):
        self.grouping = Grouping()
        self._options = options
        self._fusion = FusionPolicy(self.grouping, shares=options.policy != MIGRAPHX)
        compiles = all(one.takes_any_graph for one in options.engines)
        self._stays_apart = options.policy == SINGLE_OP or (options.policy == COST and compiles)
        self._held = held
        self._known = known
        self._state = state
        self._position: dict[ir.Operation, int] = {}

    def place(self, op: ir.Operation) -> None:
        """Adds one op of the block to a group."""
        if not is_compute(op) or not op.results:
            start = self.grouping.set_apart if self._stays_apart else self.grouping.start
            start(op, outlined=False)
            return
        self._position[op] = len(self._position)
        alone = self._alone(op)
        reasons: list[str] = []
        for group in self._candidates(op):
            reason = self._join(op, group, alone)
            if reason is None:
                return
            reasons.append(reason)
        start = self.grouping.set_apart if self._stays_apart else self._fusion.start
        group = start(op, outlined=alone is not None)
        if alone is None:
            self._report_left(op)
            return
        self._note(group, alone)
        if reasons and op.name in ELEMENTWISE:
            reason = self._held.get(op, reasons[0])
            self._state.missed(op, "not-fused", f"'{op.name}' starts a graph: {reason}")

    def _candidates(self, op: ir.Operation) -> list[Group]:
        """Returns the groups that an op may join now; costs are minimized afterwards."""
        if self._stays_apart:
            return []
        found = self._fusion.candidates(op)
        if self._options.policy != COST:
            return found
        return [group for group in found if self._engine(group) is None]

    def _alone(self, op: ir.Operation) -> _Choice | None:
        """Returns the engine for an op as its own graph; caches it, as models repeat ops."""
        if op in self._held:
            return self._options.choose([op], self._held)
        key = alikeness(op)
        if key not in self._known:
            self._known[key] = self._options.choose([op], self._held)
        return self._known[key]

    def late(self) -> dict[ir.Operation, str]:
        """Returns the ops that joined a group in vain, and why no engine accepts it with them."""
        waiting = [
            one for one in self.grouping.groups if one.outlined and not _choice_of(one).is_whole
        ]
        return {
            op: self._decline(group.ops, group)
            for group in waiting
            for op in set(group.ops) - group.attributes[_TAKEN]
        }

    def _engine(self, group: Group) -> Engine | None:
        """Returns the engine of a group if it accepts any graph."""
        engine = self._options.engines[_choice_of(group).rank]
        return engine if engine.takes_any_graph else None

    def _join(self, op: ir.Operation, group: Group, alone: _Choice | None) -> str | None:
        """Adds an op to a group; returns why it cannot, None if it did."""
        current = _choice_of(group)
        engine = self._options.engines[current.rank]
        if alone is not None and alone.rank < current.rank:
            return f"{self._options.engines[alone.rank].name} is preferred to {engine.name}"
        if engine.takes_any_graph:
            return self._fuse(op, group, alone)
        if not self.grouping.can_join(op, group):
            return CYCLE
        others = [one for one in self.grouping.mergeable(op, group) if one.outlined]
        for merged in ([others] if others else []) + [list[Group]()]:
            ops = self._sorted([*group.ops, op, *(member for one in merged for member in one.ops)])
            choice = self._options.choose(ops, self._held, current.rank)
            if choice is not None:
                self.grouping.join(op, group)
                self._fusion.remember(op, group)
                for one in merged:
                    self.grouping.merge(one, group)
                self._note(group, choice)
                return None
        return self._decline([*group.ops, op], group)

    def _decline(self, ops: Sequence[ir.Operation], group: Group) -> str:
        """Returns why the engine of a group does not accept ops as a graph."""
        engine = self._options.engines[_choice_of(group).rank]
        ordered = self._sorted(ops)
        names = ", ".join(f"'{op.name}'" for op in ordered)
        return f"{engine.name} does not take {names}: {self._options.reason(ordered, engine)}"

    def _fuse(self, op: ir.Operation, group: Group, alone: _Choice | None) -> str | None:
        """Adds an op to a group whose engine takes any graph, if one kernel can compute both."""
        current = _choice_of(group)
        if alone != current:
            engine = self._options.engines[current.rank]
            return f"{engine.name} does not take it: {self._options.reason([op], engine)}"
        reason = self._fusion.declines(op, group)
        if reason is None:
            self._fusion.join(op, group, lambda other: _choice_of(other) == current)
        return reason

    def _sorted(self, ops: Sequence[ir.Operation]) -> list[ir.Operation]:
        return sorted(ops, key=self._position.__getitem__)

    def _note(self, group: Group, choice: _Choice) -> None:
        group.attributes[_CHOICE] = choice
        taken = group.attributes.setdefault(_TAKEN, set[ir.Operation]())
        group.attributes[_TAKEN] = set(group.ops) if choice.is_whole else taken

    def _report_left(self, op: ir.Operation) -> None:
        engines = self._options.engines
        reasons = [f"{one.name}: {self._options.reason([op], one)}" for one in engines]
        message = f"no engine takes '{op.name}' op; {'; '.join(reasons)}"
        self._state.missed(op, "not-taken", message, node=node_name(op.location))
