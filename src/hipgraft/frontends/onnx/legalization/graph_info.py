"""Collects the known metadata of an ONNX graph's values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto

from hipgraft.frontends.onnx.legalization.members import members_of

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass
class GraphInfo:
    """The known metadata of a graph: that of its values by name, and its opset.

    Attributes:
        shapes: static shapes.
        extents: known extents of the values of known rank, None for others.
        elements: element types, as numbers of `TensorProto.DataType`.
        constants: elements of small initialisers.
        opset: version of the default domain.
        taken: all names in use.
        tensors: all initialisers.
        sequences: names of the tensors in sequences that are known.
        file: path of the model; external data is in this file or beside it.
    """

    shapes: dict[str, list[int]]
    elements: dict[str, int]
    constants: dict[str, Array]
    opset: int
    taken: set[str] = field(default_factory=set[str])
    tensors: Mapping[str, TensorProto] = field(default_factory=dict[str, TensorProto])
    sequences: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    file: Path | None = None
    extents: dict[str, list[int | None]] = field(default_factory=dict[str, list[int | None]])

    @classmethod
    def of(
        cls,
        model: onnx.ModelProto,
        constants: Mapping[str, Array],
        weights: Mapping[str, TensorProto],
        file: Path | None = None,
    ) -> GraphInfo:
        """Collects the metadata of a model with inferred shapes.

        Args:
            model: the model.
            constants: elements of small initialisers.
            weights: initialisers that are set aside.
            file: path of the model.
        """
        graph = model.graph
        shapes: dict[str, list[int]] = {}
        extents: dict[str, list[int | None]] = {}
        elements: dict[str, int] = {}
        for value in [*graph.value_info, *graph.input, *graph.output]:
            tensor = value.type.tensor_type
            elements[value.name] = tensor.elem_type
            dims = tensor.shape.dim
            if not tensor.HasField("shape"):
                continue
            known = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
            extents[value.name] = known
            static = [extent for extent in known if extent is not None]
            if len(static) == len(known):
                shapes[value.name] = static
        for tensor in graph.initializer:
            shapes[tensor.name] = list(tensor.dims)
            elements[tensor.name] = tensor.data_type
        _tell_operands(graph, shapes)
        opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
        taken = {*elements, *(name for node in graph.node for name in node.output)}
        tensors = {**weights, **{tensor.name: tensor for tensor in graph.initializer}}
        sequences = members_of(graph.node, constants)
        return cls(
            shapes, elements, dict(constants), opset, taken, tensors, sequences, file, extents
        )


_SHAPE_KEEPING = frozenset(
    {"Abs", "Cast", "CastLike", "Ceil", "Cos", "Exp", "Floor", "Identity", "Log", "Neg", "Relu",
     "Round", "Sigmoid", "Sin", "Sqrt", "Tanh"}
)  # fmt: skip
_BINARY = frozenset({"Add", "Div", "Mul", "Sub"})


def _tell_operands(graph: onnx.GraphProto, shapes: dict[str, list[int]]) -> None:
    """Infers the shapes of operands from those of results, which the model may declare."""
    for node in reversed(graph.node):
        shape = shapes.get(node.output[0]) if len(node.output) else None
        if shape is None:
            continue
        if node.op_type in _SHAPE_KEEPING:
            shapes.setdefault(node.input[0], shape)
        if node.op_type in _BINARY:
            for one, other in (tuple(node.input), tuple(node.input)[::-1]):
                if shapes.get(other) == []:
                    shapes.setdefault(one, shape)
