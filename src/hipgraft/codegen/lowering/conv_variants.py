"""Other ways to convolve than linalg's named op on the operands as they lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import (
    Lowering,
    accumulator_type,
    element_of,
    shape_of,
    variant,
)
from hipgraft.codegen.lowering.convolution import Sliding, convolve, operands_of
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.matmul import multiply
from hipgraft.codegen.lowering.padding import padded
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import ConvFpropOp

# Channels that one matrix instruction takes at least; fewer than half of them would multiply the
# work, and IREE 3.13.0 takes a minute for a first layer of 3 channels so padded.
_CHANNELS = 16


def _has_unit_window(op: ConvFpropOp, _: Target) -> bool:
    x, w = shape_of(op.x), shape_of(op.w)
    return set(w[2:]) == {1} and x[1] == w[1]


def _is_dense(op: ConvFpropOp, _: Target) -> bool:
    return shape_of(op.x)[1] == shape_of(op.w)[1]


def _has_odd_channels(op: ConvFpropOp, target: Target) -> bool:
    channels = shape_of(op.w)[1]
    return _is_dense(op, target) and channels % _CHANNELS != 0 and channels >= _CHANNELS // 2


@variant(ConvFpropOp, "matmul", _has_unit_window)
def lower_as_matmul(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies the filters by each image, of which a stride leaves elements out."""
    emitter, sliding = lowering.emitter, Sliding.of(op)
    x, w = operands_of(op, lowering)
    x = padded(emitter, emitter.logical(x), sliding.before, sliding.after)
    shape = shape_of(op.y)
    seen = _strided(emitter, x, sliding.stride, shape[2:])
    places = math.prod(shape[2:])
    images = emitter.reshape(seen, (x.shape[0], x.shape[1], places))
    filters = emitter.reshape(w, w.shape[:2]).with_unit_dim(0)
    accumulator = accumulator_type(op, x.element, w.element)
    product = multiply(emitter, filters, images, (x.shape[0], w.shape[0], places), accumulator)
    return [emitter.cast(emitter.reshape(product, shape), element_of(op.y))]


@variant(ConvFpropOp, "channels-last", _is_dense)
def lower_channels_last(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Transposes to channels last, where a window's elements lie together."""
    x, w = operands_of(op, lowering)
    x = lowering.emitter.in_order(x, (0, *range(2, x.rank), 1))
    return _convolved(op, lowering, x, w)


@variant(ConvFpropOp, "padded-channels", _has_odd_channels)
def lower_padded_channels(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Adds channels of zeros up to what a matrix instruction takes."""
    x, w = operands_of(op, lowering)
    more = -x.shape[1] % _CHANNELS
    x, w = (_with_channels(lowering.emitter, value, more) for value in (x, w))
    return _convolved(op, lowering, x, w)


def _convolved(op: ConvFpropOp, lowering: Lowering, x: Tensor, w: Tensor) -> Sequence[Tensor]:
    accumulator = accumulator_type(op, x.element, w.element)
    result = Tensor.logical("", shape_of(op.y), accumulator)
    convolution = convolve(lowering.emitter, Sliding.of(op), x, w, result)
    return [lowering.emitter.cast(convolution, element_of(op.y))]


def _with_channels(emitter: Emitter, value: Tensor, more: int) -> Tensor:
    """Appends `more` channels of zeros."""
    order = (0, *range(2, value.rank), 1)
    moved = emitter.logical(value).permuted(order)
    # `padded` leaves the two outermost dims alone.
    after = [0] * (value.rank - 3) + [more]
    return padded(emitter, moved, [0] * len(after), after).permuted(_inverse(order))


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(dim) for dim in range(len(order))]


def _strided(emitter: Emitter, x: Tensor, stride: Sequence[int], shape: Sequence[int]) -> Tensor:
    """Takes every `stride`-th element of each spatial dim."""
    if max(stride) == 1:
        return x
    result = replace(x, shape=(*x.shape[:2], *shape))
    text = (
        f"tensor.extract_slice {x.name}{[0] * x.rank} {list(result.shape)} {[1, 1, *stride]} : "
        f"{x.type} to {result.type}"
    )
    return replace(result, name=emitter.op("strided", text))
