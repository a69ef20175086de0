"""Converts reductions and softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from hipgraft.dialects.migraphx import MigraphxOp, ReductionOp, SoftmaxOp
from hipgraft.ir.bindings import ir
from hipgraft.transforms.migraphx_to_hipdnn.converter import Conversion, Converter, element_type
from hipgraft.transforms.tensor_builder import Tensor, counted_dims
from hipgraft.transforms.tensor_reductions import reduce, softmax


def _axes(op: MigraphxOp, axes: Sequence[int]) -> list[int]:
    """Axes counted from the front."""
    return counted_dims(axes, len(op.input_type().shape))


def _reduction(mode: str, converter: Converter, op: ReductionOp) -> Sequence[Tensor]:
    tensor, kind = converter.tensor(op.operation.operands[0]), op.output_type()
    axes = _axes(op, op.axes)
    if math.prod(tensor.shape[axis] for axis in axes) > 1:
        tensor = _reduced(mode, converter, op, tensor, axes)
    # In older modules, the result lacks the reduced dimension.
    return [converter.cast(tensor, element_type(kind)).reshape(kind.extents)]


def _reduced(
    mode: str, converter: Converter, op: MigraphxOp, tensor: Tensor, axes: Sequence[int]
) -> Tensor:
    element = element_type(op.output_type())
    if mode != "MAX" or not op.input_type().is_unsigned:
        return reduce(converter, mode, tensor, axes, element)
    # Subtracting the lowest signed number gives unsigned numbers the order of signed ones.
    shift = _lowest(converter, element)
    signed = converter.pointwise("add", [tensor, shift], element)
    largest = reduce(converter, mode, signed, axes, element)
    return converter.pointwise("add", [largest, shift], element)


def _lowest(converter: Converter, element: ir.Type) -> Tensor:
    width = ir.IntegerType(element).width
    value = ir.IntegerAttr.get(element, -(1 << (width - 1)))
    splat = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([1], element), value)
    return converter.constant(splat, converter.location)


def _softmax(converter: Converter, op: SoftmaxOp) -> Sequence[Tensor]:
    tensor = converter.tensor(op.operation.operands[0])
    (axis,) = _axes(op, [op.axis])
    return [softmax(converter, tensor, axis, element_type(op.output_type()))]


REDUCTIONS: dict[str, Conversion] = {
    "reduce_max": partial(_reduction, "MAX"),
    "reduce_mean": partial(_reduction, "AVG"),
    "reduce_sum": partial(_reduction, "ADD"),
    "softmax": _softmax,
}
"""The conversions by mnemonic."""
