"""Lowers convolutions with windows of one element, or of the whole image, to matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.conv.geometry import ConvParams
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import padded
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.matmul.matmul import multiply_whole

# From this depth on, copying a transposed image takes less time than reading it for each filter.
_COPIED = 512


def multiplied(
    lowering: Lowering, params: ConvParams, x: Tensor, w: Tensor, result: Tensor
) -> Tensor:
    """Multiplies the filters by the strided elements of each image, or all images by the filters.

    Args:
        lowering: lowering of the container, which receives the ops.
        params: padding and steps of the window.
        x: activations [N, C, spatial...].
        w: filters [K, C / groups, 1...].
        result: shape and accumulator type of the result [N, K, spatial...].
    """
    emitter = lowering.emitter
    (images, channels), (filters, depth) = x.shape[:2], w.shape[:2]
    groups, positions = channels // depth, math.prod(result.shape[2:])
    x = padded(emitter, emitter.logical(x), params.before, params.after)
    x = _strided(emitter, x, params.stride, result.shape[2:])
    if groups == positions == 1:
        return multiply_images(lowering, x, w, result)
    x = emitter.split_dim(emitter.reshape(x, (images, channels, positions)), 1, groups)
    w = emitter.split_dim(emitter.reshape(emitter.logical(w), (filters, depth)), 0, groups)
    shape = (images, groups, filters // groups, positions)
    y = multiply_whole(lowering, w.with_unit_dim(0), x, shape, result.element)
    y = emitter.reshape(y, (*shape[:3], *result.shape[2:]))
    return emitter.reshape(y, result.shape)  # IREE fuses the next op if groups are joined last


def is_whole_image(params: ConvParams, x: Tensor, w: Tensor) -> bool:
    """Returns whether the only window of each image is all of the image, in one group."""
    is_padded = any([*params.before, *params.after])
    return not is_padded and x.shape[1:] == w.shape[1:] and math.prod(w.shape[2:]) > 1


def multiply_images(lowering: Lowering, x: Tensor, w: Tensor, result: Tensor) -> Tensor:
    """Multiplies images, as rows of a matrix, by filters of the same extents.

    Args:
        lowering: lowering of the container, which receives the ops.
        x: activations [N, C, spatial...].
        w: filters [K, C, spatial...].
        result: shape and accumulator type of the result [N, K, 1...].
    """
    emitter, depth = lowering.emitter, math.prod(x.shape[1:])
    emitter.whole_reductions = True
    if depth >= _COPIED and x.dims != tuple(range(x.rank)):
        x = emitter.materialized(emitter.logical(x))
    rows = emitter.reshape(emitter.logical(x), (x.shape[0], depth))
    columns = emitter.reshape(emitter.logical(w), (w.shape[0], depth)).permuted((1, 0))
    shape = (x.shape[0], w.shape[0])
    product = multiply_whole(lowering, rows, columns, shape, result.element)
    return emitter.reshape(product, result.shape)


def _strided(emitter: Emitter, x: Tensor, stride: Sequence[int], shape: Sequence[int]) -> Tensor:
    """Emits every `stride`-th element of each spatial dim."""
    if max(stride) == 1:
        return x
    result = replace(x, shape=(*x.shape[:2], *shape))
    text = (
        f"tensor.extract_slice {x.name}{[0] * x.rank} {list(result.shape)} {[1, 1, *stride]} : "
        f"{x.type} to {result.type}"
    )
    return replace(result, name=emitter.op("strided", text))
