"""Represents nodes and tensors for an engine's rules, in a graph or before they form one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from hipgraft.dialects.framework.fields import Arity
from hipgraft.dialects.hipdnn import ComputeOp, ConvolutionOp, GraphOp, wrap
from hipgraft.ir.bindings import ir
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.tensors import element_of, shape_of


@dataclass(frozen=True)
class Tensor:
    """A tensor of a graph.

    Attributes:
        type: element type as MLIR spells it, e.g. `bf16`.
        dims: extents.
        strides: strides in elements.
        virtual: whether the tensor stays inside the graph.
        constant: whether the tensor is a scalar that is known when the graph is compiled.
    """

    type: str
    dims: list[int]
    strides: list[int]
    virtual: bool = False
    constant: bool = False

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.dims)


@dataclass(frozen=True, eq=False)
class Node:
    """A node of a graph.

    Attributes:
        op: op of the node.
        operands: values that it reads, by role.
        results: values that it computes, by role.
        tensors: tensors of the whole graph.
        inside: values that the whole graph computes.
    """

    op: ComputeOp = field(repr=False)
    operands: Mapping[str, list[ir.Value]] = field(repr=False)
    results: Mapping[str, list[ir.Value]] = field(repr=False)
    tensors: Mapping[ir.Value, Tensor] = field(repr=False)
    inside: frozenset[ir.Value] = field(repr=False)

    @property
    def kind(self) -> str:
        """The name of the op without the dialect, such as `conv_fprop`."""
        return self.op.OP_NAME.removeprefix("hipdnn.")

    @property
    def mode(self) -> str:
        """The mode of a pointwise op or a reduction; empty for other ops."""
        return str(getattr(self.op, "mode", ""))

    def tensors_of(self, role: str) -> list[Tensor]:
        """Returns the operands or results of a role; none if it is absent."""
        values = self.operands.get(role) or self.results.get(role, [])
        return [self.tensors[value] for value in values]

    @property
    def read(self) -> list[ir.Value]:
        """All values that the node reads."""
        return [value for values in self.operands.values() for value in values]

    @property
    def made(self) -> list[ir.Value]:
        """All values that the node computes."""
        return [value for values in self.results.values() for value in values]

    def value(self, name: str) -> Any:
        """Returns the tensor, attribute or derived value that rules call `name`."""
        if name in self.operands or name in self.results:
            return self._operand_or_result(name)
        if name == "compute_type":
            return self.compute_type
        if name == "outer":
            outside = (value for value in self.read if value not in self.inside)
            return next((self.tensors[value] for value in outside), None)
        if name == "groups" and isinstance(self.op, ConvolutionOp):
            return self._groups()
        found = getattr(self.op, name)
        return str(found) if isinstance(found, ir.Type) else found

    @property
    def compute_type(self) -> str:
        """The type of the op's arithmetic; hipDNN's default if the op declares none."""
        if self.op.compute_type is not None:
            return str(self.op.compute_type)
        return "f64" if any(self.tensors[value].type == "f64" for value in self.read) else "f32"

    def _operand_or_result(self, role: str) -> Any:
        tensors = self.tensors_of(role)
        fields = (*self.op.operand_fields, *self.op.result_fields)
        if next(one for one in fields if one.name == role).arity is Arity.VARIADIC:
            return tensors
        return tensors[0] if tensors else None

    def _groups(self) -> int:
        image = self.tensors_of("dx" if "dx" in self.results else "x")[0]
        filters = self.tensors_of("dw" if "dw" in self.results else "w")[0]
        return image.dims[1] // filters.dims[1]


@dataclass(frozen=True)
class Graph:
    """The nodes of a graph, in topological order.

    Attributes:
        nodes: compute ops.
        tensors: tensors that the nodes read and compute.
        made_by: node that computes each tensor of the graph.
    """

    nodes: list[Node]
    tensors: dict[ir.Value, Tensor]
    made_by: dict[ir.Value, Node] = field(default_factory=dict[ir.Value, Node])

    def __post_init__(self) -> None:
        self.made_by.update({value: node for node in self.nodes for value in node.made})

    @property
    def operand_count(self) -> int:
        """The number of tensors that the graph reads from memory."""
        read = {value for node in self.nodes for value in node.read}
        return sum(value not in self.made_by and not self.tensors[value].constant for value in read)

    @property
    def result_count(self) -> int:
        """The number of tensors that the graph writes to memory."""
        return sum(not self.tensors[value].virtual for value in self.made_by)


TypeOf = Callable[[ir.Value, bool], str]
"""Returns the element type of a value, given whether it stays inside of the graph."""


def graph_of(operation: ir.Operation) -> Graph:
    """Returns the graph of a `hipdnn.graph`, or of a single compute op outside of graphs."""
    if operation.name != GraphOp.OP_NAME:
        return graph_of_ops([operation])
    graph = GraphOp(operation)
    *body, terminator = [op.operation for op in graph.body.operations]
    yielded = list(terminator.operands)
    strides = dict(zip(yielded, graph.result_strides or [None] * len(yielded), strict=True))
    arguments = list(graph.body.arguments)
    strides |= dict(zip(arguments, graph.arg_strides or [None] * len(arguments), strict=True))
    ops = [op for op in body if op.name != "arith.constant"]
    made = {result for op in ops for result in op.results}
    tensors = {
        value: _tensor(value, strides.get(value), value in made and value not in yielded)
        for op in ops
        for value in (*op.operands, *op.results)
    }
    return _graph(ops, tensors)


def graph_of_ops(
    ops: Sequence[ir.Operation], type_of: TypeOf | None = None, *, is_part: bool = False
) -> Graph:
    """Returns the graph that ops of a function would form.

    Args:
        ops: compute ops in topological order.
        type_of: returns the type that a value gets in the graph; by default its own.
        is_part: whether readers of the results will join the graph, so that results stay inside.
    """
    members = set(ops)
    tensors: dict[ir.Value, Tensor] = {}
    for op in ops:
        for value in op.operands:
            if value not in tensors:
                tensors[value] = _tensor(value, _strides_of_view(value), False)
        for value in op.results:
            # A value without readers, for example in a test's function, is a result.
            is_read = next(iter(value.uses), None) is not None
            stays = is_part or all(use.owner.operation in members for use in value.uses)
            kind = None if type_of is None else type_of(value, is_read and stays)
            tensors[value] = _tensor(value, None, is_read and stays, kind)
    return _graph(ops, tensors)


def alikeness(op: ir.Operation) -> Hashable:
    """Returns a key for a single op; ops with equal keys are treated alike by all engines."""
    operands = [(one.type, _origin(one)) for one in op.operands]
    results = [one.type for one in op.results]
    return op.name, *op.attributes.items(), *operands, *results


def _origin(value: ir.Value) -> Hashable:
    """Returns the properties of an operand's defining op that engines check."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    name = owner.name
    if name == "hipdnn.view":
        return owner.attributes["strides"]
    return name == "arith.constant" and _is_constant(value)


def _graph(ops: Sequence[ir.Operation], tensors: dict[ir.Value, Tensor]) -> Graph:
    inside = frozenset(result for op in ops for result in op.results)
    nodes: list[Node] = []
    for operation in ops:
        op = cast(ComputeOp, wrap(operation))
        operands = {one.name: op.operand_values(one) for one in op.operand_fields}
        results = {one.name: op.result_values(one) for one in op.result_fields}
        nodes.append(Node(op, operands, results, tensors, inside))
    return Graph(nodes, tensors)


def _tensor(
    value: ir.Value, strides: Sequence[int] | None, virtual: bool, kind: str | None = None
) -> Tensor:
    dims = shape_of(value)
    steps = row_major_strides(dims) if strides is None else strides
    return Tensor(kind or element_of(value), list(dims), list(steps), virtual, _is_constant(value))


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return False
    attribute = owner.attributes["value"]
    return isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat


def _strides_of_view(value: ir.Value) -> list[int] | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "hipdnn.view":
        return None
    return list(ir.DenseI64ArrayAttr(owner.attributes["strides"]))
