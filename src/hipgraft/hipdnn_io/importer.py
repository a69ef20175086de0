"""Converts a graph document to a module with one function that holds one `hipdnn.graph`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.dialects.framework.fields import Arity
from hipgraft.dialects.framework.kinds import FLOAT
from hipgraft.dialects.hipdnn.shapes import batch_extent
from hipgraft.hipdnn_io.document import (
    UNSET,
    GraphDocument,
    Json,
    NodeDocument,
    TensorDocument,
    shortened,
)
from hipgraft.hipdnn_io.values import (
    VALUE_TYPES,
    constant,
    mlir_type,
    read_attribute,
    set_record,
    unknown_type,
    value_of,
)
from hipgraft.hipdnn_io.wiring import WiredNode, Wiring, wire
from hipgraft.ir.bindings import ir, make_context
from hipgraft.ir.entry_points import note_names
from hipgraft.ir.strided_view import row_major_strides


def import_document(document: GraphDocument, context: ir.Context | None = None) -> ir.Module:
    """Returns a module at stage `hipdnn-graphs` for a graph.

    Its function has the graph's name. Arguments are the tensors that no node writes; the results
    are those that are not virtual, in the document's order, with logical extents. `arg_strides`
    and `result_strides` of the graph define the layout in memory.

    Args:
        document: the graph; the import adds to its warnings.
        context: context of the module; a new one if absent.

    Raises:
        HipgraftError: the graph breaks a rule; the message names the node and the field.
    """
    with make_context() if context is None else context:
        wiring = wire(document)
        module = _Importer(document, wiring).module()
        errors = hipdnn.verify(module)
    if errors:
        raise errors[0]
    for key in document.extra.keys() - _GRAPH_FIELDS:
        document.warnings.append(f"graph has unknown field '{key}', which is kept")
    return module


_GRAPH_FIELDS = {
    "preferred_engine_id",
    "is_override_shape_enabled",
    "min_required_engine_api_version",
    "id",
}


class _Importer:
    def __init__(self, document: GraphDocument, wiring: Wiring):
        self.document = document
        self.wiring = wiring
        self.types = {uid: self._type(tensor) for uid, tensor in wiring.tensors.items()}
        self.values: dict[int, ir.Value] = {}

    def module(self) -> ir.Module:
        location = self._location("graph", self.document.name)
        with location:
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                self._function(location)
        return module

    def _function(self, location: ir.Location) -> None:
        arguments, results = self.wiring.arguments, self.wiring.results
        inputs, outputs = ([self.types[one.uid] for one in group] for group in (arguments, results))
        function = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(_symbol(self.document.name)),
                "function_type": ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs)),
            },
            regions=1,
        )
        known = _distinct_names([*arguments, *results])
        note_names(function, known)
        names = [ir.Location.name(name, location) for name in known[: len(arguments)]]
        block = function.regions[0].blocks.append(*inputs, arg_locs=names)
        with ir.InsertionPoint(block):
            graph = self._graph(list(block.arguments))
            ir.Operation.create("func.return", operands=graph.outputs)

    def _graph(self, inputs: Sequence[ir.Value]) -> hipdnn.GraphOp:
        arguments, results = self.wiring.arguments, self.wiring.results
        graph = hipdnn.graph(
            inputs,
            [self.types[one.uid] for one in results],
            name=self.document.name or None,
            arg_strides=_layouts(arguments),
            result_strides=_layouts(results),
            arg_ragged=self._ragged(arguments),
            result_ragged=self._ragged(results),
            arg_ragged_multipliers=_multipliers(arguments),
            result_ragged_multipliers=_multipliers(results),
        )
        tensors = [_tensor_record(one) for one in arguments]
        set_record(graph.operation, {**self._graph_record(), "tensors": tensors})
        for tensor, value in zip(arguments, graph.body.arguments, strict=True):
            self.values[tensor.uid] = value
        with ir.InsertionPoint(graph.body):
            for tensor in self.wiring.constants:
                self.values[tensor.uid] = self._constant(tensor)
            for node in self.wiring.nodes:
                self._node(node)
            hipdnn.yield_([self.values[one.uid] for one in results])
        return graph

    def _graph_record(self) -> dict[str, Json]:
        document = self.document
        return {
            "compute_data_type": document.compute_data_type,
            "io_data_type": document.io_data_type,
            "intermediate_data_type": document.intermediate_data_type,
            "extra": document.extra,
        }

    def _ragged(self, tensors: Sequence[TensorDocument]) -> list[int] | None:
        positions = {one.uid: at for at, one in enumerate(self.wiring.arguments)}
        offsets = [one.ragged_offset_tensor_uid for one in tensors]
        if all(uid is None for uid in offsets):
            return None
        for tensor, uid in zip(tensors, offsets, strict=True):
            if uid is not None and uid not in positions:
                raise self.document.error(f"{tensor.label}: its ragged offsets are no input")
        return [-1 if uid is None else positions[uid] for uid in offsets]

    def _constant(self, tensor: TensorDocument) -> ir.Value:
        if tensor.value is None:
            raise self.document.error(f"{tensor.label} requires field 'value'")
        if tensor.value_type not in VALUE_TYPES.values():
            raise self.document.error(f"{tensor.label}: unknown value type '{tensor.value_type}'")
        location = self._location("tensor", tensor.name)
        op = constant(tensor, self.types[tensor.uid], location)
        record = _tensor_record(tensor)
        written = value_of(op)
        if written is None:
            raise self.document.error(f"{tensor.label} has a value, but no type for one")
        if written != (tensor.value_type, tensor.value):
            record |= {"value_type": tensor.value_type, "value": tensor.value}
        set_record(op, {"tensors": [record]})
        return op.results[0]

    def _node(self, wired: WiredNode) -> None:
        node, op_class = wired.node, wired.form.op
        attributes = self._attributes(wired)
        operands = [
            [self.values[uid] for uid in wired.operands[field.name]]
            for field in op_class.operand_fields
        ]
        if op_class is hipdnn.PointwiseOp:
            operands = self._in_dialect_order(attributes.get("mode"), operands)
        results: dict[str, Any] = {}
        for field in op_class.result_fields:
            types = [self.types[uid] for uid in wired.results[field.name]]
            if types or field.arity is not Arity.OPTIONAL:
                results[field.name] = types
        op = op_class.build(
            *operands,
            results=results,
            loc=self._location("node", node.name),
            compute_type=self._data_type(
                node.compute_data_type, self.document.compute_data_type, node.label
            ),
            **attributes,
        )
        _keep_precision(op, attributes)
        if self.document.is_overridden:
            self._infer_virtual(wired, op)
        written = list(wired.written)
        self.values.update(zip(written, op.operation.results, strict=True))
        tensors = [_tensor_record(self.wiring.tensors[uid]) for uid in written]
        set_record(op.operation, {**_node_record(wired), "tensors": tensors})

    def _infer_virtual(self, wired: WiredNode, op: hipdnn.ComputeOp) -> None:
        """Infers the shapes of virtual results from the operands."""
        inferred = op.infer_resized()
        for field in op.result_fields:
            for uid, value in zip(wired.results[field.name], op.result_values(field), strict=True):
                tensor = self.wiring.tensors[uid]
                if not tensor.virtual:
                    continue
                if field.name not in inferred:
                    raise self.document.error(
                        f"{tensor.label} is virtual, and '{op.operation.name}' does not tell its "
                        "shape where others are overridden"
                    )
                tensor.dims = list(inferred[field.name])
                tensor.strides = list(row_major_strides(tensor.dims))
                value.set_type(self._type(tensor))

    def _in_dialect_order(
        self, mode: str | None, operands: list[list[ir.Value]]
    ) -> list[list[ir.Value]]:
        info = hipdnn.PointwiseMode(mode).info if mode else None
        if info is None or info.file_order is None:
            return operands
        names, order = info.operands, info.file_order
        return [operands[order.index(name)] for name in names] + operands[len(names) :]

    def _attributes(self, wired: WiredNode) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for field in wired.form.written_attributes:
            if field.name not in wired.attributes:
                continue
            key, raw = wired.form.key(field), wired.attributes[field.name]
            try:
                values[field.name] = read_attribute(field, raw)
            except ValueError as error:
                raise self.document.error(
                    f"{wired.node.label}: expected field '{key}' to be {error}, "
                    f"but found {shortened(raw)}"
                ) from None
            if values[field.name] is None and field.required:
                raise self.document.error(f"{wired.node.label} requires field '{key}'")
        # hipDNN's schema does not allow null here.
        if values.get("normalized_dim_count") == 0:
            del values["normalized_dim_count"]
        return values

    def _type(self, tensor: TensorDocument) -> ir.RankedTensorType:
        for key, values, least in (("dims", tensor.dims, 1), ("strides", tensor.strides, 0)):
            if not values:
                raise self.document.error(f"{tensor.label} requires field '{key}'")
            if min(values) < least:
                raise self.document.error(
                    f"{tensor.label}: expected values of {least} or more in field '{key}', "
                    f"but found {values}"
                )
        if len(tensor.dims) != len(tensor.strides):
            raise self.document.error(
                f"{tensor.label}: expected {len(tensor.dims)} values in field 'strides' as in "
                f"'dims', but found {len(tensor.strides)}"
            )
        if max(_strides(tensor)) >= 1 << 63:
            raise self.document.error(f"{tensor.label} needs more elements than memory can have")
        element = self._data_type(self.document.type_of(tensor), UNSET, tensor.label)
        return ir.RankedTensorType.get(tensor.dims, element, loc=ir.Location.unknown())

    def _data_type(self, name: str, default: str, label: str) -> ir.Type:
        for candidate in (name, default):
            if candidate == UNSET:
                continue
            type_ = mlir_type(candidate)
            if type_ is None:
                raise self.document.error(f"{label}: {unknown_type(candidate)}")
            return type_
        raise self.document.error(f"{label} has no data type, and the graph gives none")

    def _location(self, what: str, name: str) -> ir.Location:
        source = self.document.source
        text = f"{source}: {what} '{name}'" if source else f"{what} '{name}'"
        return ir.Location.name(text)


def _distinct_names(tensors: Sequence[TensorDocument]) -> list[str]:
    """Returns unique names of tensors; adds the uid to missing or duplicate names."""
    counts = Counter(one.name for one in tensors)
    return [
        one.name if one.name and counts[one.name] == 1 else f"{one.name or 'tensor'}_{one.uid}"
        for one in tensors
    ]


def _symbol(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_") or "main"


def _layouts(tensors: Sequence[TensorDocument]) -> list[list[int] | None] | None:
    layouts = [None if _is_row_major(one) else _strides(one) for one in tensors]
    return layouts if any(layouts) else None


def _strides(tensor: TensorDocument) -> list[int]:
    """Returns the strides in memory; a ragged tensor's offsets replace its batch stride."""
    if tensor.ragged_offset_tensor_uid is None:
        return tensor.strides
    least = batch_extent(tensor.dims, tensor.strides)
    return [max(least, tensor.strides[0]), *tensor.strides[1:]]


