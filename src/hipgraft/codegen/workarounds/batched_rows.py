"""Batches of products with 6 or 10 rows and few columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

BATCHED_ROWS = Workaround(
    name="batched-rows",
    fault="The compiler crashes on batches of matrices with 6 or 10 rows and 2 to 15 columns whose "
    "rows and columns are the innermost dimensions of the result. Left matrices that share a right "
    "matrix count as one matrix of all their rows, too.",
    effect=Effect.CRASH,
    targets="gfx9",
    remedy="The result is stored with its batch dimensions between rows and columns; users that "
    "need another order read a transposed copy.",
)

_CRASHING_ROWS = (6, 10)
_FEW_COLUMNS = range(2, 16)


@BATCHED_ROWS.avoids
def has_innermost_rows(
    target: Target, b: Tensor, shape: Sequence[int], order: Sequence[int]
) -> bool:
    """Whether a product in this form may crash the compiler.

    Args:
        target: target of the kernel.
        b: right matrices [batch..., K, N].
        shape: shape of the result [batch..., M, N].
        order: storage order of the result's loops: of batch dims that are not 1, and of M and N.
    """
    batch = batch_of(b, shape)
    rows, columns = shape[-2:]
    sharing = math.prod(shape[dim] for dim in range(len(shape) - 2) if dim not in batch)
    is_few = {rows, rows * sharing}.intersection(_CRASHING_ROWS) and columns in _FEW_COLUMNS
    return target.is_gfx9 and bool(batch) and order[-2] not in batch and bool(is_few)


def batch_of(b: Tensor, shape: Sequence[int]) -> list[int]:
    """Returns the batch dims of a product [batch..., M, N] in which the right matrices differ."""
    missing = len(shape) - b.rank
    return [dim for dim in range(missing, len(shape) - 2) if b.shape[dim - missing] > 1]
