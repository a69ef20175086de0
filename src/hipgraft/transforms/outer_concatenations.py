"""Concatenates along the outermost dim in memory, so that each operand is one contiguous part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import cast

from hipgraft.codegen.iree.pointer_alignment import POINTER_ALIGNMENT
from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of
from hipgraft.ir.torch_dialect import constant_int, known_int, shape_and_element, vtensor_type
from hipgraft.transforms.outlining import set_operand_layouts
from hipgraft.transforms.recognition.values import make_window, readers, window
from hipgraft.transforms.written_order import order_for

# Accessing tensors up to this size in any order takes a kernel less time than a launch.
_MOST_BYTES = 1 << 18

# Ops whose kernels read operands in any order. Convolutions need a certain order.
_ANY_ORDER = frozenset(
    {"hipdnn.pointwise", "hipdnn.reduction", "hipdnn.matmul", "hipdnn.yield", "arith.constant"}
)

_BODY = (
    "torch_c.from_builtin_tensor",
    "torch.prim.ListConstruct",
    "torch.constant.int",
    "torch.aten.cat",
    "torch_c.to_builtin_tensor",
    "hipdnn.yield",
)


@dataclass(frozen=True)
class Concatenation:
    """A fallback that only concatenates its operands, along a dim other than the outermost one.

    Attributes:
        container: the fallback.
        op: the `torch.aten.cat` in it.
        dim: the dim of the concatenation.
    """

    container: hipdnn.FallbackOp
    op: ir.Operation
    dim: int

    @property
    def order(self) -> list[int]:
        """The dims of the tensors, the concatenated dim first."""
        rank = len(shape_of(self.container.outputs[0]))
        return [self.dim, *(dim for dim in range(rank) if dim != self.dim)]


def inner_concatenation(op: ir.Operation) -> Concatenation | None:
    """Returns a fallback that only concatenates, into parts that are not contiguous; else None."""
    container = hipdnn.FallbackOp(op)
    body = [each.operation for each in container.body.operations]
    if {each.name for each in body} != set(_BODY) or len(container.outputs) != 1:
        return None
    cats = [each for each in body if each.name == "torch.aten.cat"]
    dim, shape = known_int(cats[0].operands[1]), shape_of(container.outputs[0])
    if len(cats) != 1 or dim is None or prod(shape[: dim % len(shape)]) == 1:
        return None
    return Concatenation(container, cats[0], dim % len(shape))


def _check_parts(found: Concatenation) -> None:
    """Checks that the operands can be written, and the result read, with the dim outermost.

    Raises:
        Declined: the op has another form, or the rewrite would cost more than the copy.
    """
    container, name = found.container, found.container.OP_NAME
    result = container.outputs[0]
    element, shape = element_type_of(result), shape_of(result)
    if (byte_size(shape, element) or _MOST_BYTES) >= _MOST_BYTES:
        raise Declined("large", f"'{name}' op makes {_MOST_BYTES} bytes or more")
    if len(_list_of(found.op).operands) != len(container.inputs):
        raise Declined("read-elsewhere", f"'{name}' op reads an operand twice")
    extents = [shape_of(value)[found.dim] for value in container.inputs]
    row = byte_size((prod(shape) // shape[found.dim],), element) or 1
    if any(start * row % POINTER_ALIGNMENT for start in accumulate(extents[:-1])):
        raise Declined("alignment", f"'{name}' op has a part at no multiple of {POINTER_ALIGNMENT}")
    for value in container.inputs:
        order_for(value, window(value)[1].permute(found.order), container.operation)
    stored = _stored(shape, found.order)
    for reader in readers(result):
        _check_reader(reader, stored, container.operation)


def concatenate_outermost(found: Concatenation) -> None:
    """Lets a fallback concatenate permuted windows of its operands.

    Raises:
        Declined: the operands or the result cannot have that order, or should not.
    """
    _check_parts(found)
    container, op = found.container, found.container.operation
    with ir.InsertionPoint(op), op.location:
        for index, value in enumerate(container.inputs):
            base, seen = window(value)
            op.operands[index] = make_window(base, seen.permute(found.order))
            if value != base and next(iter(value.uses), None) is None:
                cast(ir.OpView, value.owner).operation.erase()
    set_operand_layouts(container)
    _permute_body(found)
    result = container.outputs[0]
    stored = _stored(shape_of(result), found.order)
    result.set_type(_permuted(result.type, found.order))
    with ir.InsertionPoint.after(op):
        whole = make_window(result, stored, op.location)
    for reader in readers(result):
        if reader == cast(ir.OpView, whole.owner).operation:
            continue
        if reader.name == hipdnn.ViewOp.OP_NAME:
            _read_stored(hipdnn.ViewOp(reader), stored)
            continue
        for index, operand in enumerate(reader.operands):
            if operand == result:
                reader.operands[index] = whole
        set_operand_layouts(hipdnn.GraphOp(reader))


def _check_reader(reader: ir.Operation, stored: StridedView, op: ir.Operation) -> None:
    graphs = [reader]
    if reader.name == hipdnn.ViewOp.OP_NAME:
        graphs = readers(reader.results[0])
        if window(reader.results[0])[1].on_copied(stored) is None:
            raise Declined("no-strides", f"a view of what '{op.name}' op makes has no strides then")
    for graph in graphs:
        if graph.name != hipdnn.GraphOp.OP_NAME or not _is_any_order(hipdnn.GraphOp(graph)):
            raise Declined("reader", f"'{graph.name}' op reads what '{op.name}' op makes in order")


def _is_any_order(graph: hipdnn.GraphOp) -> bool:
    names = {op.operation.name for op in graph.body.operations}
    return graph.engine in (None, "iree") and names <= _ANY_ORDER


def _stored(shape: Sequence[int], order: Sequence[int]) -> StridedView:
    """Returns the window of a tensor on its storage, which has its dims in another order."""
    stored = StridedView.of_shape([shape[dim] for dim in order])
    return stored.permute([list(order).index(dim) for dim in range(len(order))])


def _read_stored(view: hipdnn.ViewOp, stored: StridedView) -> None:
    result = view.operation.results[0]
    seen = StridedView(shape_of(result), tuple(view.strides), view.offset).on_copied(stored)
    assert seen is not None  # as checked before
    view.strides, view.offset = list(seen.strides), seen.offset
    for reader in readers(result):
        set_operand_layouts(hipdnn.GraphOp(reader))


def _permute_body(found: Concatenation) -> None:
    """Permutes the types in the body, and concatenates along the first dim."""
    body = found.container.body
    values = [*body.arguments, *_list_of(found.op).operands, found.op.results[0]]
    casts = [use.owner.operation for use in found.op.results[0].uses]
    for value in (*values, *(each.results[0] for each in casts)):
        value.set_type(_permuted(value.type, found.order))
    constant = ir.OpResult(found.op.operands[1]).owner.operation
    with ir.InsertionPoint(found.op), found.op.location:
        found.op.operands[1] = constant_int(0)
    constant.erase()


def _list_of(cat: ir.Operation) -> ir.Operation:
    return ir.OpResult(cat.operands[0]).owner.operation


def _permuted(kind: ir.Type, order: Sequence[int]) -> ir.Type:
    """Returns a builtin or torch tensor type with its dims in another order."""
    if isinstance(kind, ir.RankedTensorType):
        return ir.RankedTensorType.get([kind.shape[dim] for dim in order], kind.element_type)
    shape, element = shape_and_element(kind) or ((), "")
    return vtensor_type([shape[dim] for dim in order], element)
