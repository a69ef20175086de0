"""Represents windows on tensors, and emits hipDNN ops on them.

A converter to hipDNN writes a new function beside the one that it reads. A value of the new
function is a `Tensor`: a window on a value that owns its storage. View ops only change the window;
the `hipdnn.view` op is made when something reads through it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import arith_d, ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.diagnostics import Declined
from hipgraft.ir.strided_view import StridedView
from hipgraft.ir.tensors import element_type_of, shape_of


@dataclass(frozen=True)
class Tensor:
    """A window `view` on `base`, a builtin tensor that owns dense row-major storage."""

    base: ir.Value
    view: StridedView

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the window."""
        return self.view.shape

    @property
    def element_type(self) -> ir.Type:
        """The element type of the storage."""
        return element_type_of(self.base)

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return isinstance(self.element_type, ir.FloatType)

    def through(self, view: StridedView | None) -> Tensor:
        """Returns another window on the storage; declines if `view` is None."""
        if view is None:
            raise Declined("not-a-view", "the result does not fit strides and needs a copy")
        return Tensor(self.base, view)

    def reshape(self, shape: Sequence[int]) -> Tensor:
        """Returns the elements in row-major order as `shape`."""
        return self.through(self.view.reshape(shape))


def counted_dims(dims: Sequence[int], rank: int) -> list[int]:
    """Returns dimensions counted from the front; negative ones are given from the back.

    Raises:
        Declined: a dimension is out of range or is given twice.
    """
    counted = [dim + rank if dim < 0 else dim for dim in dims]
    if not all(0 <= dim < rank for dim in counted):
        raise Declined("dims", f"dimensions {list(dims)} are out of range of rank {rank}")
    if len(set(counted)) < len(counted):
        raise Declined("dims", f"dimensions {list(dims)} are not distinct")
    return counted


