"""Grouped convolutions with 1x1 windows and few positions."""

from __future__ import annotations

from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

GROUPED_UNIT_WINDOW = Workaround(
    name="grouped-unit-window",
    fault="A grouped convolution with a 1x1 window and fewer than 16 positions becomes a batched "
    "product whose first factor has the result's later dim, on which the compiler crashes.",
    effect=Effect.CRASH,
    targets="gfx9",
    remedy="The convolution is emitted as a product with its factors in the other order.",
)

# From this number of positions on, such convolutions compile.
_MANY_POSITIONS = 16


@GROUPED_UNIT_WINDOW.avoids
def crashes_in_groups(target: Target, groups: int, positions: int) -> bool:
    """Returns whether a convolution with a 1x1 window must be emitted as a product.

    Args:
        target: target of the kernel.
        groups: groups of channels.
        positions: elements of a channel of the result.
    """
    return target.is_gfx9 and groups > 1 and positions < _MANY_POSITIONS
