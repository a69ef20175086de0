"""Represents the graph of a session: its nodes, their operands and shapes, and parts as models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import onnx
from onnx import NodeProto, TensorProto, shape_inference

from hipgraft.frontends.onnx.folding import fold_constants, small_constants
from hipgraft.frontends.onnx.legalization import CONTRIBUTED_DOMAIN, RefusedNode, legalize
from hipgraft.frontends.onnx.limits import check_inference
from hipgraft.frontends.onnx.model import unsupported_operator
from hipgraft.frontends.symbols import Extents
from hipgraft.ir.diagnostics import HipgraftError

Shape = tuple[int, ...]

_LEFT = "hipgraft.left"
_ROUNDS = 256  # rounds of inference; each needs the results of the previous round


@dataclass(frozen=True)
class Kind:
    """The type of a tensor.

    Attributes:
        element: number of `TensorProto.DataType`.
        shape: extents, None if any is unknown.
    """

    element: int
    shape: Shape | None


@dataclass(frozen=True)
class Boundary:
    """The values that a part of a graph reads, and its results read elsewhere, in node order.

    Attributes:
        inputs: names of values that are not constants.
        outputs: names of results.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class SessionGraph:
    """A graph as the provider writes it.

    Args:
        path: path of its model. Larger constants are external data, which stays in its file.

    Attributes:
        symbols: names of the symbolic dimensions of its inputs; one without a name is called
            `INPUT.DIMENSION`.

    Raises:
        HipgraftError: the model cannot be read.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            self.model = onnx.load(path, load_external_data=False)
        except Exception as error:
            raise HipgraftError("cannot read the model", location=str(path)) from error
        self.nodes: list[NodeProto] = list(self.model.graph.node)
        self.constants: dict[str, TensorProto] = {
            one.name: one for one in self.model.graph.initializer
        }
        self.symbols = _named_symbols(self.model.graph)

    def forget_names(self, known: Collection[str]) -> None:
        """Gives each dimension of the inputs its own symbol, and drops the names of others.

        In bodies of nodes, a loop-carried value may change its shape, so that dimensions of equal
        names may have different extents.

        Args:
            known: names that stay.
        """
        graph = self.model.graph
        for value in _values(graph):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param and dim.dim_param not in known:
                    dim.ClearField("dim_param")
        self.symbols = _named_symbols(graph)

    @cached_property
    def _producers(self) -> dict[str, int]:
        return {name: i for i, node in enumerate(self.nodes) for name in node.output if name}

    @cached_property
    def reads(self) -> list[tuple[str, ...]]:
        """Names of the values that each node reads, its bodies included, without constants."""
        return [
            tuple(
                name
                for name in dict.fromkeys((*node.input, *_captured(node)))
                if name and name not in self.constants
            )
            for node in self.nodes
        ]

    @cached_property
    def sources(self) -> list[tuple[int, ...]]:
        """The nodes whose results each node reads."""
        return [
            tuple({self._producers[name] for name in read if name in self._producers})
            for read in self.reads
        ]

    @cached_property
    def users(self) -> list[tuple[int, ...]]:
        """The nodes that read results of each node."""
        found: list[list[int]] = [[] for _ in self.nodes]
        for node, sources in enumerate(self.sources):
            for source in sources:
                found[source].append(node)
        return [tuple(each) for each in found]

    @cached_property
    def results(self) -> frozenset[str]:
        """The names of the graph's outputs."""
        return frozenset(one.name for one in self.model.graph.output)

    def boundary(self, group: Sequence[int]) -> Boundary:
        """Returns the values that a group reads, and its results that are read outside."""
        inside = frozenset(group)
        made = {name for node in group for name in self.nodes[node].output if name}
        inputs = dict.fromkeys(
            name for node in group for name in self.reads[node] if name not in made
        )
        read = {name for i, names in enumerate(self.reads) if i not in inside for name in names}
        wanted = self.results | read
        outputs = [n for node in group for n in self.nodes[node].output if n and n in wanted]
        return Boundary(tuple(inputs), tuple(outputs))

    def kinds(self, extents: Extents) -> dict[str, Kind]:
        """Returns the types of values by name, given the extents of symbolic dimensions."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        for value in _values(model.graph):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in extents:
                    dim.dim_value = extents[dim.dim_param]
        model.opset_import.add(domain=_LEFT, version=1)
        for node in model.graph.node:
            has_bodies = any(one.HasField("g") or len(one.graphs) for one in node.attribute)
            if has_bodies or _is_unknown(node):
                node.domain = _LEFT  # keeps the types that the session gave the node
                del node.attribute[:]
        declared = _kinds(model.graph)
        inferred = self._inferred(model)
        return declared | {
            name: kind
            for name, kind in inferred.items()
            if kind.shape is not None or name not in declared
        }

    def _inferred(self, model: onnx.ModelProto) -> dict[str, Kind]:
        """Infers types, also of values behind computed shapes and contributed operators."""
        weights = {one.name: one for one in self.constants.values() if one.external_data}
        for name, tensor in weights.items():
            model.graph.initializer.remove(tensor)
            model.graph.input.append(make_info(name, tensor.data_type, tensor.dims))
        found: dict[str, Kind] = {}
        for _ in range(_ROUNDS):
            for value in [one for one in model.graph.value_info if _shape(one) is None]:
                model.graph.value_info.remove(value)
            try:
                check_inference(model)
                model = shape_inference.infer_shapes(model, data_prop=True)
                found |= _kinds(model.graph)
                if not (fold_constants(model) or _rewrite_contributed(model, weights)):
                    break
            except (HipgraftError, ValueError, shape_inference.InferenceError):
                break
        return found

    @cached_property
    def declared(self) -> dict[str, tuple[int | str, ...]]:
        """The dimensions of values that the session declared: extents, names, or empty names."""
        return {
            value.name: tuple(
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param
                for dim in value.type.tensor_type.shape.dim
            )
            for value in _values(self.model.graph)
        }

    def extract(
        self, group: Sequence[int], infos: Mapping[str, onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        """Returns a group as a model, whose nodes are named `NUMBER:NAME`.

        Args:
            group: indices of nodes, in order.
            infos: types of the group's operands and results, by name.
        """
        boundary = self.boundary(group)
        model = onnx.ModelProto(ir_version=self.model.ir_version)
        model.opset_import.extend(self.model.opset_import)
        graph = model.graph
        graph.name = "group"
        for number in group:
            node = graph.node.add()
            node.CopyFrom(self.nodes[number])
            node.name = f"{number}:{node.name or node.op_type}"
        used = dict.fromkeys(name for node in graph.node for name in node.input)
        graph.initializer.extend(self.constants[name] for name in used if name in self.constants)
        graph.input.extend(infos[name] for name in boundary.inputs)
        graph.output.extend(infos[name] for name in boundary.outputs)
        return model


def _is_unknown(node: NodeProto) -> bool:
    """Returns whether type inference fails at a node."""
    if node.domain == CONTRIBUTED_DOMAIN:
        return bool(unsupported_operator(node))
    return node.domain not in ("", "ai.onnx") and not onnx.defs.has(node.op_type, node.domain)


def _rewrite_contributed(model: onnx.ModelProto, weights: Mapping[str, TensorProto]) -> bool:
    """Replaces contributed operators by ONNX's, so that inference knows their results."""
    if not any(node.domain == CONTRIBUTED_DOMAIN for node in model.graph.node):
        return False
    try:
        return legalize(model, small_constants(model.graph, ()), dict(weights))
    except RefusedNode as refused:
        refused.node.domain = _LEFT
        return True


