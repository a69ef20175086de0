"""Finds the layouts of least cost as a minimum cut."""

from __future__ import annotations

from typing import Any, cast

from hipgraft.ir.bindings import ir

_PICOSECONDS = 1e12


class LayoutCut:
    """Tensors, the costs of their layouts, and the costs of pairs with different layouts.

    The minimum cut separates channels-last tensors from channels-first ones. Costs are whole
    numbers, so that the result does not depend on the order of additions.
    """

    _LAST, _FIRST = "last", "first"

    def __init__(self) -> None:
        import networkx as nx  # few programs need it, and it is slow to import

        self._cut: Any = nx.minimum_cut
        self._graph: Any = nx.DiGraph()
        self._graph.add_nodes_from((self._LAST, self._FIRST))

    def add(self, value: ir.Value, *, first: float, last: float) -> None:
        """Adds the seconds that a tensor costs channels first, and last."""
        self._connect(value, self._LAST, first)
        self._connect(self._FIRST, value, last)

    def relate(self, left: ir.Value, right: ir.Value, seconds: float) -> None:
        """Adds the seconds that two tensors cost if their layouts differ."""
        self._connect(left, right, seconds)
        self._connect(right, left, seconds)

    def last(self) -> set[ir.Value]:
        """Returns the tensors to store channels last: as few as possible of all best choices."""
        # The second part of the cut reaches the sink, and is the smallest such set.
        last = cast(set[ir.Value], self._cut(self._graph, self._FIRST, self._LAST)[1][1])
        return {value for value in last if value != self._LAST}

    def _connect(self, source: object, target: object, seconds: float) -> None:
        known = self._graph.get_edge_data(source, target, {"capacity": 0})["capacity"]
        self._graph.add_edge(source, target, capacity=known + round(_PICOSECONDS * seconds))
