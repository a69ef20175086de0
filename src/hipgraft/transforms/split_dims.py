"""Splits dims of graphs, so that their results can be written in the order of windows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import Shape, element_type_of, shape_of
from hipgraft.transforms.fusion import NORMS
from hipgraft.transforms.outlining import is_splat, set_operand_layouts
from hipgraft.transforms.recognition.values import make_window, mode_of, readers, window

_CONSTANT = "arith.constant"
_POINTWISE = "hipdnn.pointwise"
_REDUCTION = "hipdnn.reduction"


def split_dims(graph: hipdnn.GraphOp, result: ir.Value, seen: StridedView) -> None:
    """Splits dims of a graph so that a window on its result reorders whole dims.

    For example, windows of 8x8 pixels of an image [B, 32, 32, C] reorder the dims of
    [B, 4, 8, 4, 8, C]. Other windows leave the graph as it is.

    Args:
        graph: a graph of elementwise ops, reductions, and norms over other dims.
        result: the result of the graph.
        seen: window on all of its storage, each element once.

    Raises:
        Declined: the graph has other ops, or they do not compute with split dims.
    """
    shape = shape_of(result)
    parts = split_extents(shape, seen)
    if parts is None or graph.result_strides is not None:
        return
    if graph.engine not in (None, "iree"):
        raise Declined("engine", f"engine '{graph.engine}' may not take a graph of a higher rank")
    for op in _ops(graph):
        _check(op, shape, parts)
    with ir.InsertionPoint(graph.operation), graph.location:
        for index, value in enumerate(graph.inputs):
            if len(shape_of(value)) == len(shape):
                base, view = window(value)
                split = view.reshape(_split(view.shape, parts))
                assert split is not None  # because one dim becomes several
                graph.operation.operands[index] = make_window(base, split)
    inner = [*graph.body.arguments, *(one for op in _ops(graph) for one in op.results)]
    for value in [one for one in inner if len(shape_of(one)) == len(shape)]:
        _retype(value, parts)
    for value in graph.outputs:
        if len(shape_of(value)) == len(shape):
            _retype_output(graph, value, parts)
    set_operand_layouts(graph)


def split_extents(shape: Sequence[int], seen: StridedView) -> list[Shape] | None:
    """Returns the extents into which a window on a row-major tensor splits each dim.

    Returns:
        The extents, outermost first; None if the window splits no dim, repeats or skips elements,
        or joins parts of several dims.
    """
    steps = sorted(
        (pair for pair in zip(seen.strides, seen.shape, strict=True) if pair[1] > 1), reverse=True
    )
    if math.prod(extent for _, extent in steps) != math.prod(shape):
        return None
    parts: list[Shape] = []
    inner = math.prod(shape)
    for extent in shape:
        found: list[int] = []
        while math.prod(found) < extent:
            stride, part = steps.pop(0)
            inner //= part
            found.append(part)
            if stride != inner:
                return None
        if math.prod(found) != extent:
            return None
        parts.append(tuple(found) or (1,))
    return parts if any(len(part) > 1 for part in parts) else None


def _ops(graph: hipdnn.GraphOp) -> list[ir.Operation]:
    return [op.operation for op in graph.body.operations][:-1]


def _check(op: ir.Operation, shape: Shape, parts: Sequence[Shape]) -> None:
    """Checks that an op computes the same if dims are split."""
    split = [dim for dim, part in enumerate(parts) if len(part) > 1]
    is_known = op.name in (_CONSTANT, _POINTWISE, _REDUCTION, *NORMS) and len(op.results) == 1
    if not is_known or mode_of(op) == "gen_index":
        raise Declined("other-op", f"'{op.name}' op does not compute with split dims")
    values = [value for value in (*op.operands, *op.results) if len(shape_of(value)) == len(shape)]
    if any(shape_of(value)[dim] not in (1, shape[dim]) for value in values for dim in split):
        raise Declined("other-shape", f"'{op.name}' op has dims of other extents")
    if op.name == _CONSTANT and values and not is_splat(op.results[0]):
        raise Declined("constant", "a constant has several elements")
    ranked = list(op.operands)[:2] if op.name in NORMS else list(op.operands)
    if op.name != _CONSTANT and any(value not in values for value in (*ranked, *op.results)):
        raise Declined("other-shape", f"'{op.name}' op has operands of another rank")
    if op.name in NORMS and any(shape_of(op.operands[1])[dim] != 1 for dim in split):
        raise Declined("normalised-dim", "a norm normalises a dim that the copy splits")


def _split(shape: Sequence[int], parts: Sequence[Shape]) -> Shape:
    """Returns a shape with dims split; dims that repeat, or are not split, keep their extents."""
    extents: list[int] = []
    for extent, part in zip(shape, parts, strict=True):
        is_split = len(part) > 1 and extent > 1
        extents += part if is_split else [extent] * len(part)
    return tuple(extents)


def _retype(value: ir.Value, parts: Sequence[Shape]) -> None:
    kind = ir.RankedTensorType.get(_split(shape_of(value), parts), element_type_of(value))
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == _CONSTANT:
        number = ir.DenseElementsAttr(owner.attributes["value"]).get_splat_value()
        owner.attributes["value"] = ir.DenseElementsAttr.get_splat(kind, number)
    value.set_type(kind)


def _retype_output(graph: hipdnn.GraphOp, value: ir.Value, parts: Sequence[Shape]) -> None:
    """Retypes a result; readers other than views get a view of the former shape."""
    shape, element = shape_of(value), element_type_of(value)
    others = [op for op in readers(value) if op.name != hipdnn.ViewOp.OP_NAME]
    _retype(value, parts)
    if not others:
        return
    with ir.InsertionPoint.after(graph.operation), graph.location:
        whole = hipdnn.view(value, ir.RankedTensorType.get(shape, element))
    for op in others:
        for index in _uses(op, value):
            op.operands[index] = whole


def _uses(op: ir.Operation, value: ir.Value) -> Iterator[int]:
    return (index for index, one in enumerate(list(op.operands)) if one == value)
