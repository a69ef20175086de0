"""Other ways to convolve than the usual one on the operands as they lie."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.context import (
    Lowering,
    accumulator_type,
    element_of,
    shape_of,
    variant,
)
from hipgraft.codegen.lowering.conv_product import has_unit_window, multiplied
from hipgraft.codegen.lowering.convolution import Sliding, convolve, operands_of
from hipgraft.codegen.lowering.padding import resized
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import ConvFpropOp

# Channels that one matrix instruction takes at least; fewer than half of them would multiply the
# work, and IREE 3.13.0 takes a minute for a first layer of 3 channels so padded.
_CHANNELS = 16


def _is_dense(op: ConvFpropOp, _: Target) -> bool:
    return shape_of(op.x)[1] == shape_of(op.w)[1]


def _is_product(op: ConvFpropOp, target: Target) -> bool:
    return _is_dense(op, target) and has_unit_window(shape_of(op.w))


def _has_odd_channels(op: ConvFpropOp, target: Target) -> bool:
    channels = shape_of(op.w)[1]
    return _is_dense(op, target) and channels % _CHANNELS != 0 and channels >= _CHANNELS // 2


@variant(ConvFpropOp, "matmul", _is_product)
def lower_as_matmul(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies the filters by each image, of which a stride leaves elements out."""
    x, w = operands_of(op, lowering)
    result = Tensor.logical("", shape_of(op.y), accumulator_type(op, x.element, w.element))
    product = multiplied(lowering, Sliding.of(op), x, w, result)
    return [lowering.emitter.cast(product, element_of(op.y))]


# Else IREE moves the transpositions through the convolution, and they cancel.
@variant(ConvFpropOp, "channels-last", _is_dense, flag_set="transposes-stay")
def lower_channels_last(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Transposes to channels last, where a window's elements lie together."""
    x, w = operands_of(op, lowering)
    x = lowering.emitter.in_order(x, _last(x))
    return _convolved(op, lowering, x, w)


@variant(ConvFpropOp, "channels-last-apart", _is_dense)
def lower_channels_last_apart(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Copies activations and filters to channels last first; loads of many channels pay for it."""
    emitter = lowering.emitter
    x, w = (
        emitter.apart(emitter.in_order(value, _last(value))) for value in operands_of(op, lowering)
    )
    return _convolved(op, lowering, x, w)


@variant(ConvFpropOp, "padded-channels", _has_odd_channels)
def lower_padded_channels(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Adds channels of zeros up to what a matrix instruction takes."""
    x, w = operands_of(op, lowering)
    more = -x.shape[1] % _CHANNELS
    x, w = (resized(lowering.emitter, value, 1, more) for value in (x, w))
    return _convolved(op, lowering, x, w)


def _last(value: Tensor) -> tuple[int, ...]:
    return (0, *range(2, value.rank), 1)


def _convolved(op: ConvFpropOp, lowering: Lowering, x: Tensor, w: Tensor) -> Sequence[Tensor]:
    accumulator = accumulator_type(op, x.element, w.element)
    result = Tensor.logical("", shape_of(op.y), accumulator)
    convolution = convolve(lowering, Sliding.of(op), x, w, result)
    return [lowering.emitter.cast(convolution, element_of(op.y))]
