"""Grouped convolutions of f32 with 6 or 10 filters per group."""

from __future__ import annotations

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

GROUPED_FILTERS = Workaround(
    name="grouped-filters",
    fault="The compiler crashes on some grouped convolutions of f32 with 6 or 10 filters per "
    "group, and on their gradients, for example with two images of 9x10 pixels.",
    effect=Effect.CRASH,
    targets="gfx9",
    remedy="Each group is padded with filters of zeros to a multiple of 4, and the result is "
    "cropped.",
)

_CRASHING_FILTERS = (6, 10)
_GOOD_FILTERS = 4


@GROUPED_FILTERS.avoids
def group_filters_to_add(target: Target, element: str, filters: int) -> int:
    """Returns how many filters of zeros to append to each group.

    Args:
        target: target of the kernel.
        element: element type of the operands.
        filters: filters of a group.
    """
    crashes = target.is_gfx9 and element == "f32" and filters in _CRASHING_FILTERS
    return -filters % _GOOD_FILTERS if crashes else 0
