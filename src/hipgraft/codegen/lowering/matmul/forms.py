"""Remedies for products that IREE 3.13.0 miscompiles or tiles badly on AMDGPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import bit_width
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind

# With few columns the compiler crashes on left matrices with these numbers of rows. Left matrices
# that share a right matrix count as one matrix of all their rows.
_CRASHING_ROWS = (6, 10)
_FEW_COLUMNS = range(2, 16)
_GOOD_ROWS = 4

# The least common multiples of the depths of all 16-bit matrix instructions, and of their loads.
_DEPTH = 32
_VECTOR = 8

# IREE's tiles without matrix instructions: results per lane and per workgroup along the last loop,
# unless the extents of the last two loops are multiples of `_SMALL_TILES`.
_LANE = 16
_WORKGROUP = 128
_SMALL_TILES = (8, 32)

# IREE tiles products with fewer rows in another way.
_FEWEST_ROWS = 5

# The extra cost (counted) of lanes that each load a separate piece of a right matrix's row,
# relative to lanes that load the row together. It applies from the depth `_DEEP` on.
_SPLIT_LOADS = 0.15
_DEEP = 32


def rows_to_pad(target: Target, b: Tensor, shape: Sequence[int]) -> int:
    """Returns how many rows of zeros the left matrices of a batched product need to compile.

    Args:
        target: target of the kernel.
        b: right matrices [batch..., K, N].
        shape: shape of the result [batch..., M, N].
    """
    *batch, rows, columns = shape
    pairs = zip_longest(reversed(batch), reversed(b.shape[:-2]), fillvalue=1)
    sharing = math.prod(extent for extent, of_b in pairs if of_b == 1)
    crashes = {rows, rows * sharing}.intersection(_CRASHING_ROWS) and columns in _FEW_COLUMNS
    return -rows % _GOOD_ROWS if target.is_gfx9 and crashes else 0


def whole_in_depth(emitter: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """Returns the left matrices in a storage order in which IREE masks reads beyond K.

    If they are transposed and neither side consists of whole vectors, IREE does not mask these
    reads, which then return elements of the next matrix in the batch.

    Args:
        emitter: where the ops go.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    rows, depth = a.rank - 2, a.rank - 1
    is_transposed = rows in a.dims and a.dims.index(depth) < a.dims.index(rows)
    partial = a.shape[depth] % _DEPTH and a.shape[rows] % _VECTOR and b.shape[-1] % _VECTOR
    is_amdgpu = emitter.target.kind is TargetKind.AMDGPU
    if not is_amdgpu or not is_transposed or not partial or bit_width(a.element) != 16:
        return a
    others = [dim for dim in a.dims if dim not in (rows, depth)]
    # Without a barrier IREE would fuse the transposition back into the product.
    return emitter.barrier(emitter.in_order(a, [*others, rows, depth]))


def swaps_mn(target: Target, a: Tensor, b: Tensor) -> bool:
    """Returns whether IREE tiles a product better with M as the last parallel loop.

    RDNA multiplies 32-bit elements without matrix instructions. If the extent of the last loop
    leaves a partial tile, the compiler does not know the bounds of any tile, and all tiles cost
    three times as much (counted on gfx1100).

    Args:
        target: target of the kernel.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    if not target.is_rdna or bit_width(a.element) < 32 or rows < _FEWEST_ROWS:
        return False
    as_is = _partial_tile_cost(rows, columns)
    by_row = b.dims[-1:] == (b.rank - 1,)
    split_loads = _SPLIT_LOADS if as_is and by_row and depth >= _DEEP else 0
    return _partial_tile_cost(columns, rows) < as_is + split_loads


def has_partial_tiles(rows: int, columns: int) -> bool:
    """Returns whether matrices have partial tiles on RDNA in either order of the loops."""
    both = _partial_tile_cost(rows, columns), _partial_tile_cost(columns, rows)
    return rows >= _FEWEST_ROWS and min(both) > 0


def _partial_tile_cost(outer: int, inner: int) -> float:
    """The cost of partial tiles for the extents of the last two parallel loops; 0 without any."""
    small = outer % _SMALL_TILES[0] == 0 and inner % _SMALL_TILES[1] == 0
    whole = inner % _WORKGROUP == 0 or (inner < _WORKGROUP and inner % _LANE == 0)
    if small or whole or inner < _LANE:
        return 0
    return 1 + -inner % _LANE / inner
