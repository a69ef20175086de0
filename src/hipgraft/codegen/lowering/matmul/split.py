"""Splits the sums of matrix products, so that more workgroups share the work."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import ReductionMode

Multiply = Callable[[Tensor, Tensor, tuple[int, int, int]], Tensor]
"""Multiplies two batches of matrices; the third argument is the shape of the result."""

# The smallest depth at which a second launch takes less time than the longer sums.
_DEEP = 512


def parts_of_row(a: Tensor, b: Tensor, target: Target) -> int:
    """Returns into how many parts to split the sums of one row times a matrix, 1 for whole sums.

    If the rows of the matrix are contiguous, IREE 3.13.0 gives each lane all of the depth of some
    columns, and a workgroup 512 columns: 2048 columns occupy 4 compute units. A batch of products
    is distributed over the chip. With at least as many rows as lanes, each lane loads one row.

    Args:
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
        target: target of the kernel.
    """
    depth = a.shape[-1]
    is_row = prod(a.shape[:-1]) == prod(b.shape[:-2]) == 1
    is_contiguous = b.dims[-1:] == (b.rank - 1,)
    if target.kind is not TargetKind.AMDGPU or not is_row or not is_contiguous:
        return 1
    part = target.wavefront_size // 2
    return depth // part if depth % part == 0 and depth >= _DEEP else 1


def multiply_in_parts(
    emitter: Emitter, a: Tensor, b: Tensor, parts: int, accumulator: str, multiply: Multiply
) -> Tensor:
    """Multiplies parts of K as a batch and adds their products.

    Args:
        emitter: emitter that receives the ops.
        a: one left matrix [1..., M, K].
        b: one right matrix [1..., K, N].
        parts: divides K.
        accumulator: element type of the sums.
        multiply: multiplies the batches.
    """
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    part = depth // parts
    if rows == 1:
        a = emitter.reshape(emitter.reshape(a, (depth,)), (parts, 1, part))
    else:
        a = emitter.reshape(emitter.reshape(a, (rows, depth)), (rows, parts, part))
        a = a.permuted((1, 0, 2))
    b = emitter.reshape(emitter.reshape(b, (depth, columns)), (parts, part, columns))
    products = multiply(a, b, (parts, rows, columns))
    return reduce_dims(emitter, ReductionMode.ADD, products, [0], accumulator)