class TensorBuilder:
    """Emits hipDNN ops on tensors at the insertion point, all at `location`."""

    def __init__(self) -> None:
        self._materialized: dict[tuple[ir.Value, StridedView], ir.Value] = {}
        self._copies: dict[tuple[ir.Value, StridedView], Tensor] = {}
        self._splats: dict[ir.Value, ir.Attribute] = {}
        self.location = ir.Location.unknown()

    # Values

    def constant(self, attribute: ir.Attribute, location: ir.Location) -> Tensor:
        """Emits an `arith.constant`."""
        result = arith_d.ConstantOp(attribute.type, attribute, loc=location).result
        if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
            self._splats[result] = attribute.get_splat_value()
        return self._whole(result)

    @staticmethod
    def _whole(value: ir.Value) -> Tensor:
        return Tensor(value, StridedView.of_shape(ir.RankedTensorType(value.type).shape))

    def materialize(self, tensor: Tensor) -> ir.Value:
        """Returns an SSA value with the tensor's shape: its base, or a `hipdnn.view` of it."""
        base_shape = shape_of(tensor.base)
        if tensor.shape == base_shape and tensor.view.covers(base_shape):
            return tensor.base
        key = (tensor.base, tensor.view)
        if key not in self._materialized:
            self._materialized[key] = self._window(tensor)
        return self._materialized[key]

    def _window(self, tensor: Tensor) -> ir.Value:
        result_type = ir.RankedTensorType.get(tensor.shape, tensor.element_type)
        splat = self._splats.get(tensor.base)
        if splat is not None:
            return self._splat(splat, result_type)
        return hipdnn.view(
            tensor.base,
            offset=tensor.view.offset,
            strides=list(tensor.view.strides),
            result_type=result_type,
            loc=self.location,
        )

    # Emitting

    def splat(self, value: float, shape: Sequence[int], element: ir.Type) -> ir.Value:
        """Emits a constant tensor of one repeated value."""
        return self._splat(
            ir.FloatAttr.get(element, value), ir.RankedTensorType.get(shape, element)
        )

    def _splat(self, value: ir.Attribute, kind: ir.RankedTensorType) -> ir.Value:
        attribute = ir.DenseElementsAttr.get_splat(kind, value)
        return self.constant(attribute, self.location).base

    def scalar(self, value: float, like: Tensor) -> Tensor:
        """Emits a pass-by-value scalar for an op on `like`: `tensor<1xf32>`, or f64 beside f64."""
        f64 = ir.F64Type.get()
        element = f64 if like.element_type == f64 else ir.F32Type.get()
        one = self._whole(self.splat(value, (1,), element))
        return one if like.shape else one.reshape(())

    def whole(self, value: ir.Value) -> Tensor:
        """Returns a newly computed value as a tensor."""
        return self._whole(value)

    def pointwise(
        self, mode: str, inputs: Sequence[Tensor], element: ir.Type, **attributes: Any
    ) -> Tensor:
        """Emits `hipdnn.pointwise`; operands broadcast, the result has their common shape.

        If an operand is a plain reshape of a computed tensor, the op computes in that tensor's
        shape and the result is reshaped instead, so that the op can join its producer's kernel.
        """
        shape = broadcast_shape([tensor.shape for tensor in inputs])
        computed = shape or (1,)
        operands = [
            tensor.through(tensor.view.expand(shape).reshape(computed)) for tensor in inputs
        ]
        for candidate in inputs:
            sunk = self._in_shape_of(candidate, operands)
            if sunk is not None:
                computed, operands = sunk
                break
        narrow = [narrowed(tensor) for tensor in operands]
        result = hipdnn.pointwise(
            *[self.materialize(tensor) for tensor in narrow],
            mode=mode,
            result_type=ir.RankedTensorType.get(
                broadcast_shape([tensor.shape for tensor in narrow]), element
            ),
            loc=self.location,
            **attributes,
        )
        whole = self._whole(result)
        return whole.through(whole.view.expand(computed)).reshape(shape)

    def copied(self, tensor: Tensor) -> Tensor:
        """Copies the window's elements row-major, by a constant or an identity op; copies once."""
        key = (tensor.base, tensor.view)
        if key not in self._copies:
            self._copies[key] = self._whole(self._copy(tensor))
        return self._copies[key]

    def _copy(self, tensor: Tensor) -> ir.Value:
        shown, source = self.materialize(tensor), defining_op(tensor.base)
        if source is not None and source.name == "arith.constant":
            # Imported here because it loads numpy.
            from hipgraft.transforms.recognition.constants import build_constant, constant_array

            elements = constant_array(shown)
            if elements is not None:
                return build_constant(elements, tensor.element_type, "reordered")
        kind = ir.RankedTensorType.get(tensor.shape, tensor.element_type)
        return hipdnn.pointwise(shown, mode="identity", result_type=kind, loc=self.location)

    def _in_shape_of(
        self, candidate: Tensor, operands: Sequence[Tensor]
    ) -> tuple[tuple[int, ...], list[Tensor]] | None:
        """Views the operands in the shape of `candidate`'s producer, if all of them can be."""
        shape = producer_shape(candidate)
        if shape is None or candidate.view.elements != operands[0].view.elements:
            return None
        views = [tensor.view.reshape(shape) for tensor in operands]
        if any(view is None for view in views):
            return None
        return shape, [tensor.through(view) for tensor, view in zip(operands, views, strict=True)]


def producer_shape(tensor: Tensor) -> tuple[int, ...] | None:
    """Returns the shape of the hipDNN op's result that `tensor` reshapes; None if there is none."""
    owner = tensor.base.owner
    if isinstance(owner, ir.Block) or not owner.name.startswith("hipdnn."):
        return None
    shape = shape_of(tensor.base)
    return shape if shape != tensor.shape and tensor.view.covers(shape) else None


def with_trailing(tensor: Tensor, count: int) -> tuple[Tensor, int]:
    """Returns `tensor` in its producer's shape for an op over the last `count` dimensions.

    It also returns the number of trailing dimensions with the same elements. If no dimensions of
    the producer's shape match them, it returns `tensor` and `count`.
    """
    shape = producer_shape(tensor)
    wanted = math.prod(tensor.shape[len(tensor.shape) - count :])
    for trailing in range(1, len(shape or ()) + 1):
        if shape is not None and math.prod(shape[-trailing:]) == wanted:
            return tensor.reshape(shape), trailing
    return tensor, count


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Returns the common shape of right-aligned operands, whose extents are equal or 1."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    result: list[int] = []
    for extents in zip(*padded, strict=True):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise Declined("bad-broadcast", f"extents {sorted(wide)} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def narrowed(tensor: Tensor) -> Tensor:
    """Shrinks broadcast dimensions (stride 0) to extent 1, because operands broadcast anyway."""
    shape = tuple(
        1 if stride == 0 else extent
        for extent, stride in zip(tensor.shape, tensor.view.strides, strict=True)
    )
    return Tensor(tensor.base, StridedView(shape, tensor.view.strides, tensor.view.offset))
