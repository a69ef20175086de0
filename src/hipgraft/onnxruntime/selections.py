"""Finds nodes whose shapes depend on data, but whose results together have static shapes.

A mixture of experts selects rows by `NonZero`, processes them, and writes them back. The frontend
rewrites such nodes (`hipgraft.frontends.onnx.legalization.selected_rows`) if it gets all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from hipgraft.onnxruntime.claims import Kinds, Left
from hipgraft.onnxruntime.graph import SessionGraph


@dataclass(frozen=True)
class Selection:
    """The nodes with which a node is taken, or left.

    Attributes:
        nodes: their numbers.
        left: the reason why the node is left if no program computes all of them.
    """

    nodes: frozenset[int]
    left: Left


def selections(graph: SessionGraph, kinds: Kinds, left: Mapping[int, Left]) -> dict[int, Selection]:
    """Returns the selections by node.

    Args:
        graph: graph of the session.
        kinds: types of values.
        left: the nodes that would be left, with those whose shapes are unknown.
    """
    unknown = {name for each in kinds for name, kind in each.items() if kind.shape is None}
    of_node = {
        number: unknown.intersection((*graph.reads[number], *node.output))
        for number, node in enumerate(graph.nodes)
    }
    of_value: dict[str, set[int]] = {name: set() for name in unknown}
    for number, names in of_node.items():
        for name in names:
            of_value[name].add(number)
    found: dict[int, Selection] = {}
    for number, why in left.items():
        nodes, values = _connected(number, of_node, of_value)
        made = {name for one in nodes for name in graph.nodes[one].output}
        is_whole = values <= made and not values & graph.results
        if is_whole and all(one in left and left[one].why == "shape" for one in nodes):
            found.setdefault(number, Selection(nodes, why))
    return found


def _connected(
    number: int, of_node: Mapping[int, AbstractSet[str]], of_value: Mapping[str, AbstractSet[int]]
) -> tuple[frozenset[int], AbstractSet[str]]:
    """Returns the nodes that values of unknown shapes connect to a node, and these values."""
    nodes, values, new = {number}, set[str](), [number]
    while new:
        for name in of_node[new.pop()] - values:
            values.add(name)
            new += of_value[name] - nodes
            nodes |= of_value[name]
    return frozenset(nodes), values
