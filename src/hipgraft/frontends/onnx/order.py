"""Sorts the nodes of a graph, and finds the values that they read."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, NodeProto


def sort_nodes(graph: GraphProto) -> None:
    """Sorts the nodes of a graph in place, if they are not in order; those of bodies stay.

    onnxruntime's quantizer ignores that bodies read values of the graph around them. Nodes in a
    cycle stay as they are.
    """
    waiting = list(graph.node)
    made_here = {name for node in waiting for name in node.output}
    known: set[str] = set()
    ordered: list[NodeProto] = []
    while waiting:
        left: list[NodeProto] = []
        for node in waiting:
            if any(name in made_here and name not in known for name in names_read(node)):
                left.append(node)
                continue
            ordered.append(node)
            known.update(node.output)
        if len(left) == len(waiting):
            return
        waiting = left
    if ordered != list(graph.node):
        del graph.node[:]
        graph.node.extend(ordered)


def names_read(node: NodeProto) -> Iterator[str]:
    """Yields the values that a node and its bodies read, including values of the bodies."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inside in attribute.g.node:
                yield from names_read(inside)
            yield from (value.name for value in attribute.g.output)


def drop_dead_nodes(graph: GraphProto) -> None:
    """Removes, in place, the nodes whose results no other node reads."""
    used = {value.name for value in graph.output}
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if not used.isdisjoint(node.output):
            kept.append(node)
            used.update(names_read(node))
    if len(kept) < len(graph.node):
        del graph.node[:]
        graph.node.extend(kept[::-1])


def makers_of(graph: GraphProto) -> dict[str, NodeProto]:
    """Returns the node that makes each value, by the value's name."""
    return {name: node for node in graph.node for name in node.output if name}
