"""Matches the nodes of a graph with the slots of a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hipgraft.engines.expressions import Scope
from hipgraft.engines.fields import PatternFields
from hipgraft.engines.graph import Graph, Node
from hipgraft.engines.slots import ALL, Slot, rule_check, slot_of
from hipgraft.engines.source import Path, Source
from hipgraft.ir.bindings import ir

_MOST_STEPS = 10_000
"""The most attempts to assign a node to a slot; a graph that needs more does not match."""

_COUNTS = ("nodes", "operands", "results")

Places = dict[str, Node]
"""The nodes of a graph by the names of their slots."""


@dataclass(frozen=True)
class GraphCheck:
    """One rule about a whole graph.

    Attributes:
        rule: path of the rule in the engine's file.
        expression: returns the violation, None if there is none.
    """

    rule: str
    why: Any


@dataclass(frozen=True)
class Pattern:
    """A form of graphs that an engine accepts.

    Attributes:
        name: name of the pattern in the file.
        slots: slots for nodes.
        is_any: whether any graph matches whose nodes all have a slot, regardless of connections.
        architectures: globs; empty for any.
        taps: whether tensors that other nodes read may also be results of the graph.
        checks: checks of the whole graph.
    """

    name: str
    slots: tuple[Slot, ...]
    is_any: bool
    architectures: tuple[str, ...]
    taps: bool
    checks: list[GraphCheck] = field(default_factory=list[GraphCheck])

    def __str__(self) -> str:
        names = [f"[{slot.name}]" if slot.optional else slot.name for slot in self.slots]
        return " ".join(names)

    def has_place_for(self, node: Node) -> bool:
        """Returns whether the op and mode of a node may be anywhere in the pattern."""
        return any(slot.fits(node) for slot in self.slots)


def pattern_of(fields: PatternFields, path: Path, source: Source) -> Pattern:
    """Returns the pattern that a file describes.

    Raises:
        HipgraftError: a name in the pattern is unknown; located.
    """
    slots: list[Slot] = []
    for at, one in enumerate(fields.nodes):
        names = [slot.name for slot in slots]
        slot = slot_of(one, names, fields, (*path, "nodes", at), source)
        if slot.name in names:
            raise source.error((*path, "nodes", at), f"expected another name than '{slot.name}'")
        slots.append(slot)
    if not slots:
        raise source.error((*path, "nodes"), "expected at least one node")
    is_any = fields.form == "any"
    architectures = tuple(fields.architectures)
    pattern = Pattern(fields.name, tuple(slots), is_any, architectures, fields.taps)
    known = [(name,) for name in _COUNTS]
    if not is_any:
        known += [(slot.name, *_parts(slot)) for slot in slots]
    for at, rule in enumerate(fields.rules):
        why = rule_check(rule, known, (*path, "rules", at), source)
        pattern.checks.append(GraphCheck(f"{fields.name}/rules[{at}]", why))
    return pattern


def _parts(slot: Slot) -> list[str]:
    return ["compute_type", "outer", *slot.names]


def graph_scope(graph: Graph, places: Mapping[str, Node]) -> Scope:
    """Returns the values of names in a rule about a graph: counts, and nodes by slot."""
    counts = {
        "nodes": len(graph.nodes),
        "operands": graph.operand_count,
        "results": graph.result_count,
    }
    return lambda name: counts[name] if name in counts else places.get(name)


@dataclass
class Match:
    """The result of matching a graph with a pattern.

    Attributes:
        places: the nodes by slot, None if the graph does not match.
        placed: largest number of nodes that had slots at the same time.
        stuck: first node without a slot, None if a required slot stays empty.
        empty: a required slot that stays empty.
    """

    places: Places | None = None
    placed: int = -1
    stuck: Node | None = None
    empty: str = ""


def match(pattern: Pattern, graph: Graph, *, is_part: bool = False) -> Match:
    """Assigns the nodes of a graph to the slots of a sequence.

    Args:
        pattern: a sequence.
        graph: graph whose nodes all need a slot.
        is_part: whether required slots may stay empty, too.
    """
    return _Matcher(pattern, graph, is_part).match()


class _Matcher:
    def __init__(self, pattern: Pattern, graph: Graph, is_part: bool):
        self.pattern, self.graph, self.is_part = pattern, graph, is_part
        self.best = Match()
        self.steps = 0

    def match(self) -> Match:
        self.best.places = self._fill(0, {})
        return self.best

    def _fill(self, at: int, places: Places) -> Places | None:
        """Fills the slots from index `at` on; returns the first assignment that works."""
        self.steps += 1
        if at == len(self.pattern.slots):
            self._note(places, "")
            return places if len(places) == len(self.graph.nodes) else None
        slot = self.pattern.slots[at]
        for node in self._candidates(slot, places):
            found = self._fill(at + 1, places | {slot.name: node})
            if found is not None or self.steps > _MOST_STEPS:
                return found
        if slot.optional or self.is_part:
            return self._fill(at + 1, places)
        self._note(places, slot.name)
        return None

    def _note(self, places: Places, empty: str) -> None:
        if len(places) > self.best.placed:
            used = set(places.values())
            self.best.placed = len(places)
            self.best.stuck = next((one for one in self.graph.nodes if one not in used), None)
            self.best.empty = empty

    def _candidates(self, slot: Slot, places: Places) -> Iterator[Node]:
        used = set(places.values())
        for node in self.graph.nodes:
            if node not in used and slot.fits(node) and self._is_wired(slot, node, places):
                yield node

    def _is_wired(self, slot: Slot, node: Node, places: Places) -> bool:
        """Whether a node reads the values of the graph that its slot requires, and no others."""
        sources: list[Node] = []
        for role, names in slot.reads:
            source = next((places[name] for name in names if name in places), None)
            values: Sequence[ir.Value] = node.read if role == ALL else node.operands.get(role, [])
            if source is None or not any(self.graph.made_by.get(one) is source for one in values):
                return False
            sources.append(source)
        made = (self.graph.made_by.get(value) for value in node.read)
        return all(maker is None or maker in sources for maker in made)
