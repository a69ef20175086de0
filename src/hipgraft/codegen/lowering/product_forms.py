"""Forms of products that IREE 3.13.0 gets wrong or tiles badly on AMDGPU, and what helps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.scalars import bit_width
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind

# With few columns, the compiler crashes on matrices of so many rows; those that share a right
# matrix are one to it.
_CRASHING_ROWS = (6, 10)
_FEW_COLUMNS = range(2, 16)
_GOOD_ROWS = 4

# The least multiples that all matrix instructions of 16-bit elements, and loads of them, divide.
_DEPTH = 32
_VECTOR = 8

# Without matrix instructions, a lane makes this many results of the last loop and a workgroup that
# many, if the extents divide by no smaller tiles (of the last loop but one, and of the last).
_LANE = 16
_WORKGROUP = 128
_SMALL_TILES = (8, 32)

# Products of fewer rows are tiled in another way.
_FEWEST_ROWS = 5

# What lanes that each load a piece of a right matrix's row cost, beside those that load it together
# (counted), where there is enough to load.
_APART = 0.15
_DEEP = 32


def missing_rows(target: Target, b: Tensor, shape: Sequence[int]) -> int:
    """Returns how many rows more the left matrices of a batched product must have to compile.

    Args:
        target: what is compiled for.
        b: right matrices [batch..., K, N].
        shape: of the result [batch..., M, N].
    """
    *batch, rows, columns = shape
    pairs = zip_longest(reversed(batch), reversed(b.shape[:-2]), fillvalue=1)
    sharing = math.prod(extent for extent, of_b in pairs if of_b == 1)
    crashes = {rows, rows * sharing}.intersection(_CRASHING_ROWS) and columns in _FEW_COLUMNS
    return -rows % _GOOD_ROWS if target.is_gfx9 and crashes else 0


def whole_in_depth(emitter: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """Returns the left matrices stored such that what is read beyond K counts as 0.

    Of transposed ones, reads beyond K are left unmasked where neither side's vectors are whole,
    and get what the next matrix of the batch holds.

    Args:
        emitter: where the ops go.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    rows, depth = a.rank - 2, a.rank - 1
    is_transposed = rows in a.dims and a.dims.index(depth) < a.dims.index(rows)
    ragged = a.shape[depth] % _DEPTH and a.shape[rows] % _VECTOR and b.shape[-1] % _VECTOR
    is_amdgpu = emitter.target.kind is TargetKind.AMDGPU
    if not is_amdgpu or not is_transposed or not ragged or bit_width(a.element) != 16:
        return a
    others = [dim for dim in a.dims if dim not in (rows, depth)]
    # Without a barrier the transposition becomes part of the product again.
    return emitter.barrier(emitter.in_order(a, [*others, rows, depth]))


def columns_first(target: Target, a: Tensor, b: Tensor) -> bool:
    """Returns whether a product is tiled better with its rows as the last parallel loop.

    RDNA multiplies elements of 32 bits without matrix instructions. Where the extent of the last
    loop is no whole number of tiles, all tiles get bounds that are unknown to the compiler, and
    cost three times as much (counted on gfx1100).

    Args:
        target: what is compiled for.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    (rows, depth), columns = a.shape[-2:], b.shape[-1]
    if not target.is_rdna or bit_width(a.element) < 32 or rows < _FEWEST_ROWS:
        return False
    as_is = _raggedness(rows, columns)
    by_row = b.dims[-1:] == (b.rank - 1,)
    apart = _APART if as_is and by_row and depth >= _DEEP else 0
    return _raggedness(columns, rows) < as_is + apart


def is_ragged(rows: int, columns: int) -> bool:
    """Returns whether matrices are no whole number of RDNA's tiles in either order."""
    both = _raggedness(rows, columns), _raggedness(columns, rows)
    return rows >= _FEWEST_ROWS and min(both) > 0


def _raggedness(outer: int, inner: int) -> float:
    """How badly the extents of the last two parallel loops fit the tiles; 0 if they do."""
    small = outer % _SMALL_TILES[0] == 0 and inner % _SMALL_TILES[1] == 0
    whole = inner % _WORKGROUP == 0 or (inner < _WORKGROUP and inner % _LANE == 0)
    if small or whole or inner < _LANE:
        return 0
    return 1 + -inner % _LANE / inner
