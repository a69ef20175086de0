"""Unrolls loops of known length, and computes both branches of conditionals."""

from __future__ import annotations

from onnx import GraphProto, NodeProto, ValueInfoProto, helper, numpy_helper

from hipgraft.frontends.onnx.legalization.bodies import BodyCopier
from hipgraft.frontends.onnx.legalization.counted_loops import counted_steps, iteration
from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer
from hipgraft.ir.diagnostics import Declined

_MOST_NODES = 1 << 13


def _scan(writer: Writer) -> None:
    """Rewrites `(states..., sequences...)`: a step for each element of the sequences."""
    body: GraphProto = writer.attribute("body")
    count = int(writer.attribute("num_scan_inputs"))
    states, sequences = list(writer.node.input[:-count]), writer.node.input[-count:]
    if len(states) + count != len(body.input) or writer.graph.opset < 9:
        raise Refused("of this opset is not supported")
    axes = _axes(writer, "scan_input_axes", [len(writer.shape(name)) for name in sequences])
    lengths = {writer.shape(name)[axis] for name, axis in zip(sequences, axes, strict=True)}
    steps = max(lengths)
    _check_length(writer, body, steps)
    backward = writer.attribute("scan_input_directions", [0] * count)
    copier, kept = BodyCopier(writer), len(states)
    outputs: list[list[str]] = [[] for _ in body.output[kept:]]
    for step in range(steps):
        elements = [
            writer.op(
                "Gather", name, writer.like_int(steps - 1 - step if back else step), axis=axis
            )
            for name, axis, back in zip(sequences, axes, backward, strict=True)
        ]
        results = copier.copy_graph(body, [*states, *elements])
        states = results[:kept]
        for one, value in zip(outputs, results[kept:], strict=True):
            one.append(value)
    for index, state in enumerate(states):
        writer.result(state, index)
    _scan_outputs(writer, outputs, kept)


def _axes(writer: Writer, name: str, ranks: list[int]) -> list[int]:
    given = writer.attribute(name, [0] * len(ranks))
    return [int(axis) % max(rank, 1) for axis, rank in zip(given, ranks, strict=True)]


def _scan_outputs(writer: Writer, outputs: list[list[str]], first: int) -> None:
    backward = writer.attribute("scan_output_directions", [0] * len(outputs))
    given = writer.attribute("scan_output_axes", [0] * len(outputs))
    for index, values in enumerate(outputs):
        if not writer.has_output(first + index):
            continue
        ordered = values[::-1] if backward[index] else values
        writer.result(_stacked(writer, ordered, int(given[index])), first + index)


def _stacked(writer: Writer, values: list[str], axis: int) -> str:
    axes = writer.const([axis], "int64")
    rows = [writer.op("Unsqueeze", value, axes) for value in values]
    if not rows:
        raise Refused("of no steps is not supported")
    return rows[0] if len(rows) == 1 else writer.op("Concat", *rows, axis=axis)


def _check_length(writer: Writer, body: GraphProto, steps: int) -> None:
    if steps * max(len(body.node), 1) > _MOST_NODES:
        raise Refused(f"of {steps} steps of {len(body.node)} operators is not supported")


