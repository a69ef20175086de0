"""Converts a `hipdnn.graph` to a graph document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from hipgraft.dialects import hipdnn
from hipgraft.dialects.framework.fields import Arity, OperandField, ResultField, ValueField
from hipgraft.dialects.hipdnn import ComputeOp, GraphOp
from hipgraft.dialects.hipdnn.container import connected_parts
from hipgraft.hipdnn_io.document import UNSET, GraphDocument, Json, NodeDocument, TensorDocument
from hipgraft.hipdnn_io.forms import FORMS, NodeForm, form_name
from hipgraft.hipdnn_io.values import (
    data_type_name,
    record_of,
    tensor_records,
    value_of,
    write_attribute,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError, OpError
from hipgraft.ir.strided_view import row_major_strides
from hipgraft.ir.tensors import element_type_of, shape_of


def find_graph(module: ir.Module, name: str | None = None) -> GraphOp:
    """Returns the graph of a module.

    Args:
        module: any module at stage `hipdnn-graphs`; it must outlive the result.
        name: name of the graph; optional if there is only one.

    Raises:
        HipgraftError: there is no such graph, or there are several and no name; names are listed.
    """
    graphs: list[GraphOp] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == GraphOp.OP_NAME:
            graphs.append(GraphOp(op))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    names = ", ".join(f"'{graph.name or ''}'" for graph in graphs)
    found = [graph for graph in graphs if name in (None, graph.name)]
    if not graphs:
        raise HipgraftError("the module has no 'hipdnn.graph'")
    if len(found) != 1:
        wanted = "one graph" if name is None else f"one graph called '{name}'"
        raise HipgraftError(f"expected {wanted}, but the module has {names}")
    return found[0]


def export_graph(graph: GraphOp) -> GraphDocument:
    """Returns a graph as a document.

    The records that an import leaves have names, uids and other properties that the IR lacks; ops
    without a record get new ones.

    Raises:
        HipgraftError: hipDNN cannot express an op or type; located.
    """
    errors = hipdnn.verify(graph.operation)
    if errors:
        raise errors[0]
    parts = connected_parts([op.operation for op in graph.body.operations][:-1])
    if parts > 1:
        message = f"hipDNN's graphs are connected, but this one has {parts} separate parts"
        raise OpError(message, graph.operation)
    with graph.operation.context, ir.Location.unknown():
        return _Exporter(graph).document()


def boundary_tensors(graph: GraphOp) -> tuple[list[TensorDocument], list[TensorDocument]]:
    """Returns the tensors of a graph's operands and results, in their order.

    Raises:
        HipgraftError: hipDNN cannot express an op or type; located.
    """
    with graph.operation.context, ir.Location.unknown():
        exporter = _Exporter(graph)
        exporter.document()
    values = (list(graph.body.arguments), exporter.yielded)
    inputs, results = ([exporter.tensors[value] for value in group] for group in values)
    return inputs, results


class _Exporter:
    def __init__(self, graph: GraphOp):
        self.graph = graph
        self.record = record_of(graph.operation)
        *body, terminator = graph.body.operations
        self.body = [op.operation for op in body]
        self.yielded: list[ir.Value] = list(terminator.operation.operands)
        self.tensors: dict[ir.Value, TensorDocument] = {}
        self.unset: set[int | str] = set()
        self.free_uid = 1 + max(self._known_uids(), default=0)

    def document(self) -> GraphDocument:
        self._add_arguments()
        nodes: list[NodeDocument] = []
        for op in self.body:
            if op.name == "arith.constant":
                self._add_constant(op)
            else:
                nodes.append(self._node(cast(ComputeOp, hipdnn.wrap(op)), len(nodes)))
        self._add_ragged()
        default = nodes[0].compute_data_type
        document = GraphDocument(
            name=self.graph.name or "",
            compute_data_type=self.record.get("compute_data_type", default),
            io_data_type=self.record.get("io_data_type", self._io_type()),
            intermediate_data_type=self.record.get("intermediate_data_type", default),
            nodes=nodes,
            tensors=sorted(self.tensors.values(), key=lambda tensor: tensor.uid),
            extra=self.record.get("extra", {}),
        )
        self._unset_types(document)
        return document

    def _unset_types(self, document: GraphDocument) -> None:
        """Unsets types that the file left unset if the graph's defaults still give them."""
        for node in document.nodes:
            if node.name in self.unset and node.compute_data_type == document.compute_data_type:
                node.compute_data_type = UNSET
        for tensor in document.tensors:
            if tensor.uid in self.unset and tensor.data_type == document.default_type(tensor):
                tensor.data_type = UNSET

    def _known_uids(self) -> Iterable[int]:
        for op in (self.graph.operation, *self.body):
            for record in record_of(op).get("tensors", []):
                yield record["uid"]

    def _io_type(self) -> str:
        return next(tensor.data_type for tensor in self.tensors.values() if not tensor.virtual)

    def _add_arguments(self) -> None:
        arguments = list(self.graph.body.arguments)
        kept = tensor_records(self.graph.operation, len(arguments))
        layouts = self.graph.arg_strides or [None] * len(arguments)
        for at, (value, record) in enumerate(zip(arguments, kept, strict=True)):
            strides = layouts[at] or row_major_strides(shape_of(value))
            self._add(value, record, f"arg{at}", strides)

    def _add_constant(self, op: ir.Operation) -> None:
        value = op.results[0]
        (record,) = tensor_records(op, 1)
        scalar = value_of(op)
        if scalar is None or any(extent != 1 for extent in shape_of(value)):
            message = f"constant of type {value.type} cannot be exported; hipDNN has scalars only"
            raise OpError(message, op)
        tensor = self._add(
            value, record, f"scalar{len(self.tensors)}", row_major_strides(shape_of(value))
        )
        tensor.value_type = record.get("value_type", scalar[0])
        tensor.value = record.get("value", scalar[1])

    def _node(self, op: ComputeOp, at: int) -> NodeDocument:
        kind = form_name(type(op))
        record = record_of(op.operation)
        name = record.get("name", f"{op.OP_NAME.removeprefix('hipdnn.')}_{at}")
        self._add_results(op, name)
        if "compute_data_type" in record:
            self.unset.add(name)
        node = NodeDocument(
            type=kind,
            name=name,
            compute_data_type=self._compute_type(op),
            fields=self._fields(op, FORMS[kind], record) | record.get("extra", {}),
            sections=record.get("sections", {}),
        )
        return node

    def _compute_type(self, op: ComputeOp) -> str:
        if op.compute_type is not None:
            return data_type_name(op.compute_type) or "float"
        is_double = any(
            isinstance(element_type_of(value), ir.F64Type) for value in op.operation.operands
        )
        return "double" if is_double else "float"

    def _add_results(self, op: ComputeOp, name: str) -> None:
        kept = iter(tensor_records(op.operation, len(op.operation.results)))
        for field in op.result_fields:
            for at, value in enumerate(op.result_values(field)):
                suffix = f"_{at}" if field.arity is Arity.VARIADIC else ""
                label = f"{name}::{field.name.upper()}{suffix}"
                record = next(kept)
                strides = self._result_strides(op, value, record)
                tensor = self._add(value, record, label, strides)
                tensor.virtual = value not in self.yielded

    def _result_strides(self, op: ComputeOp, value: ir.Value, record: dict[str, Json]) -> list[int]:
        if value not in self.yielded and record:
            return record.get("strides", list(row_major_strides(shape_of(value))))
        if value not in self.yielded:
            operands = [self.tensors[operand] for operand in op.operation.operands]
            return infer_strides(shape_of(value), operands)
        layouts = self.graph.result_strides or [None] * len(self.yielded)
        return layouts[self.yielded.index(value)] or list(row_major_strides(shape_of(value)))

    def _add(
        self, value: ir.Value, record: dict[str, Json], name: str, strides: Sequence[int]
    ) -> TensorDocument:
        data_type = data_type_name(element_type_of(value))
        if data_type is None:
            raise OpError(f"hipDNN has no type for {element_type_of(value)}", self.graph.operation)
        dims = shape_of(value)
        known = record.get("strides", list(row_major_strides(dims)))
        # The offsets of a ragged tensor determine its batches.
        first = "ragged_offset_tensor_uid" in record
        tensor = TensorDocument(
            uid=record.get("uid", self.free_uid),
            name=record.get("name", name),
            data_type=data_type,
            dims=list(dims),
            # The record has the strides that do not matter, the graph the strides that do.
            strides=known
            if record and same_offsets(dims[first:], known[first:], strides[first:])
            else list(strides),
            alignment=record.get("alignment", 16),
            is_runtime_pass_by_value=record.get("is_runtime_pass_by_value", False),
            ragged_offset_multiplier=record.get("ragged_offset_multiplier", 1),
            extra=record.get("extra", {}),
        )
        self.free_uid += "uid" not in record
        if "data_type" in record:
            self.unset.add(tensor.uid)
        self.tensors[value] = tensor
        return tensor

    def _fields(self, op: ComputeOp, form: NodeForm, record: dict[str, Json]) -> dict[str, Json]:
        fields: dict[str, Json] = {}
        # A node that was read from JSON keeps its nulls; other nodes have the nulls that hipDNN's
        # reader requires.
        nulls: list[str] = record.get("nulls", form.null_keys)
        for field in (*form.op.operand_fields, *form.op.result_fields):
            uids = self._uids(op, field)
            if field.arity is Arity.VARIADIC:
                fields[form.key(field)] = uids
            elif uids or form.key(field) in nulls:
                fields[form.key(field)] = uids[0] if uids else None
        for field in form.written_attributes:
            value = write_attribute(field, getattr(op, field.name))
            if value is not None or form.key(field) in nulls:
                fields[form.key(field)] = value
        return fields | _implied_fields(op)

    def _uids(self, op: ComputeOp, field: ValueField) -> list[int]:
        if isinstance(field, ResultField):
            values = op.result_values(field)
        else:
            values = op.operand_values(_dialect_operand(op, cast(OperandField, field)))
        return [self.tensors[value].uid for value in values]

    def _add_ragged(self) -> None:
        graph = self.graph
        arguments = list(graph.body.arguments)
        groups = (
            (arguments, graph.arg_ragged, graph.arg_ragged_multipliers),
            (self.yielded, graph.result_ragged, graph.result_ragged_multipliers),
        )
        for values, offsets, multipliers in groups:
            ones = [1] * len(values)
            for value, at, multiplier in zip(
                values, offsets or [], multipliers or ones, strict=False
            ):
                if at >= 0:
                    tensor = self.tensors[value]
                    tensor.ragged_offset_tensor_uid = self.tensors[arguments[at]].uid
                    tensor.ragged_offset_multiplier = multiplier


