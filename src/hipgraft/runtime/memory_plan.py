"""Offsets for buffers that share one arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

DEFAULT_ALIGNMENT = 256
"""What a GPU's allocator gives, so kernels may rely on it."""


@dataclass(frozen=True)
class Interval:
    """A buffer of `size` bytes that is live from step `first` to step `last`, both included."""

    size: int
    first: int
    last: int

    def meets(self, other: Interval) -> bool:
        """Whether both are live at some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class MemoryPlan:
    """Where each buffer lies.

    Attributes:
        offsets: in bytes, in the order of the intervals.
        size: bytes of the arena.
        lower_bound: most bytes that are live at one step; no plan is smaller.
        unplanned: bytes without sharing.
    """

    offsets: tuple[int, ...]
    size: int
    lower_bound: int
    unplanned: int


_Order: TypeAlias = Callable[[Interval], tuple[int, ...]]

# Large buffers first leaves small ones to fill the gaps; long-lived first keeps what never
# leaves at the bottom; neither is better on all programs. The others follow the area, and the order
# of time from either end.
_ORDERS: tuple[_Order, ...] = (
    lambda one: (-one.size, one.first),
    lambda one: (one.first - one.last, -one.size),
    lambda one: (-one.size * (one.last - one.first + 1), one.first),
    lambda one: (one.first, -one.size),
    lambda one: (-one.last, -one.size),
)

_EXACT_UP_TO = 7  # buffers; their orders are tried in well under a second


def plan_memory(intervals: Sequence[Interval], alignment: int = DEFAULT_ALIGNMENT) -> MemoryPlan:
    """Places buffers so that no two that are live at once overlap.

    Takes the best of several greedy first-fit placements; where none reaches the lower bound, a few
    buffers are placed in the best of all orders. Sizes are rounded up to `alignment`.
    Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020
    (greedy by size).
    """
    rounded = [Interval(_align(one.size, alignment), one.first, one.last) for one in intervals]
    lower_bound = _most_live(rounded)
    numbers = range(len(rounded))
    orders = [sorted(numbers, key=lambda i: order(rounded[i])) for order in _ORDERS]
    best = min((_place(rounded, order) for order in orders), key=_size_of)
    if best[1] > lower_bound and len(rounded) <= _EXACT_UP_TO:
        best = min((_place(rounded, order) for order in permutations(numbers)), key=_size_of)
    return MemoryPlan(
        offsets=best[0],
        size=best[1],
        lower_bound=lower_bound,
        unplanned=sum(one.size for one in rounded),
    )


def _size_of(plan: tuple[tuple[int, ...], int]) -> int:
    return plan[1]


def _place(intervals: Sequence[Interval], order: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Gives each buffer, in this order, the lowest offset that is free throughout its life.

    Some order gives the best plan there is: that of the offsets in a best plan, in which first fit
    moves no buffer up.
    """
    offsets: dict[int, int] = {}
    for index in order:
        taken = [
            (offset, offset + intervals[other].size)
            for other, offset in offsets.items()
            if intervals[index].meets(intervals[other])
        ]
        offsets[index] = _first_gap(sorted(taken), intervals[index].size)
    size = max((offset + intervals[i].size for i, offset in offsets.items()), default=0)
    return tuple(offsets[i] for i in range(len(intervals))), size


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    offset = 0
    for start, end in taken:
        if offset + size <= start:
            break
        offset = max(offset, end)
    return offset


def _most_live(intervals: Sequence[Interval]) -> int:
    """The largest sum of sizes at any step; it is reached where some buffer becomes live."""
    changes: list[tuple[int, int]] = []
    for one in intervals:
        changes += [(one.first, one.size), (one.last + 1, -one.size)]
    live = most = 0
    for _, change in sorted(changes):  # at one step, what ends comes before what begins
        live += change
        most = max(most, live)
    return most


def _align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
