"""Kernels with one work item."""

from __future__ import annotations

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

# Longer rows get a wavefront.
_LONGEST = 4

ONE_LANE = Workaround(
    name="one-lane",
    fault="IREE reduces a row of up to 4 elements in one work item. If the same dispatch reads the "
    "result in `tanh` and stores that as f16, LLVM drops the branch of `tanh` and stores an "
    "undefined number.",
    effect=Effect.WRONG,
    targets="RDNA",
    remedy="Ops on such a row become several dispatches.",
)


@ONE_LANE.avoids
def has_one_lane(length: int, target: Target) -> bool:
    """Returns whether a dispatch that reduces a single row has one work item.

    Args:
        length: the elements of the row.
        target: the target of the dispatch.
    """
    return target.is_rdna and length <= _LONGEST
