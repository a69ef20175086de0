"""Reductions over several dims, whose innermost one has too few elements for a wavefront."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

IDLE_LANES = Workaround(
    name="idle-lanes",
    fault="If the dims of a reduction cannot be collapsed, IREE distributes the innermost one "
    "alone. Its largest divisor that is a power of two becomes the number of lanes, the rest "
    "becomes wavefronts: rows of 64x5 elements get 5 wavefronts of one lane, whose other lanes "
    "compute the same. Where there are more wavefronts than lanes, their sums are added wrongly.",
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
