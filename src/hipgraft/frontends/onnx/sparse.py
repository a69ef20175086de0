"""Converts sparse constants to dense ones, which the rest of the frontend reads."""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import NodeProto, SparseTensorProto, TensorProto, numpy_helper

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import malformed

_MOST_ELEMENTS = 1 << 28


def make_dense(graph: onnx.GraphProto) -> None:
    """Replaces the sparse initialisers and constants of a graph and its bodies, in place.

    Raises:
        HipgraftError: a sparse tensor is malformed or has too many elements.
    """
    graph.initializer.extend(_dense(one) for one in graph.sparse_initializer)
    del graph.sparse_initializer[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                make_dense(attribute.g)
        if node.op_type == "Constant":
            _make_constant_dense(node)


def _make_constant_dense(node: NodeProto) -> None:
    for attribute in node.attribute:
        if attribute.name == "sparse_value" and attribute.HasField("sparse_tensor"):
            dense = _dense(attribute.sparse_tensor)
            attribute.CopyFrom(onnx.helper.make_attribute("value", dense))


def _dense(sparse: SparseTensorProto) -> TensorProto:
    name = sparse.values.name
    shape = list(sparse.dims)
    if math.prod(shape) > _MOST_ELEMENTS or min(shape, default=1) < 0:
        raise HipgraftError(f"sparse tensor '{name}' of shape {shape} is too large")
    with malformed(f"sparse tensor '{name}'", ""):
        values = numpy_helper.to_array(sparse.values)
        indices = numpy_helper.to_array(sparse.indices)
        dense = np.zeros(shape, values.dtype)
        at = tuple(indices.T) if indices.ndim > 1 else np.unravel_index(indices, shape)
        if indices.size and indices.min() < 0:
            raise ValueError("an index is negative")
        dense[at] = values
    return numpy_helper.from_array(dense, name)
