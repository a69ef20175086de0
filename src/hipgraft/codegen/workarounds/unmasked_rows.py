"""Batches of products whose right matrices end within a tile in both dims, and 1x1 convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.element_types import bit_width, is_float

UNMASKED_ROWS = Workaround(
    name="unmasked-rows",
    fault="If K is no multiple of the matrix instructions' depth, nor N of a vector, the mask of "
    "the right matrices' rows past K is lost (`vector.shape_cast` of a `vector.create_mask` drops "
    "a dim of extent 1 whose bound is 0): rows of the batch's next matrix are read. The zeros of "
    "the left matrix multiply them, so that a NaN or an infinity of one matrix makes the results "
    "of another NaN.",
    effect=Effect.WRONG,
    targets="AMDGPU",
    remedy="K is padded with zeros, in the right matrices by a dispatch of its own. In a "
    "convolution with a 1x1 window, K are the channels, and N the positions.",
)

_VECTOR_BITS = 128

_DEPTHS = {32: 4, 16: 16, 8: 32}
"""The largest depth of a matrix instruction that IREE chooses, by the width of the elements."""

_TILE = 32
"""Results in each dim of the instruction of half that depth, which gfx9 has for 16 bits."""


def with_whole_depth(emitter: Emitter, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the factors with K padded where the right matrices' rows past K would be read.

    Args:
        emitter: emitter that receives the ops.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    is_by_rows = b.dims[-1:] == (b.rank - 1,)
    shape = (*b.shape[:-2], a.shape[-2], *b.shape[-2:])
    more = _rows_to_add(emitter.target, b.element, shape) if is_by_rows else 0
    return resized(emitter, a, a.rank - 1, more), _apart(emitter, b, b.rank - 2, more)


def with_whole_channels(
    emitter: Emitter, x: Tensor, w: Tensor, dim: int, positions: int
) -> tuple[Tensor, Tensor]:
    """Returns the operands of a convolution with channels padded where others would be read.

    Args:
        emitter: emitter that receives the ops.
        x: activations [N, C, spatial...] or [N, G, C / G, spatial...], in this order.
        w: filters [K, C, 1...] or [G, K / G, C / G, 1...].
        dim: the dim of the channels.
        positions: number of positions of the result that are next to each other in memory.
    """
    shape = (*x.shape[:dim], *w.shape[dim - 1 : dim + 1], positions)
    more = _rows_to_add(emitter.target, x.element, shape)
    return _apart(emitter, x, dim, more), resized(emitter, w, dim, more)


def _apart(emitter: Emitter, value: Tensor, dim: int, more: int) -> Tensor:
    # IREE would fuse the padding into the product, and lose its mask.
    return emitter.barrier(resized(emitter, value, dim, more)) if more else value


@UNMASKED_ROWS.avoids
def _rows_to_add(target: Target, element: str, shape: Sequence[int]) -> int:
    """The number of rows to add to the right matrices of a product [batch..., M, K, N]."""
    *batch, rows, depth, columns = shape
    bits = bit_width(element) or 0
    if math.prod(batch) == 1 or columns * bits % _VECTOR_BITS == 0:
        return 0
    if not is_float(element) or element not in target.matrix_elements | target.matrix_bytes:
        return 0
    is_wide = target.is_gfx9 and bits == 16 and min(rows, columns) > _TILE
    return -depth % (_DEPTHS[bits] // 2 if is_wide else _DEPTHS[bits])