def _named_symbols(graph: onnx.GraphProto) -> tuple[str, ...]:
    """Names the unknown dimensions of a graph's inputs."""
    found: dict[str, None] = {}
    for value in graph.input:
        for number, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value"):
                dim.dim_param = dim.dim_param or f"{value.name}.{number}"
                found[dim.dim_param] = None
    return tuple(found)


def make_info(name: str, element: int, dims: Sequence[int | str] | None) -> onnx.ValueInfoProto:
    """Returns a value's type; a dimension is an extent or a name."""
    return onnx.helper.make_tensor_value_info(name, element, dims)


def _captured(node: NodeProto) -> Iterator[str]:
    """Yields the names of outer values that the bodies of a node read."""
    for attribute in node.attribute:
        for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            own: Collection[str] = {
                *(one.name for one in (*body.input, *body.initializer)),
                *(name for inner in body.node for name in inner.output),
            }
            for inner in body.node:
                read = (*inner.input, *_captured(inner))
                yield from (name for name in read if name and name not in own)
            yield from (one.name for one in body.output if one.name not in own)


def _values(graph: onnx.GraphProto) -> list[onnx.ValueInfoProto]:
    return [*graph.input, *graph.output, *graph.value_info]


def _shape(value: onnx.ValueInfoProto) -> Shape | None:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    if not all(one.HasField("dim_value") and one.dim_value >= 0 for one in dims):
        return None
    return tuple(one.dim_value for one in dims)


def _kinds(graph: onnx.GraphProto) -> dict[str, Kind]:
    found = {one.name: Kind(one.data_type, tuple(one.dims)) for one in graph.initializer}
    for value in _values(graph):
        if value.type.HasField("tensor_type"):
            found.setdefault(value.name, Kind(value.type.tensor_type.elem_type, _shape(value)))
    return found
