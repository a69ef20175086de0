"""Identifies products that IREE 3.13.0 tiles badly on AMDGPU."""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.ir.element_types import bit_width

# IREE's tiles without matrix instructions: results per lane and per workgroup along the last loop,
# unless the extents of the last two loops are multiples of `_SMALL_TILES`.
_LANE = 16
_WORKGROUP = 128
_SMALL_TILES = (8, 32)

# IREE tiles products with fewer rows than this differently.
FEWEST_ROWS = 5

# The extra cost (counted) if each lane loads its own piece of a right matrix's row, instead of the
# lanes loading the row together. It applies from depth `_DEEP` on.
_SPLIT_LOADS = 0.15
_DEEP = 32


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
    if not target.is_rdna or bit_width(a.element) < 32 or rows < FEWEST_ROWS:
        return False
    as_is = _partial_tile_cost(rows, columns)
    by_row = b.dims[-1:] == (b.rank - 1,)
    split_loads = _SPLIT_LOADS if as_is and by_row and depth >= _DEEP else 0
    return _partial_tile_cost(columns, rows) < as_is + split_loads


def _partial_tile_cost(outer: int, inner: int) -> float:
    """The cost of partial tiles for the extents of the last two parallel loops; 0 without any."""
    small = outer % _SMALL_TILES[0] == 0 and inner % _SMALL_TILES[1] == 0
    whole = inner % _WORKGROUP == 0 or (inner < _WORKGROUP and inner % _LANE == 0)
    if small or whole or inner < _LANE:
        return 0
    return 1 + -inner % _LANE / inner
