"""Batches of transposed left matrices whose K is not a multiple of what instructions take."""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.few_rows import SPARSE_DEPTH, SPARSE_ROWS
from hipgraft.ir.element_types import bit_width

TRANSPOSED_DEPTH = Workaround(
    name="transposed-depth",
    fault="Reads beyond K are not masked if the left matrices are transposed and the extents of "
    "neither side are multiples of a vector; they return elements of the batch's next matrix.",
    effect=Effect.WRONG,
    targets="AMDGPU, 16-bit elements",
    remedy="The left matrices are transposed in a dispatch of their own.",
)

# The least common multiples of the depths of all 16-bit matrix instructions, and of their loads.
_DEPTH = 32
_VECTOR = 8

# The step in K of matrix instructions for sparse matrices.
_SPARSE_STEP = 256


def masked_in_depth(emitter: Emitter, a: Tensor, b: Tensor) -> Tensor:
    """Returns the left matrices in a storage order in which reads beyond K are masked.

    Args:
        emitter: emitter that receives the ops.
        a: left matrices [batch..., M, K].
        b: right matrices [batch..., K, N].
    """
    rows, depth = a.rank - 2, a.rank - 1
    if not _is_unmasked(emitter.target, a, b):
        return a
    others = [dim for dim in a.dims if dim not in (rows, depth)]
    # Without a barrier IREE would fuse the transposition back into the product.
    return emitter.barrier(emitter.in_order(a, [*others, rows, depth]))


@TRANSPOSED_DEPTH.avoids
def _is_unmasked(target: Target, a: Tensor, b: Tensor) -> bool:
    rows, depth = a.rank - 2, a.rank - 1
    stored = [dim for dim in a.dims if dim in (rows, depth)]
    is_sparse = a.shape[rows] in SPARSE_ROWS and a.shape[depth] % SPARSE_DEPTH == 0
    step = _SPARSE_STEP if is_sparse else _DEPTH
    extents = (a.shape[depth] % step, a.shape[rows] % _VECTOR, b.shape[-1] % _VECTOR)
    is_wide = target.kind is not TargetKind.AMDGPU or bit_width(a.element) != 16
    return stored == [depth, rows] and all(extents) and not is_wide
