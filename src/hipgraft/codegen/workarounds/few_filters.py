"""Convolutions with fewer filters than a tile of matrix instructions has."""

from __future__ import annotations

import math

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

FEW_FILTERS = Workaround(
    name="few-filters",
    fault="A convolution with half a tile of filters and many channels, or with a multiple of 128 "
    "products per result, needs more LDS than the target has. With less than half a tile of "
    "filters it compiles, but not to matrix instructions.",
    effect=Effect.FAILS,
    targets="gfx942: f16 and bf16",
    remedy="Filters of zeros fill the tile, and the result is cropped.",
)

# The number of filters that fill a matrix instruction's tile, and the fewest products per result.
_TILE = 16

# From this number of channels on, additional filters cost nothing.
_DEEP = 64

# A K tile of this extent, with an M tile of 256 and an N tile of 16, needs 68 KiB of LDS for 16-bit
# elements; the K tiles of f32 are shorter.
_LONG = 128


@FEW_FILTERS.avoids
def filters_to_add(target: Target, x: Tensor, w: Tensor) -> int:
    """Returns how many filters of zeros to append to `w` [K, C / groups, window...].

    Args:
        target: target of the kernel.
        x: activations [N, C, spatial...].
        w: the filters.
    """
    filters, channels, *window = w.shape
    is_product = math.prod(window) == 1
    if is_product or channels != x.shape[1] or x.element not in target.matrix_elements:
        return 0
    products = channels * math.prod(window)
    if filters >= _TILE or products < _TILE:
        return 0
    is_long = products % _LONG == 0 and x.element != "f32"
    needs_tile = 2 * filters < _TILE or channels >= _DEEP or is_long
    return _TILE - filters if needs_tile else 0
