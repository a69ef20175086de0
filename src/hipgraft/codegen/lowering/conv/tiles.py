"""Extents of convolutions that IREE compiles wrongly or slowly to matrix instructions on AMDGPU."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target

# Filters that fill the tile of a matrix instruction, and the fewest products per result.
_TILE = 16

# From this number of channels on, additional filters cost nothing.
_DEEP = 64


def filters_to_pad(target: Target, x: Tensor, w: Tensor) -> int:
    """Returns how many filters of zeros to append to `w` [K, C / groups, window...].

    IREE 3.13.0 uses no matrix instructions for less than half a tile of filters, and convolutions
    with half a tile and many channels run out of LDS.

    Args:
        target: target of the kernel.
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


def needs_second_channel(
    target: Target, element: str, channels: int, window: Sequence[int], dilation: Sequence[int]
) -> bool:
    """Returns whether activations need a second channel.

    With one channel IREE 3.13.0 reads the rows of a window as if they were not dilated.

    Args:
        target: target of the kernel.
        element: type of the activations.
        channels: channels per group.
        window: extents of the window.
        dilation: step between the window's elements, per spatial dim.
    """
    is_dilated = dilation[-1] > 1 and window[-1] > 1 and math.prod(window[:-1]) > 1
    return channels == 1 and is_dilated and element in target.matrix_elements


def with_second_channel(emitter: Emitter, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Returns activations and filters with a second channel, of zeros, in each group."""
    groups = x.shape[1]
    split = emitter.split_dim(x, 1, groups)
    return emitter.merge_dims(resized(emitter, split, 2, 1), 1), resized(emitter, w, 1, 1)
