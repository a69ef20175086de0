"""Reductions over several dims, the innermost of which has too few elements for a wavefront."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

IDLE_LANES = Workaround(
    name="idle-lanes",
    fault="If the dims of a reduction cannot be collapsed, IREE distributes the innermost dim "
    "alone. The largest power of two that divides its extent becomes the number of lanes, "
    "the quotient becomes the number of wavefronts: rows of 64x5 elements get 5 wavefronts "
    "of one lane, whose other lanes compute the same. If there are more wavefronts than "
    "lanes, IREE adds their sums wrongly.",
    effect=Effect.WRONG,
    targets="AMDGPU, CUDA",
    remedy="Such reductions get tile sizes that distribute lanes over all reduced dims.",
)


@IDLE_LANES.avoids
def leaves_lanes_idle(target: Target, lanes: Sequence[int]) -> bool:
    """Returns whether IREE uses less than a wavefront's lanes for a reduction.

    Args:
        target: target of the kernel.
        lanes: the lanes that IREE chose along each loop.
    """
    return prod(lanes) < target.wavefront_size
