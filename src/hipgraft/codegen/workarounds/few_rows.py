"""Products of few rows of 16-bit elements, compiled to instructions that the target lacks."""

from __future__ import annotations

import math

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.element_types import bit_width

FEW_ROWS = Workaround(
    name="few-rows",
    fault="A product of 2 to 8 rows whose K is a multiple of 128 uses matrix instructions for "
    "sparse matrices. For gfx950 the compiler crashes on these instructions; gfx90a does "
    "not have them.",
    effect=Effect.CRASH,
    targets="gfx950 and gfx90a: f16 and bf16",
    remedy="Rows of zeros fill the tile of dense matrix instructions, and the result is cropped.",
)

_TARGETS = ("gfx90a", "gfx950")
# The rows and the multiples of K for which IREE uses matrix instructions for sparse matrices.
SPARSE_ROWS = range(2, 9)
SPARSE_DEPTH = 128

# The rows of a matrix instruction's tile.
TILE_ROWS = 16


@FEW_ROWS.avoids
def fails_on_rows(target: Target, element: str, rows: int, depth: int) -> bool:
    """Returns whether IREE fails on a product of a [rows, depth] matrix."""
    is_sparse = rows in SPARSE_ROWS and depth % SPARSE_DEPTH == 0
    return is_sparse and target.name in _TARGETS and bit_width(element) == 16


def rows_to_add(target: Target, a: Tensor, b: Tensor) -> int:
    """Returns how many rows of zeros to append to each left matrix.

    Args:
        target: target of the kernel.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    *batch, rows, depth = a.shape
    # Left matrices that share a right matrix count as one.
    sharing = 1 if math.prod(b.shape[:-2]) > 1 else math.prod(batch)
    return TILE_ROWS - rows if fails_on_rows(target, a.element, rows * sharing, depth) else 0
