"""Batches of products with 3, 6 or 10 rows and few columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

BATCHED_ROWS = Workaround(
    name="batched-rows",
    fault="The compiler crashes as on `buffer-pointers` on batches of matrices with 6 or 10 rows "
    "and 2 to 15 columns whose rows and columns are the innermost dimensions of the result. Left "
    "matrices that share a right matrix count as one matrix of all their rows, too. It also "
    "crashes if the f32 results of an even number of products of 3 rows and 3 to 15 columns are "
    "transposed.",
    effect=Effect.CRASH,
    targets="gfx9",
    remedy="The result is stored with its batch dimensions between rows and columns; users that "
    "need another order read a transposed copy. A result of 3 rows is materialized before it is "
    "transposed.",
)

_CRASHING_ROWS = (6, 10)
_FEW_COLUMNS = range(2, 16)
_TRANSPOSED_ROWS = 3
_TRANSPOSED_COLUMNS = range(3, 16)


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


@BATCHED_ROWS.avoids
def crashes_transposed(target: Target, a: Tensor, b: Tensor) -> bool:
    """Whether the compiler crashes if the result of this product is transposed.

    Args:
        target: target of the kernel.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    shape = (*a.shape[:-1], b.shape[-1])
    batches = math.prod(shape[dim] for dim in batch_of(b, shape))
    is_small = a.shape[-2] == _TRANSPOSED_ROWS and b.shape[-1] in _TRANSPOSED_COLUMNS
    return target.is_gfx9 and a.element == "f32" and is_small and batches % 2 == 0


def batch_of(b: Tensor, shape: Sequence[int]) -> list[int]:
    """Returns the batch dims of a product [batch..., M, N] in which the right matrices differ."""
    missing = len(shape) - b.rank
    return [dim for dim in range(missing, len(shape) - 2) if b.shape[dim - missing] > 1]
