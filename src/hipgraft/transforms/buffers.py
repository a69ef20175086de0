"""Represents tensors of compiled programs in memory: their layouts, and memrefs of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.dialects import hipdnn
from hipgraft.ir import builders
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import PassFailure
from hipgraft.ir.element_types import byte_size
from hipgraft.ir.strided_view import StridedView


@dataclass(frozen=True)
class Storage:
    """The buffer of a stage-3 tensor that is not a view.

    Attributes:
        memref: the buffer; of bytes for an intermediate, else typed.
        element_type: element type of the tensor.
        is_bytes: whether the buffer is raw bytes.
    """

    memref: ir.Value
    element_type: ir.Type
    is_bytes: bool = False

    @property
    def shape(self) -> list[int]:
        """The extents of the buffer."""
        return ir.MemRefType(self.memref.type).shape


def ranked(value: ir.Value, op: ir.Operation) -> ir.RankedTensorType:
    """Returns the tensor type of `value`.

    Raises:
        PassFailure: `value` is not a static ranked tensor of byte-sized elements; located at `op`.
    """
    if not isinstance(value.type, ir.RankedTensorType):
        raise PassFailure(f"'{op.name}' op expected ranked tensors, found '{value.type}'", op)
    if not value.type.has_static_shape:
        raise PassFailure(f"'{op.name}' op expected static shapes, found '{value.type}'", op)
    if byte_size(value.type.shape, value.type.element_type) is None:
        raise PassFailure(f"'{op.name}' op has elements that are no whole bytes: {value.type}", op)
    return value.type


def memref_type(tensor: ir.RankedTensorType, layout: StridedView | None = None) -> ir.MemRefType:
    """Returns the memref type of a tensor; None and row-major layouts become the identity."""
    if layout is None or layout.is_row_major:
        return ir.MemRefType.get(tensor.shape, tensor.element_type)
    return builders.strided_type(layout.shape, layout.strides, layout.offset, tensor.element_type)


def window_of(view: hipdnn.ViewOp) -> StridedView:
    """Returns the window of a view, in elements of its operand's row-major storage."""
    shape = ir.RankedTensorType(view.operation.results[0].type).shape
    return StridedView(tuple(shape), tuple(view.strides), view.offset)


def view_of(value: ir.Value) -> hipdnn.ViewOp | None:
    """Returns the `hipdnn.view` that defines `value`, if one does."""
    owner = builders.defining_op(value)
    if owner is None or owner.name != hipdnn.ViewOp.OP_NAME:
        return None
    return hipdnn.ViewOp(owner)


def compiled_layouts(op: ir.Operation, executable: hipdnn.ExecutableOp) -> list[StridedView]:
    """Returns the layout of each operand, relative to its pointer, that the executable expects."""
    offsets = executable.arg_offsets or [0] * len(op.operands)
    return _layouts(op, op.operands, executable.arg_strides, offsets)


def result_layouts(op: ir.Operation, executable: hipdnn.ExecutableOp) -> list[StridedView]:
    """Returns the layout of each result, relative to its pointer, that the executable writes."""
    return _layouts(op, op.results, executable.result_strides, [0] * len(op.results))


def _layouts(
    op: ir.Operation,
    values: Sequence[ir.Value],
    strides: Sequence[Sequence[int] | None] | None,
    offsets: Sequence[int],
) -> list[StridedView]:
    layouts: list[StridedView] = []
    for value, steps, offset in zip(values, strides or [None] * len(values), offsets, strict=True):
        dense = StridedView.of_shape(ranked(value, op).shape)
        layouts.append(StridedView(dense.shape, tuple(steps or dense.strides), offset))
    return layouts


def same_strides(left: StridedView, right: StridedView) -> bool:
    """Returns whether two windows of one shape have equal strides, ignoring unit extents."""
    moving = [dim for dim, extent in enumerate(left.shape) if extent != 1]
    return all(left.strides[dim] == right.strides[dim] for dim in moving)


def window_memref(storage: Storage, window: StridedView, loc: ir.Location) -> ir.Value:
    """Builds a memref of the window on a buffer, at the insertion point."""
    if storage.is_bytes:
        return _view_bytes(storage, window, loc)
    if window == StridedView.of_shape(storage.shape):
        return storage.memref
    return builders.reinterpret_cast(
        storage.memref, window.shape, window.strides, window.offset, loc
    )


def _view_bytes(storage: Storage, window: StridedView, loc: ir.Location) -> ir.Value:
    """Builds a typed view that starts at the window's first element, with offset 0."""
    element_type = storage.element_type
    width = byte_size((), element_type) or 0
    shift = builders.index_constant(window.offset * width, loc)
    if window.is_row_major:
        shaped = ir.MemRefType.get(window.shape, element_type)
        return builders.view(storage.memref, shift, shaped, loc)
    extent = window.span
    flat = builders.view(storage.memref, shift, ir.MemRefType.get([extent], element_type), loc)
    return builders.reinterpret_cast(flat, window.shape, window.strides, 0, loc)
