"""Other ways to convolve than the usual one on the operands as they lie."""

from __future__ import annotations

import math
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
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.padding import padded
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


def _has_few_filters(op: ConvFpropOp, target: Target) -> bool:
    filters, *window = shape_of(op.w)
    return _is_dense(op, target) and filters < _CHANNELS <= math.prod(window)


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
    x, w = (_resized(lowering.emitter, value, 1, more) for value in (x, w))
    return _convolved(op, lowering, x, w)


# IREE splits the reductions of few filters, and writes partial sums for each row of a window.
@variant(ConvFpropOp, "padded-filters", _has_few_filters, flag_set="whole-reductions")
def lower_padded_filters(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Adds filters of zeros up to what a matrix instruction takes, and cuts their results."""
    x, w = operands_of(op, lowering)
    return _convolved(op, lowering, x, _resized(lowering.emitter, w, 0, _CHANNELS - w.shape[0]))


def _last(value: Tensor) -> tuple[int, ...]:
    return (0, *range(2, value.rank), 1)


def _convolved(op: ConvFpropOp, lowering: Lowering, x: Tensor, w: Tensor) -> Sequence[Tensor]:
    emitter, (batch, filters, *places) = lowering.emitter, shape_of(op.y)
    accumulator = accumulator_type(op, x.element, w.element)
    result = Tensor.logical("", (batch, w.shape[0], *places), accumulator)
    convolution = convolve(lowering, Sliding.of(op), x, w, result)
    seen = _resized(emitter, convolution, 1, filters - w.shape[0])
    return [emitter.cast(seen, element_of(op.y))]


def _resized(emitter: Emitter, value: Tensor, dim: int, more: int) -> Tensor:
    """Appends `more` zeros to a dim; cuts as many elements off if that is negative."""
    # `padded` leaves the two outermost dims alone.
    others = [other for other in range(value.rank) if other != dim]
    order = [*others[:2], dim, *others[2:]]
    after = [more] + [0] * (value.rank - 3)
    resized = padded(emitter, value.permuted(order), [0] * len(after), after)
    return resized.permuted([order.index(place) for place in range(value.rank)])
