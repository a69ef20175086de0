"""Scales that broadcast over some of the normalised dims."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds import Effect, Workaround

BROADCAST_SCALE = Workaround(
    name="broadcast-scale",
    fault="If a scale broadcasts over only some of the summed dims, the compiler takes the sum of "
    "the products of the scale and `dy` for a contraction, and code generation fails.",
    effect=Effect.FAILS,
    targets="cpu",
    remedy="The scale is materialized in the shape of the summed dims.",
)


@BROADCAST_SCALE.avoids
def is_taken_for_contraction(scale: Tensor, x: Tensor, dims: Sequence[int]) -> bool:
    """Returns whether a scale must be materialized.

    Args:
        scale: the scale, whose shape broadcasts to that of `x`.
        x: the normalised tensor.
        dims: the normalised dims.
    """
    aligned = (1,) * (x.rank - scale.rank) + scale.shape
    repeats = any(aligned[dim] < x.shape[dim] for dim in dims)
    return repeats and not all(aligned[dim] == 1 for dim in dims)
