"""Checks whether an engine accepts a graph, and finds the first rule that a graph breaks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hipgraft.engines.fields import EngineFields
from hipgraft.engines.graph import Graph, Node
from hipgraft.engines.patterns import (
    Match,
    Pattern,
    Places,
    graph_scope,
    match,
    pattern_of,
)
from hipgraft.engines.slots import Slot
from hipgraft.engines.source import Source
from hipgraft.engines.wording import one_of

_OWN = "iree"


@dataclass(frozen=True)
class Failure:
    """The reason why an engine rejects a graph.

    Attributes:
        rule: path of the first rule that fails in the engine's file:
            `convolution/bias/types`, or `nodes` if no pattern has such nodes.
        message: the expected and the actual form.
        node: the node at fault, None for the whole graph.
        progress: number of rules that the graph fulfilled before this one.
    """

    rule: str
    message: str
    node: Node | None = None
    progress: int = 0

    def __str__(self) -> str:
        return self.message


class Engine:
    """An engine as its file describes it.

    Attributes:
        name: name that graphs select the engine by.
        summary: one-line description.
        architectures: globs of the architectures that the engine runs on; empty for any.
        patterns: patterns of the graphs that the engine accepts.
        path: path of the engine's file.
    """

    def __init__(self, fields: EngineFields, source: Source):
        """Builds an engine from the fields of its file.

        Raises:
            HipgraftError: a name in the fields is unknown; located.
        """
        self.name, self.summary, self.path = fields.name, fields.summary, source.path
        self.architectures = tuple(fields.architectures)
        self.patterns = [
            pattern_of(one, ("patterns", at), source) for at, one in enumerate(fields.patterns)
        ]
        if not self.patterns:
            raise source.error(("patterns",), "expected at least one pattern")

    @property
    def takes_any_graph(self) -> bool:
        """Whether the engine is a compiler, which accepts any graph of its nodes."""
        return any(pattern.is_any for pattern in self.patterns)

    def check(self, graph: Graph, architecture: str = "") -> Failure | None:
        """Returns the first rule that a graph breaks; None if the engine accepts it.

        If several patterns match the nodes, the pattern that fulfils the most rules is reported.

        Args:
            graph: nodes and tensors; see `graph_of`.
            architecture: architecture to run on; empty to skip the check.
        """
        for node in graph.nodes:
            if not any(pattern.has_place_for(node) for pattern in self.patterns):
                return self._unknown_node(node)
        matches = [(one, self._match(one, graph)) for one in self.patterns]
        if all(found.places is None for _, found in matches):
            return _no_pattern(graph, matches)
        failures: list[Failure] = []
        for pattern, found in matches:
            if found.places is None:
                continue
            failure = self._check_pattern(pattern, graph, found.places, architecture)
            if failure is None:
                return None
            failures.append(failure)
        return max(failures, key=lambda failure: failure.progress)

    def may_take_more(self, graph: Graph, architecture: str = "") -> bool:
        """Returns whether a graph is part of one that the engine may accept.

        The graph's nodes must have slots in a sequence and fulfil their rules. Rules about the
        whole graph are skipped.
        """
        for pattern in self.patterns:
            places = None if pattern.is_any else match(pattern, graph, is_part=True).places
            if places is None or any(
                _wrong_architecture(architecture, allowed)
                for allowed in (self.architectures, pattern.architectures)
            ):
                continue
            checks = (
                why
                for slots, node in _placed(pattern, graph, places)
                for _, _, why in _node_checks(slots, node)
            )
            if all(why is None for why in checks):
                return True
        return False

    def _match(self, pattern: Pattern, graph: Graph) -> Match:
        if not pattern.is_any:
            return match(pattern, graph)
        stuck = next((one for one in graph.nodes if not pattern.has_place_for(one)), None)
        return Match({} if stuck is None else None, -1, stuck)

    def _check_pattern(
        self, pattern: Pattern, graph: Graph, places: Places, architecture: str
    ) -> Failure | None:
        checks = self._checks(pattern, graph, places, architecture)
        for progress, (rule, node, message) in enumerate(checks):
            if message is not None:
                return Failure(rule, message, node, progress)
        return None

    def _checks(
        self, pattern: Pattern, graph: Graph, places: Places, architecture: str
    ) -> Iterator[tuple[str, Node | None, str | None]]:
        """Yields each rule with its node and its violation; None if the rule is fulfilled."""
        for rule, allowed in (
            ("architectures", self.architectures),
            (f"{pattern.name}/architectures", pattern.architectures),
        ):
            yield rule, None, _wrong_architecture(architecture, allowed)
        if self.name != _OWN:
            yield from _constant_checks(graph)
        if not pattern.is_any and not pattern.taps:
            yield from _tap_checks(pattern, graph)
        for slots, node in _placed(pattern, graph, places):
            yield from _node_checks(slots, node)
        scope = graph_scope(graph, places)
        for check in pattern.checks:
            yield check.rule, None, check.why(scope)

    def _unknown_node(self, node: Node) -> Failure:
        slots = [slot for pattern in self.patterns for slot in pattern.slots]
        modes = sorted({mode for slot in slots if node.kind in slot.ops for mode in slot.modes})
        if modes:
            message = f"expected '{node.kind}' of mode {one_of(modes)}, but found '{node.mode}'"
        else:
            ops = sorted({op for slot in slots for op in slot.ops})
            message = f"expected {one_of(ops)}, but found {_shown(node)}"
        return Failure("nodes", message, node)


def _wrong_architecture(architecture: str, allowed: Sequence[str]) -> str | None:
    if not architecture or not allowed:
        return None
    if any(fnmatchcase(architecture, one) for one in allowed):
        return None
    return f"expected architecture {one_of(allowed)}, but found {architecture}"


def _constant_checks(graph: Graph) -> Iterator[tuple[str, Node | None, str | None]]:
    """Checks the rules that hipDNN's graph format implies for every engine but hipgraft's own."""
    for node in graph.nodes:
        constants = [graph.tensors[value] for value in node.read if graph.tensors[value].constant]
        large = [tensor.dims for tensor in constants if tensor.size != 1]
        found = f"expected a constant of one element, but found shape {large[0]}" if large else None
        yield "constants", node, found


def _tap_checks(pattern: Pattern, graph: Graph) -> Iterator[tuple[str, Node | None, str | None]]:
    read = {value for node in graph.nodes for value in node.read}
    for node in graph.nodes:
        tapped = [
            value for value in node.made if value in read and not graph.tensors[value].virtual
        ]
        message = "expected its result to stay in the graph" if tapped else None
        yield f"{pattern.name}/taps", node, message


def _placed(pattern: Pattern, graph: Graph, places: Places) -> Iterator[tuple[list[Slot], Node]]:
    """Yields each node with its slot, or with all fitting slots if the pattern takes any graph."""
    if pattern.is_any:
        for node in graph.nodes:
            yield [slot for slot in pattern.slots if slot.fits(node)], node
        return
    for slot in pattern.slots:
        if slot.name in places:
            yield [slot], places[slot.name]


def _node_checks(
    slots: Sequence[Slot], node: Node
) -> Iterator[tuple[str, Node | None, str | None]]:
    """Yields the checks of one slot; among several, of the first slot whose checks all pass."""
    found = [[(one.rule, node, one.why(node, node.value)) for one in slot.checks] for slot in slots]
    passing = (checks for checks in found if all(message is None for _, _, message in checks))
    yield from next(passing, max(found, key=_passed))


def _passed(checks: Sequence[tuple[str, Node, str | None]]) -> int:
    """Returns the number of rules that are fulfilled before the first violation."""
    return next((at for at, (_, _, why) in enumerate(checks) if why is not None), len(checks))


def _no_pattern(graph: Graph, matches: Sequence[tuple[Pattern, Match]]) -> Failure:
    """Returns the failure of the pattern that has slots for the most nodes."""
    pattern, found = max(matches, key=lambda one: one[1].placed)
    rule = f"{pattern.name}/nodes"
    form = f"pattern '{pattern.name}' ({pattern})"
    empty = next((slot for slot in pattern.slots if slot.name == found.empty), None)
    if found.stuck is None or (empty and not any(map(empty.fits, graph.nodes))):
        return Failure(rule, f"{form} needs '{found.empty}', which the graph does not have")
    return Failure(rule, f"{form} has no place for {_shown(found.stuck)} here", found.stuck)


def _shown(node: Node) -> str:
    return f"'{node.kind}'" + (f" of mode '{node.mode}'" if node.mode else "")
