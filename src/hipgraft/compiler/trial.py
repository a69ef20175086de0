"""Finds the nodes of a model's graph for which groups of its nodes do not compile."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hipgraft.ir.diagnostics import HipgraftError

_LOG = logging.getLogger("hipgraft")

_TRIES = 64
"""The limit of failed compilations; after it, groups that do not compile are left out whole."""

Node = TypeVar("Node", bound=Hashable)
Compiled = TypeVar("Compiled")


@dataclass(frozen=True)
class Refusal(Generic[Node]):
    """The reason why a node is left to other backends.

    Attributes:
        error: error of a compilation.
        nodes: nodes that were compiled.
    """

    error: HipgraftError
    nodes: Sequence[Node]


class Trials(Generic[Node, Compiled]):
    """Compiles groups of nodes, and finds the nodes to leave out if that fails.

    Args:
        compile: compiles a group, or raises a `HipgraftError`.
        check: quickly raises a `HipgraftError` if a node alone does not reach the compiler of
            kernels.
        named: function that returns the nodes that an error mentions.

    Attributes:
        compiled: results by group.
    """

    def __init__(
        self,
        compile: Callable[[Sequence[Node]], Compiled],
        check: Callable[[Node], object],
        named: Callable[[HipgraftError], Iterable[Node]],
    ):
        self.compiled: dict[tuple[Node, ...], Compiled] = {}
        self._compile = compile
        self._check = check
        self._named = named
        self._failures = 0

    def run(self, groups: Iterable[Sequence[Node]]) -> dict[Node, Refusal[Node]]:
        """Compiles groups that are not compiled yet, and returns the nodes to leave out."""
        found: dict[Node, Refusal[Node]] = {}
        for group in groups:
            if tuple(group) not in self.compiled:
                found |= self._try(group)
        return found

    def _try(self, group: Sequence[Node]) -> dict[Node, Refusal[Node]]:
        try:
            self.compiled[tuple(group)] = self._compile(group)
        except HipgraftError as error:
            self._failures += 1
            _LOG.info("a group of %d nodes does not compile: %s", len(group), error)
            return self._culprits(group, error)
        return {}

    def _culprits(self, group: Sequence[Node], error: HipgraftError) -> dict[Node, Refusal[Node]]:
        refusal = Refusal(error, group)
        if len(group) == 1 or self._failures >= _TRIES:
            return dict.fromkeys(group, refusal)
        # An error mentions one node; this quickly checks whether each of the others imports.
        found = {node: why for node in group if (why := self._refused(node))}
        if found:
            return found
        named = set(self._named(error))
        if named.intersection(group):
            return {node: refusal for node in group if node in named}
        middle = len(group) // 2
        return {
            **self._try(group[:middle]),
            **self._try(group[middle:]),
        } or dict.fromkeys(group[middle:], refusal)

    def _refused(self, node: Node) -> Refusal[Node] | None:
        try:
            self._check(node)
        except HipgraftError as error:
            return Refusal(error, [node])
        return None
