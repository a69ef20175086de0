"""Batches of products with 6 or 10 rows and few columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

BATCHED_ROWS = Workaround(
    name="batched-rows",
    fault="The compiler crashes on batches of matrices with 6 or 10 rows and 2 to 15 columns. "
    "Left matrices that share a right matrix count as one matrix of all their rows.",
    effect=Effect.CRASH,
    targets="gfx9",
    remedy="Rows of zeros are appended up to a multiple of 4, and the result is cropped.",
)

_CRASHING_ROWS = (6, 10)
_FEW_COLUMNS = range(2, 16)
_GOOD_ROWS = 4


@BATCHED_ROWS.avoids
def rows_to_add(target: Target, b: Tensor, shape: Sequence[int]) -> int:
    """Returns how many rows to append to the left matrices of a batched product.

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
