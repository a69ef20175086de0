"""Counts the steps of a loop whose condition depends on constants only."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, helper
from onnx.reference import ReferenceEvaluator

from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.frontends.onnx.legalization.writer import Writer
from hipgraft.frontends.onnx.order import names_read


def counted_steps(writer: Writer, body: GraphProto, most: int) -> int | None:
    """Returns the steps of a loop whose condition depends on constants only; else None.

    Args:
        writer: writer of the loop, `(trip count, condition, values...)`.
        body: body of the loop.
        most: steps after which counting ends.
    """
    needed, nodes = _condition(body)
    outer = {name: array for name, array in writer.graph.constants.items() if name in needed}
    inner = {tensor.name for tensor in body.initializer}
    names = list(writer.node.input[1:]) or [""]
    given = dict(zip((value.name for value in body.input[1:]), names, strict=True))
    made = {name for node in nodes for name in node.output} | inner
    state = {name: _constant(writer.graph, given[name]) for name in given if name in needed}
    if any(array is None for array in state.values()):
        return None
    if needed - made - outer.keys() - state.keys() - {body.input[0].name}:
        return None
    following = {value.name: body.output[index].name for index, value in enumerate(body.input[1:])}
    first = _constant(writer.graph, names[0])
    if first is None:
        return None
    if not first.all():
        return 0
    inputs = [*outer, *state, body.input[0].name]
    step = _evaluator(writer, body, nodes, inputs, [following[name] for name in state])
    for count in range(most):
        try:
            results = step.run(None, {**outer, **state, body.input[0].name: iteration(body, count)})
        except Exception:  # an operator or a type that the evaluator does not know
            return None
        condition, *rest = results
        if not np.asarray(condition).all():
            return count + 1
        state = dict(zip(state, rest, strict=True))
    return None


def iteration(body: GraphProto, count: int) -> Array:
    """Returns the number of a step as the body declares it: a scalar, or one element (tf2onnx)."""
    rank = len(body.input[0].type.tensor_type.shape.dim)
    return np.full([1] * rank, count, np.int64)


def _constant(graph: GraphInfo, name: str) -> Array | None:
    return np.array(True) if not name else graph.constants.get(name)


def _condition(body: GraphProto) -> tuple[set[str], list[NodeProto]]:
    """Returns the values that a condition needs, and the nodes that compute them."""
    carried = {value.name: index for index, value in enumerate(body.input[1:])}
    needed = {body.output[0].name}
    nodes: list[NodeProto] = []
    while True:
        before = len(needed)
        nodes = [node for node in body.node if needed & set(node.output)]
        for node in nodes:
            needed.update(names_read(node))
        needed.update(body.output[carried[name]].name for name in needed & carried.keys())
        if len(needed) == before:
            return needed, nodes


def _evaluator(
    writer: Writer, body: GraphProto, nodes: list[NodeProto], inputs: list[str], carried: list[str]
) -> ReferenceEvaluator:
    """Returns an evaluator of a condition and of the values carried to the next step."""
    # The evaluator requires distinct results that are not inputs.
    ends = [
        helper.make_node("Identity", [name], [f"{name}/{index}"])
        for index, name in enumerate([body.output[0].name, *carried])
    ]
    graph = helper.make_graph(
        [*nodes, *ends],
        "condition",
        [helper.make_value_info(name, onnx.TypeProto()) for name in inputs],
        [helper.make_value_info(node.output[0], onnx.TypeProto()) for node in ends],
        list(body.initializer),
    )
    opsets = [helper.make_opsetid("", writer.graph.opset)]
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))
