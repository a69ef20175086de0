"""Replaces tensors without elements by constants, and simplifies their readers."""

from __future__ import annotations

import math

import numpy as np
from onnx import helper, numpy_helper

from hipgraft.frontends.onnx.legalization.writer import Refused, Writer


def write_empty(writer: Writer) -> bool:
    """Replaces results of a node by constants if they have no elements, or only zeros.

    Returns:
        Whether the node was replaced.

    Raises:
        Refused: other extents of an empty result are dynamic.
    """
    if writer.node.op_type == "Identity" and writer.node.input[0] in writer.graph.constants:
        return False
    outputs = [name for name in writer.node.output if name]
    shapes = [writer.graph.shapes.get(name) for name in outputs]
    known = [shape for shape in shapes if shape is not None]
    extents = [writer.graph.extents.get(name, []) for name in outputs]
    if any(0 in each and None in each for each in extents):
        raise Refused("of no elements is supported for static shapes only")
    if not outputs or len(known) < len(outputs):
        return False
    if writer.node.op_type == "MatMul" and 0 in writer.graph.shapes.get(writer.node.input[0], []):
        _write_zeros(writer, known)
        return True
    if all(0 in shape for shape in known):
        _write_zeros(writer, known)
        return True
    return _scatter(writer) or _concatenate(writer) or _gather(writer)


def _scatter(writer: Writer) -> bool:
    """Replaces an operator that scatters no elements by its operand.

    Index tuples of length 0 select the whole tensor, which the last update then replaces.

    Raises:
        Refused: indices select the whole tensor, and updates are combined with it.
    """
    if writer.node.op_type not in ("Scatter", "ScatterElements", "ScatterND"):
        return False
    x, indices, updates = writer.node.input[:3]
    places = writer.graph.shapes.get(indices, [])
    if 0 not in places:
        return False
    if writer.node.op_type != "ScatterND" or 0 in places[:-1]:
        writer.result(x)
        return True
    if writer.attribute("reduction", "none") != "none":
        raise Refused("that combines whole tensors is not supported")
    shape = writer.graph.shapes[writer.node.output[0]]
    count = math.prod(places[:-1])
    last = writer.slice(writer.reshape(updates, [count, *shape]), 0, count - 1, count)
    writer.result(writer.reshape(last, shape))
    return True


def _write_zeros(writer: Writer, shapes: list[list[int]]) -> None:
    names = [(index, name) for index, name in enumerate(writer.node.output) if name]
    for (index, name), shape in zip(names, shapes, strict=True):
        element = writer.element(name)
        array = np.zeros(shape, helper.tensor_dtype_to_np_dtype(element))
        writer.result(writer.constant_tensor(numpy_helper.from_array(array)), index)


def _concatenate(writer: Writer) -> bool:
    """Removes operands without elements from a concatenation."""
    if writer.node.op_type != "Concat":
        return False
    kept = [name for name in writer.node.input if 0 not in writer.graph.shapes.get(name, [])]
    if len(kept) == len(writer.node.input):
        return False
    writer.again(kept)
    return True


def _gather(writer: Writer) -> bool:
    """Replaces a `GatherND` at index tuples of length 0, each of which selects the whole tensor."""
    if writer.node.op_type != "GatherND":
        return False
    x, indices = writer.node.input
    data, places = writer.graph.shapes.get(x), writer.graph.shapes.get(indices)
    if data is None or not places or places[-1] != 0:
        return False
    batches = int(writer.attribute("batch_dims", 0))
    ones = [1] * (len(places) - 1 - batches)
    tensor = writer.reshape(x, [*data[:batches], *ones, *data[batches:]])
    shape = [*places[:-1], *data[batches:]]
    writer.result(writer.op("Expand", tensor, writer.const(np.array(shape, np.int64))))
    return True
