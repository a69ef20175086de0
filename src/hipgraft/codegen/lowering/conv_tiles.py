"""Extents of convolutions that IREE's matrix instructions for AMDGPU do not take well."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.padding import resized
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target

# Rows, and products of a row at least, that fill the tile of a matrix instruction.
_TILE = 16

# Of so many channels additional filters cost nothing.
_DEEP = 64


def missing_filters(target: Target, x: Tensor, w: Tensor) -> int:
    """Returns how many filters of zeros are to be added to `w` [K, C / groups, window...].

    IREE 3.13.0 multiplies less than half a tile without matrix instructions, and deep convolutions
    of half a tile run out of local memory.

    Args:
        target: what the kernel is for.
        x: activations [N, C, spatial...].
        w: the filters.
    """
    filters, channels, *window = w.shape
    is_product = math.prod(window) == 1
    if is_product or channels != x.shape[1] or x.element not in target.matrix_elements:
        return 0
    if filters >= _TILE or channels * math.prod(window) < _TILE:
        return 0
    return _TILE - filters if 2 * filters < _TILE or channels >= _DEEP else 0


def is_misread(
    target: Target, element: str, channels: int, window: Sequence[int], dilation: Sequence[int]
) -> bool:
    """Returns whether activations need a second channel.

    Of one channel IREE 3.13.0 reads a row of a window as if it were not dilated.

    Args:
        target: what the kernel is for.
        element: type of the activations.
        channels: of a group.
        window: extents of the window.
        dilation: step between the window's elements, per spatial dim.
    """
    is_dilated = dilation[-1] > 1 and window[-1] > 1 and math.prod(window[:-1]) > 1
    return channels == 1 and is_dilated and element in target.matrix_elements


def with_second_channel(emitter: Emitter, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Returns activations and filters with a channel of zeros after each, which is a group."""
    groups = x.shape[1]
    split = emitter.split_dim(x, 1, groups)
    return emitter.merge_dims(resized(emitter, split, 2, 1), 1), resized(emitter, w, 1, 1)
