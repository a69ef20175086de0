"""Finds the tensors in sequences whose members are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto

from hipgraft.frontends.onnx.order import names_read

_MAKERS = frozenset(
    {"Identity", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"}
)


def members_of(
    nodes: Iterable[NodeProto], constants: Mapping[str, np.ndarray[Any, Any]]
) -> dict[str, list[str]]:
    """Returns the names of the tensors in each sequence that is known.

    Args:
        nodes: nodes of a graph, in order.
        constants: elements of small initialisers, among them positions in sequences.
    """
    known: dict[str, list[str]] = {}
    for node in nodes:
        members = _made(node, known, constants) if node.op_type in _MAKERS else None
        if members is not None:
            known[node.output[0]] = members
    return known


def _made(
    node: NodeProto, known: Mapping[str, list[str]], constants: Mapping[str, np.ndarray[Any, Any]]
) -> list[str] | None:
    """Returns the members of the sequence that a node makes, None if they are unknown."""
    if node.op_type == "SequenceEmpty":
        return []
    if node.op_type == "SequenceConstruct":
        return list(node.input)
    if node.input[0] not in known:
        return None
    members = list(known[node.input[0]])
    given = [*node.input, "", ""]
    if node.op_type == "Identity":
        return members
    inserts = node.op_type == "SequenceInsert"
    at = given[2] if inserts else given[1]
    if at and at not in constants:
        return None
    position = int(constants[at].reshape(-1)[0]) if at else len(members) - (not inserts)
    position += len(members) if position < 0 else 0
    if not 0 <= position < len(members) + inserts:
        return None
    if inserts:
        return [*members[:position], given[1], *members[position:]]
    return [*members[:position], *members[position + 1 :]]


def drop_unused(graph: GraphProto, known: Mapping[str, list[str]]) -> bool:
    """Removes the nodes that make unused sequences, and returns whether there were any."""
    used = {value.name for value in graph.output}
    kept: list[NodeProto] = []
    for node in reversed(graph.node):
        if node.op_type in _MAKERS and node.output[0] in known and node.output[0] not in used:
            continue
        kept.append(node)
        used.update(names_read(node))
    if len(kept) == len(graph.node):
        return False
    del graph.node[:]
    graph.node.extend(kept[::-1])
    return True