def _loop(writer: Writer) -> None:
    """`(trip count, condition, values...)` of a known number of steps."""
    body: GraphProto = writer.attribute("body")
    values = list(writer.node.input[2:])
    if not all(_is_carried(writer, name) for name in values):
        raise Declined("not-a-tensor", "not all values are tensors or known sequences")
    steps = counted_steps(writer, body, _MOST_NODES // max(len(body.node), 1))
    is_counted = steps is not None
    if steps is None:
        steps = _trip_count(writer, len(values))
    elif writer.has_input(0):
        steps = min(steps, max(writer.ints(0)[0], 0))
    _check_length(writer, body, steps)
    condition = writer.node.input[1] if writer.has_input(1) else writer.const(True)
    is_endless = is_counted or _is_endless(writer, body)
    if not is_endless and len(body.output) > len(values) + 1 and not _declared(writer, len(values)):
        raise Refused("of an unknown number of steps is not supported")
    copier = BodyCopier(writer)
    outputs: list[list[str]] = [[] for _ in body.output[len(values) + 1 :]]
    for step in range(steps):
        results = copier.copy_graph(body, [writer.const(iteration(body, step)), condition, *values])
        following = results[1 : len(values) + 1]
        if not is_endless:  # results of steps after the end of the loop are dropped
            following = [
                writer.op("Where", condition, new, old)
                for new, old in zip(following, values, strict=True)
            ]
            condition = writer.op("And", condition, results[0])
        values = following
        for one, value in zip(outputs, results[len(values) + 1 :], strict=True):
            one.append(value)
    for index, value in enumerate(values):
        writer.result(value, index)
    _scan_outputs(writer, outputs, len(values))


def _is_carried(writer: Writer, name: str) -> bool:
    return bool(writer.graph.elements.get(name)) or name in writer.graph.sequences


def _declared(writer: Writer, first: int) -> int | None:
    """Returns the number of steps that the shape of a scan output declares."""
    for name in writer.node.output[first:]:
        shape = writer.graph.shapes.get(name)
        if shape:
            return shape[0]
    return None


def _trip_count(writer: Writer, first: int) -> int:
    declared = _declared(writer, first)
    if declared is not None:
        return declared
    if writer.has_input(0) and writer.node.input[0] in writer.graph.constants:
        return max(writer.ints(0)[0], 0)
    raise Refused("of an unknown number of steps is not supported")


def _is_endless(writer: Writer, body: GraphProto) -> bool:
    """Whether only the trip count ends the loop."""
    if writer.has_input(1):
        condition = writer.graph.constants.get(writer.node.input[1])
        if condition is None or not condition.all():
            return False
    made = {name: node for node in body.node for name in node.output}
    name = body.output[0].name
    while name in made and made[name].op_type in ("Identity", "Cast"):
        name = made[name].input[0]
    return name == body.input[1].name or _is_true(writer, name, body, made)


def _is_true(writer: Writer, name: str, body: GraphProto, made: dict[str, NodeProto]) -> bool:
    """Whether a value of the body, or of the surrounding graph, is the constant true."""
    if name in writer.graph.constants:
        return bool(writer.graph.constants[name].all())
    tensors = {tensor.name: tensor for tensor in body.initializer}
    if name in tensors:
        return bool(numpy_helper.to_array(tensors[name]).all())
    node = made.get(name)
    if node is None or node.op_type != "Constant" or not node.attribute[0].HasField("t"):
        return False
    return bool(numpy_helper.to_array(node.attribute[0].t).all())


def _if(writer: Writer) -> None:
    """Selects among the results of both branches, which have no side effects."""
    branches: list[GraphProto] = [writer.attribute(f"{name}_branch") for name in ("then", "else")]
    for pair in zip(branches[0].output, branches[1].output, strict=True):
        if not all(value.type.HasField("tensor_type") for value in pair):
            raise Refused("of anything but tensors is not supported")
        shapes = [_static_shape(value) for value in pair]
        if shapes[0] is None or shapes[0] != shapes[1]:
            raise Refused("whose branches have results of different shapes is not supported")
    copier = BodyCopier(writer)
    results = [copier.copy_graph(branch, []) for branch in branches]
    condition = writer.reshape(writer.node.input[0], [])
    for index, (yes, no) in enumerate(zip(*results, strict=True)):
        writer.result(writer.op("Where", condition, yes, no), index)


def hoist_branches(writer: Writer) -> None:
    """Moves the nodes of both branches before an `If`, so that the shapes of results are found."""
    branches: list[GraphProto] = [writer.attribute(f"{name}_branch") for name in ("then", "else")]
    if all(node.op_type == "Identity" for branch in branches for node in branch.node):
        raise Declined("hoisted", "it selects among values")
    outputs = [value for branch in branches for value in branch.output]
    if not all(value.type.HasField("tensor_type") for value in outputs):
        raise Declined("no-tensors", "it selects among other values than tensors")
    copier = BodyCopier(writer)
    selections: dict[str, GraphProto] = {}
    for name, branch in zip(("then", "else"), branches, strict=True):
        nodes: list[NodeProto] = []
        results: list[ValueInfoProto] = []
        for value, found in zip(branch.output, copier.copy_graph(branch, []), strict=True):
            result = writer.fresh("selected")
            nodes.append(helper.make_node("Identity", [found], [result], name=writer.node.name))
            kind = helper.make_tensor_type_proto(value.type.tensor_type.elem_type, None)
            results.append(helper.make_value_info(result, kind))
        selections[f"{name}_branch"] = helper.make_graph(nodes, name, [], results)
    writer.again(writer.node.input, **selections)


def _static_shape(value: ValueInfoProto) -> list[int] | None:
    dims = value.type.tensor_type.shape.dim
    if not all(dim.HasField("dim_value") for dim in dims):
        return None
    return [dim.dim_value for dim in dims]


CONTROL_FLOW: dict[str, Rewrite] = {"If": _if, "Loop": _loop, "Scan": _scan}
"""The rewrites, by operator."""
