"""Decides which nodes of a session hipgraft may take, before anything is compiled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from onnx import NodeProto, TensorProto

from hipgraft.frontends.onnx.legalization import MISPLACED
from hipgraft.frontends.onnx.model import unsupported_operator
from hipgraft.onnxruntime import PROVIDER
from hipgraft.onnxruntime.extents import AnyExtents
from hipgraft.onnxruntime.graph import Kind, SessionGraph

Why = Literal["unsupported", "shape", "host", "compile"]

_BODIES = frozenset({"If", "Loop", "Scan", "SequenceMap"})
_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
     "RandomUniformLike"}
)  # fmt: skip
_VIEWS = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
_INTEGERS = frozenset({TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL})
_PARTS_OF_BYTES = frozenset(
    getattr(TensorProto, name)
    for name in ("INT2", "INT4", "UINT2", "UINT4", "FLOAT4E2M1")
    if hasattr(TensorProto, name)
)
_NO_NUMBERS = (TensorProto.STRING, TensorProto.UNDEFINED)

_FEW = 64
"""The most elements of a result that is an extent or a shape rather than data."""


@dataclass(frozen=True)
class Left:
    """The reason why a node is left to other providers.

    Attributes:
        why: `unsupported`; `shape` if a shape is unknown when the session is created; `host` if the
            node is better run on the CPU; or `compile` if the compiler failed.
        reason: reason in words.
    """

    why: Why
    reason: str


Kinds = Sequence[Mapping[str, Kind]]
"""The types of values by name, for each variant."""


def unsupported_nodes(
    graph: SessionGraph, kinds: Kinds, anything: AnyExtents | None, advice: str
) -> dict[int, Left]:
    """Returns the nodes that cannot be taken, whatever their neighbours are.

    Args:
        graph: graph of the session.
        kinds: types of values.
        anything: properties of values for all extents, if a program is for all extents.
        advice: advice for unknown shapes; empty if there is none.
    """
    found: dict[int, Left] = {}
    for number, node in enumerate(graph.nodes):
        left = _operator(node) or _types(node, graph, kinds, advice)
        if left is None and anything is not None and (problem := anything.problem(node)):
            left = Left("shape", f"{problem}: give extents by option dims")
        if left is not None:
            found[number] = left
    return found


def is_group(node: NodeProto) -> bool:
    """Whether a node is a group of this provider.

    ONNX Runtime inlines functions that no provider took, and then queries again.
    """
    return node.domain == PROVIDER


def _operator(node: NodeProto) -> Left | None:
    if is_group(node):
        return Left("host", "it is a group that was taken before")
    if node.op_type in _BODIES and node.domain in ("", "ai.onnx"):
        return Left("host", "its bodies are graphs of their own, whose nodes may be taken")
    if node.op_type in _RANDOM:
        return Left("unsupported", "it draws random numbers")
    problem = "" if node.op_type in MISPLACED else unsupported_operator(node)
    return Left("unsupported", problem) if problem else None


def _types(node: NodeProto, graph: SessionGraph, kinds: Kinds, advice: str) -> Left | None:
    for name in filter(None, (*node.input, *node.output)):
        for each in kinds:
            kind = each.get(name)
            if kind is None or kind.element in _NO_NUMBERS:
                return Left("unsupported", f"'{name}' is no tensor of numbers")
            if kind.shape is None:
                return Left("shape", _unknown_shape(name, name in node.output, advice))
            # Constants without elements stand for omitted operands.
            if 0 in kind.shape and name not in graph.constants:
                return Left("host", f"'{name}' has no elements")
    return None


def _unknown_shape(name: str, is_result: bool, advice: str) -> str:
    if advice:
        return f"the shape of '{name}' depends on {advice}"
    what = "result" if is_result else "operand"
    return f"the shape of its {what} '{name}' is not known before it runs"


def better_left(
    graph: SessionGraph, kinds: Kinds, groups: Sequence[Sequence[int]]
) -> dict[int, Left]:
    """Returns the nodes of groups that the CPU should run."""
    taken = {node for group in groups for node in group}
    found: dict[int, Left] = {}
    for number in sorted(taken, reverse=True):
        users = graph.users[number]
        node = graph.nodes[number]
        if (
            users
            and not any(user in taken and user not in found for user in users)
            and not graph.results.intersection(node.output)
            and _is_of_extents(node, kinds)
        ):
            found[number] = Left("host", "it computes extents that only nodes on the CPU read")
    for group in groups:
        if all(graph.nodes[number].op_type in _VIEWS for number in group):
            found |= dict.fromkeys(group, Left("host", "its group would compute nothing"))
        found |= _packed(graph, kinds, group)
    return found


def handed_on(graph: SessionGraph, group: Sequence[int]) -> dict[int, Left]:
    """Returns the nodes whose results are operands of their group.

    A program for all extents has no such results.
    """
    boundary = graph.boundary(group)
    same = set(boundary.inputs)
    found: dict[int, Left] = {}
    for number in group:
        node = graph.nodes[number]
        if node.op_type == "Identity" and node.input[0] in same:
            same.add(node.output[0])
            if node.output[0] in boundary.outputs:
                found[number] = Left("host", "it only hands on a value")
    return found


def _is_of_extents(node: NodeProto, kinds: Kinds) -> bool:
    """Whether a node computes a few integers from other integers or from a shape."""
    names = node.output if node.op_type in ("Shape", "Size") else (*node.input, *node.output)
    small = (
        kind.element in _INTEGERS and math.prod(kind.shape or ()) <= _FEW
        for each in kinds
        for kind in (each[name] for name in names if name)
    )
    return all(small)


def _packed(graph: SessionGraph, kinds: Kinds, group: Sequence[int]) -> dict[int, Left]:
    """Returns nodes with packed elements at their boundary: programs take one element per byte."""
    boundary = graph.boundary(group)
    packed = {
        name
        for name in (*boundary.inputs, *boundary.outputs)
        if kinds[0][name].element in _PARTS_OF_BYTES
    }
    if not packed:
        return {}
    return {
        number: Left("unsupported", "a tensor at its boundary has several elements in a byte")
        for number in group
        if packed.intersection((*graph.nodes[number].input, *graph.nodes[number].output))
    }
