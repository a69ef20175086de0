"""Shapes of the operands and results of nodes that compute rows, with the prime of the rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, TypeProto, defs, helper, numpy_helper, shape_inference

from hipgraft.frontends.onnx.legalization.graph_info import Array, GraphInfo
from hipgraft.frontends.onnx.legalization.independent_rows import axes_of
from hipgraft.frontends.onnx.legalization.row_values import DEPENDS, Extents, Rows, Selection
from hipgraft.frontends.onnx.legalization.writer import Refused, Writer


def shapes_of(
    node: NodeProto, found: Mapping[str, Rows | Extents], graph: GraphInfo
) -> dict[str, list[int]]:
    """Returns the shapes of the operands."""
    shapes: dict[str, list[int]] = {}
    for name in filter(None, node.input):
        one = found.get(name)
        if one is None:
            if name not in graph.shapes:
                raise Refused(f"combines rows{DEPENDS} with a tensor of unknown shape")
            shapes[name] = graph.shapes[name]
        else:
            shapes[name] = list(one.shape if isinstance(one, Rows) else one.array.shape)
    return shapes


def infer_shapes(
    node: NodeProto,
    shapes: Mapping[str, list[int]],
    extents: Mapping[str, Array],
    model: onnx.ModelProto,
    graph: GraphInfo,
) -> dict[str, list[int]]:
    """Returns the shapes of the results, with the prime; their types are kept."""
    types: dict[str, TypeProto] = {}
    for name, shape in shapes.items():
        element = graph.elements.get(name) or TensorProto.INT64
        types[name] = helper.make_tensor_type_proto(element, shape)
    known = {name: graph.constants[name] for name in types if name in graph.constants}
    data = {n: numpy_helper.from_array(one, n) for n, one in {**known, **extents}.items()}
    opset = graph.opset
    if node.domain not in ("", "ai.onnx") or not defs.has(node.op_type, opset, ""):
        raise Refused(f"is not known to process rows independently{DEPENDS}")
    schema = defs.get_schema(node.op_type, opset, "")
    try:
        inferred = shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=list(model.opset_import)
        )
    except shape_inference.InferenceError:
        raise Refused(f"combines rows{DEPENDS} with a tensor of another shape") from None
    results: dict[str, list[int]] = {}
    for name in filter(None, node.output):
        tensor = inferred[name].tensor_type if name in inferred else TypeProto.Tensor()
        dims = tensor.shape.dim
        if not tensor.HasField("shape") or not all(d.HasField("dim_value") for d in dims):
            raise Refused(f"has a result of unknown shape, made of rows{DEPENDS}")
        results[name] = [dim.dim_value for dim in dims]
        graph.elements[name] = tensor.elem_type
    return results


def check_divisor(writer: Writer, rows: Mapping[int, Rows]) -> None:
    """Refuses quotients of integers whose divisor may be zero where no row is selected."""
    node = writer.node
    if node.op_type not in ("Div", "Mod") or 1 not in rows:
        return
    dtype = helper.tensor_dtype_to_np_dtype(writer.element(node.input[1]))
    if np.issubdtype(dtype, np.integer) and rows[1].array is None:
        raise Refused(f"divides by integers of rows{DEPENDS}")


def check_rows(selection: Selection, shapes: Mapping[str, list[int]]) -> None:
    """Refuses results that do not have one dimension of rows."""
    for shape in shapes.values():
        axes = axes_of(shape, selection.rows)
        if len(axes) != 1 or shape[axes[0]] != selection.rows:
            raise Refused(f"combines rows{DEPENDS}")
