"""Batched products and 1x1 convolutions with partial tiles in K and in a matrix's rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.few_rows import SPARSE_DEPTH, SPARSE_ROWS
from hipgraft.ir.element_types import bit_width

UNMASKED_ROWS = Workaround(
    name="unmasked-rows",
    fault="The mask of a matrix's rows past K is lost if K is not a multiple of the matrix "
    "instructions' depth and a row is not a multiple of 16 bytes: `vector.shape_cast` of a "
    "`vector.create_mask` folds to a mask without the leading dim of extent 1, although "
    "that dim's bound is 0. The kernel reads rows of the batch's next matrix instead. If "
    "both factors lose their masks, results are wrong. If only one factor does, the zeros "
    "of the other factor multiply those rows, so a NaN or an infinity in one matrix of the "
    "batch makes results of its neighbor NaN.",
    effect=Effect.WRONG,
    targets="AMDGPU",
    remedy="Small products use no matrix instructions. Of others, K is padded with zeros; a "
    "dispatch of its own pads the matrix that would lose its mask. In a convolution with a 1x1 "
    "window, K is the number of channels, and a row holds the positions of one channel.",
)

_VECTOR_BITS = 128

_DEPTHS = {32: 4, 16: 16, 8: 32}
"""The largest depth of a matrix instruction that IREE chooses, by the width of the elements."""

_TILE = 32
"""For 16 bits, gfx9 has instructions of half that depth, which compute tiles of 32x32."""

_SPARSE_STEP = 256
"""Elements of K that instructions for sparse matrices of 16 bits read at a time."""


def with_whole_depth(emitter: Emitter, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the factors with K padded where rows past K would be read.

    Args:
        emitter: emitter that receives the ops.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    more = depth_to_pad(emitter.target, a, b)
    if not more:
        return a, b
    return (
        _padded(emitter, a, a.rank - 1, more, is_apart=_loses_left(a)),
        _padded(emitter, b, b.rank - 2, more, is_apart=_loses_right(b)),
    )


def depth_to_pad(target: Target, a: Tensor, b: Tensor) -> int:
    """Returns how much `with_whole_depth` adds to K."""
    rows, depth, columns = *a.shape[-2:], b.shape[-1]
    if min(rows, columns) == 1 or not (_loses_left(a) or _loses_right(b)):
        return 0  # products with vectors use no matrix instructions
    return _depth_to_add(target, b.element, rows, depth, columns)


def _loses_left(a: Tensor) -> bool:
    return _precedes_matrices(a, a.rank - 1, a.rank - 2) and _is_partial(a, a.shape[-2])


def _loses_right(b: Tensor) -> bool:
    return _precedes_matrices(b, b.rank - 2, b.rank - 1) and _is_partial(b, b.shape[-1])


def with_whole_channels(
    emitter: Emitter, x: Tensor, w: Tensor, dim: int, more: int
) -> tuple[Tensor, Tensor]:
    """Returns a convolution's operands, with channels padded where it would read past them.

    Args:
        emitter: emitter that receives the ops.
        x: activations [N, C, spatial...] or [N, G, C / G, spatial...], in this order.
        w: filters [K, C, window...] or [G, K / G, C / G, window...].
        dim: the dim of the channels.
        more: what `channels_to_pad` returned.
    """
    return (
        _padded(emitter, x, dim, more, is_apart=True),
        _padded(emitter, w, dim, more, is_apart=False),
    )


def channels_to_pad(
    target: Target, x: Tensor, w: Tensor, result: Sequence[int], stride: Sequence[int]
) -> int:
    """Returns how many channels a convolution must add to each group.

    Args:
        target: target of the convolution.
        x: activations [N, C, spatial...].
        w: filters [K, C / groups, window...].
        result: shape of the result [N, K, spatial...].
        stride: steps of the window, per spatial dim.
    """
    filters, channels, *window = w.shape
    groups = x.shape[1] // channels
    positions = math.prod(result[2:]) if max(stride) == 1 else result[-1]
    if max(window) > 1 or x.shape[0] * groups == 1 or not _is_partial(x, positions):
        return 0
    return _depth_to_add(target, x.element, filters // groups, channels, positions)


def _precedes_matrices(value: Tensor, depth: int, other: int) -> bool:
    """Whether rows past K belong to another matrix; rows past the buffer read as 0."""
    if depth not in value.dims:
        return False
    place = value.dims.index(depth)
    is_batched = any(value.shape[dim] > 1 for dim in value.dims[:place])
    return is_batched and other in value.dims[place:]


def _is_partial(value: Tensor, extent: int) -> bool:
    return extent * (bit_width(value.element) or 0) % _VECTOR_BITS > 0


def _padded(emitter: Emitter, value: Tensor, dim: int, more: int, *, is_apart: bool) -> Tensor:
    wide = resized(emitter, value, dim, more)
    # IREE would fuse the padding into the product, and lose its mask.
    return emitter.barrier(wide) if is_apart and more else wide


@UNMASKED_ROWS.avoids
def _depth_to_add(target: Target, element: str, rows: int, depth: int, columns: int) -> int:
    if element not in target.matrix_elements | target.matrix_bytes:
        return 0
    bits = bit_width(element) or 0
    if bits == 16 and rows in SPARSE_ROWS and depth % SPARSE_DEPTH == 0:
        return -depth % _SPARSE_STEP
    is_wide = target.is_gfx9 and bits == 16 and min(rows, columns) > _TILE
    return -depth % (_DEPTHS[bits] // 2 if is_wide else _DEPTHS[bits])
