"""Represents a hipDNN graph independently of its encoding as JSON or FlatBuffer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError

Json = Any
"""A JSON value: None, bool, int, float, str, list or dict."""

UNSET = "unset"


def _no_fields() -> dict[str, Json]:
    return {}


@dataclass
class TensorDocument:
    """A tensor of a graph.

    Attributes:
        uid: number by which nodes refer to the tensor.
        name: name for users.
        data_type: hipDNN's name of the type; `unset` for the graph's default.
        dims: logical extents; empty if they are to be inferred.
        strides: strides in elements; empty if they are to be inferred.
        virtual: whether the tensor is an intermediate, which the caller has no memory for.
        value_type: `Float32Value`, ...; empty unless the tensor is a compile-time scalar.
        value: the compile-time scalar.
        alignment: alignment in bytes.
        is_runtime_pass_by_value: whether the caller passes a scalar through a host pointer.
        ragged_offset_tensor_uid: tensor with the offsets of the batches in a packed buffer.
        ragged_offset_multiplier: elements per unit of these offsets.
        extra: fields that hipgraft does not know.
    """

    uid: int
    name: str
    data_type: str
    dims: list[int]
    strides: list[int]
    virtual: bool = False
    value_type: str = ""
    value: float | int | bool | None = None
    alignment: int = 16
    is_runtime_pass_by_value: bool = False
    ragged_offset_tensor_uid: int | None = None
    ragged_offset_multiplier: int = 1
    extra: dict[str, Json] = field(default_factory=_no_fields)

    @property
    def label(self) -> str:
        """The name of the tensor in messages."""
        return f"tensor '{self.name}' (uid {self.uid})"


@dataclass
class NodeDocument:
    """A node of a graph.

    Attributes:
        type: name in hipDNN's union of attributes, e.g. `MatmulAttributes`.
        name: name for users.
        compute_data_type: hipDNN's name of the type of the arithmetic.
        fields: fields by hipDNN's names, from any section of the JSON.
        sections: the section that each field was read from, for fields that are unknown to
            hipgraft.
    """

    type: str
    name: str
    compute_data_type: str
    fields: dict[str, Json]
    sections: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def label(self) -> str:
        """The name of the node in messages."""
        return f"node '{self.name}' ({self.type})"


@dataclass
class GraphDocument:
    """A graph.

    Attributes:
        name: name for users.
        compute_data_type: compute type of nodes whose own is unset.
        io_data_type: type of tensors that are not virtual and whose own type is unset.
        intermediate_data_type: type of virtual tensors whose own type is unset.
        nodes: nodes, in any order when read, in topological order when written.
        tensors: tensors, in any order when read, by uid when written.
        extra: other fields of the graph.
        source: file name for messages.
        warnings: warnings for users, such as unknown fields.
        is_overridden: whether shapes of an execution replace the file's, so that those of virtual
            tensors are inferred from the nodes.
    """

    name: str
    compute_data_type: str
    io_data_type: str
    intermediate_data_type: str
    nodes: list[NodeDocument]
    tensors: list[TensorDocument]
    extra: dict[str, Json] = field(default_factory=_no_fields)
    source: str = ""
    warnings: list[str] = field(default_factory=list[str])
    is_overridden: bool = False

    def default_type(self, tensor: TensorDocument) -> str:
        """Returns the type of a tensor whose own type is unset."""
        return self.intermediate_data_type if tensor.virtual else self.io_data_type

    def type_of(self, tensor: TensorDocument) -> str:
        """Returns a tensor's type; `UNSET` if neither the tensor nor the graph has one."""
        return self.default_type(tensor) if tensor.data_type == UNSET else tensor.data_type

    def error(self, message: str) -> HipgraftError:
        """Returns an error of this file."""
        return HipgraftError(message, location=self.source)


def shortened(value: Json) -> str:
    """Returns a JSON value as messages show it."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