def _dialect_operand(op: ComputeOp, field: OperandField) -> OperandField:
    """Returns the operand for hipDNN's `field`; some modes order operands differently."""
    if not isinstance(op, hipdnn.PointwiseOp) or op.info.file_order is None:
        return field
    order, position = op.info.file_order, op.operand_fields.index(field)
    if position >= len(order):
        return field
    return op.operand_fields[op.info.operands.index(order[position])]


def _implied_fields(op: ComputeOp) -> dict[str, Json]:
    """Returns the number of normalised dimensions, which hipDNN requires and the op may imply."""
    if not isinstance(op, hipdnn.LayernormOp | hipdnn.LayernormBackwardOp):
        return {}
    rank = len(shape_of(op.x))
    is_trailing = op.dims == list(range(rank - len(op.dims), rank))
    return {"normalized_dim_count": len(op.dims)} if is_trailing else {}


def infer_strides(dims: Sequence[int], operands: Sequence[TensorDocument]) -> list[int]:
    """Returns strides for a node's result that has none.

    The strides are those of the first operand with equal extents; else packed, in the dimension
    order of the first operand with equal rank; else row-major.
    """
    for operand in operands:
        if operand.dims == list(dims) and all(operand.strides):
            return operand.strides
    same_rank = (one for one in operands if len(one.dims) == len(dims))
    like = next(same_rank, None)
    return list(row_major_strides(dims)) if like is None else packed_like(dims, like)


def packed_like(dims: Sequence[int], like: TensorDocument) -> list[int]:
    """Returns packed strides for `dims`, with the dimension order of `like` in memory."""
    inner_first = sorted(range(len(dims)), key=lambda dim: (like.strides[dim], -dim))
    strides = [0] * len(dims)
    step = 1
    for dim in inner_first:
        strides[dim] = step
        step *= dims[dim]
    return strides


def same_offsets(dims: Sequence[int], left: Sequence[int], right: Sequence[int]) -> bool:
    """Returns whether two layouts give each element the same offset."""
    return len(left) == len(right) and all(
        extent == 1 or a == b for extent, a, b in zip(dims, left, right, strict=True)
    )