def _multipliers(tensors: Sequence[TensorDocument]) -> list[int] | None:
    multipliers = [one.ragged_offset_multiplier for one in tensors]
    return multipliers if set(multipliers) - {1} else None


def _is_row_major(tensor: TensorDocument) -> bool:
    """Whether the tensor is packed in order; strides of extents of 1 do not matter."""
    packed = zip(tensor.dims, tensor.strides, row_major_strides(tensor.dims), strict=True)
    return all(extent == 1 or stride == step for extent, stride, step in packed)


def _tensor_record(tensor: TensorDocument) -> dict[str, Json]:
    """Returns the properties of a tensor that the IR cannot express."""
    record: dict[str, Json] = {"uid": tensor.uid, "name": tensor.name}
    if tensor.data_type == UNSET:
        record["data_type"] = UNSET
    if tensor.strides != list(row_major_strides(tensor.dims)):
        record["strides"] = tensor.strides
    for key, default in _TENSOR_DEFAULTS.items():
        if getattr(tensor, key) != default:
            record[key] = getattr(tensor, key)
    return record


_TENSOR_DEFAULTS: dict[str, Json] = {
    "alignment": 16,
    "is_runtime_pass_by_value": False,
    "ragged_offset_tensor_uid": None,
    "ragged_offset_multiplier": 1,
    "extra": {},
}


def _node_record(wired: WiredNode) -> dict[str, Json]:
    node: NodeDocument = wired.node
    record: dict[str, Json] = {"name": node.name}
    if node.compute_data_type == UNSET:
        record["compute_data_type"] = UNSET
    nulls = {key for key, value in node.fields.items() if value is None}
    needed = {key for key in wired.form.null_keys if node.fields.get(key) is None}
    # Only JSON has sections, and nulls.
    if node.sections and nulls != needed:
        record["nulls"] = sorted(nulls)
    if wired.notes:
        sections = {key: node.sections[key] for key in wired.notes if node.sections.get(key)}
        record |= {"extra": wired.notes, "sections": sections}
    return record


def _keep_precision(op: hipdnn.ComputeOp, attributes: dict[str, Any]) -> None:
    """Stores numbers that single precision would change as f64, so that files round-trip."""
    for field in op.attribute_fields:
        value = attributes.get(field.name)
        if field.kind is FLOAT and value is not None and getattr(op, field.name) != value:
            wide = ir.FloatAttr.get(ir.F64Type.get(), float(value))
            op.operation.attributes[field.name] = wide
