"""A hipDNN graph as data: what its JSON and its FlatBuffer have in common."""

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
        uid: what nodes call it by.
        name: name for people.
        data_type: hipDNN's name of the type, `unset` if the graph gives it.
        dims: logical extents; empty if they are to be inferred.
        strides: in elements; empty if they are to be inferred.
        virtual: whether it is an intermediate, for which the caller has no memory.
        value_type: `Float32Value`, ...; empty if the tensor is no compile-time scalar.
        value: the compile-time scalar.
        alignment: bytes.
        is_runtime_pass_by_value: whether the caller passes a scalar by host pointer.
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
        """How messages call it."""
        return f"tensor '{self.name}' (uid {self.uid})"


@dataclass
class NodeDocument:
    """A node of a graph.

    Attributes:
        type: name in hipDNN's union of attributes, e.g. `MatmulAttributes`.
        name: name for people.
        compute_data_type: hipDNN's name of the type of the arithmetic.
        fields: by hipDNN's names, whatever section of the JSON they are in.
        sections: the section that each field was read from, for fields that hipgraft does not
            know.
    """

    type: str
    name: str
    compute_data_type: str
    fields: dict[str, Json]
    sections: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"node '{self.name}' ({self.type})"


@dataclass
class GraphDocument:
    """A graph.

    Attributes:
        name: name for people.
        compute_data_type: of nodes whose own is unset.
        io_data_type: of tensors that are not virtual and whose own type is unset.
        intermediate_data_type: of virtual tensors whose own type is unset.
        nodes: in any order when read, in topological order when written.
        tensors: in any order when read, by uid when written.
        extra: other fields of the graph.
        source: name of the file, for messages.
        warnings: what a reader should know, e.g. unknown fields.
        is_overridden: whether shapes of an execution are in place of the file's, so that those of
            virtual tensors follow from the nodes.
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

    def error(self, message: str) -> HipgraftError:
        """Returns an error of this file."""
        return HipgraftError(message, location=self.source)


def shortened(value: Json) -> str:
    """Returns a JSON value as messages show it."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
