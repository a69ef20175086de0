"""Registers alternatives to the default lowering of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, accumulator_type, alternative
from hipgraft.codegen.lowering.conv.convolution import convolve, operands_of
from hipgraft.codegen.lowering.conv.geometry import ConvParams, channels_last, has_unit_window
from hipgraft.codegen.lowering.conv.product import multiplied
from hipgraft.codegen.lowering.conv.split import can_split, convolve_in_parts
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import ConvFpropOp
from hipgraft.ir.tensors import element_of, shape_of

# The fewest channels that fill a matrix instruction. Operands with less than half as many channels
# are not padded: padding would more than double the work, and IREE 3.13.0 takes a minute to compile
# a padded first layer of 3 channels.
_CHANNELS = 16


def _is_dense(op: ConvFpropOp, _: Target) -> bool:
    return shape_of(op.x)[1] == shape_of(op.w)[1]


def _is_product(op: ConvFpropOp, target: Target) -> bool:
    return _is_dense(op, target) and has_unit_window(shape_of(op.w))


def _has_odd_channels(op: ConvFpropOp, target: Target) -> bool:
    channels = shape_of(op.w)[1]
    return _is_dense(op, target) and channels % _CHANNELS != 0 and channels >= _CHANNELS // 2


def _has_few_positions(op: ConvFpropOp, _: Target) -> bool:
    return can_split(*(Tensor.logical("", shape_of(value), "") for value in (op.x, op.w, op.y)))


@alternative(ConvFpropOp, "matmul", _is_product)
def lower_as_matmul(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies the filters by the strided elements of each image."""
    x, w = operands_of(op, lowering)
    result = Tensor.logical("", shape_of(op.y), accumulator_type(op, x.element, w.element))
    product = multiplied(lowering, ConvParams.of(op), x, w, result)
    return [lowering.emitter.cast(product, element_of(op.y))]


# Without these flags IREE moves the transpositions through the convolution, and they cancel.
@alternative(ConvFpropOp, "channels-last", _is_dense, flag_set="transposes-stay")
def lower_channels_last(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Transposes to channels last, in which the channels of a window's element are contiguous."""
    x, w = operands_of(op, lowering)
    x = lowering.emitter.in_order(x, channels_last(x.rank))
    return _convolved(op, lowering, x, w)


@alternative(ConvFpropOp, "materialized-channels-last", _is_dense)
def lower_materialized_channels_last(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Materializes channels-last copies of activations and filters; pays off with many channels."""
    emitter = lowering.emitter
    x, w = (
        emitter.materialized(emitter.in_order(value, channels_last(value.rank)))
        for value in operands_of(op, lowering)
    )
    return _convolved(op, lowering, x, w)


@alternative(ConvFpropOp, "padded-channels", _has_odd_channels)
def lower_padded_channels(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Adds channels of zeros up to a multiple of a matrix instruction's channels."""
    x, w = operands_of(op, lowering)
    more = -x.shape[1] % _CHANNELS
    x, w = (resized(lowering.emitter, value, 1, more) for value in (x, w))
    return _convolved(op, lowering, x, w)


@alternative(ConvFpropOp, "split-k", _has_few_positions)
def lower_split(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies copies of all windows in parts of K and adds the results of the parts."""
    x, w = operands_of(op, lowering)
    result = Tensor.logical("", shape_of(op.y), accumulator_type(op, x.element, w.element))
    sums = convolve_in_parts(lowering.emitter, ConvParams.of(op), x, w, result)
    return [lowering.emitter.cast(sums, element_of(op.y))]


def _convolved(op: ConvFpropOp, lowering: Lowering, x: Tensor, w: Tensor) -> Sequence[Tensor]:
    accumulator = accumulator_type(op, x.element, w.element)
    result = Tensor.logical("", shape_of(op.y), accumulator)
    convolution = convolve(lowering, ConvParams.of(op), x, w, result)
    return [lowering.emitter.cast(convolution, element_of(op.y))]
