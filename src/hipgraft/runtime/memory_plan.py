"""Offsets for buffers that share one arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
# leaves at the bottom. Neither is better on all programs.
_ORDERS: tuple[_Order, ...] = (
    lambda one: (-one.size, one.first),
    lambda one: (one.first - one.last, -one.size),
)


def plan_memory(intervals: Sequence[Interval], alignment: int = DEFAULT_ALIGNMENT) -> MemoryPlan:
    """Places buffers so that no two that are live at once overlap.

    Takes the better of two greedy first-fit placements. Sizes are rounded up to `alignment`.
    Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020
    (greedy by size).
    """
    rounded = [Interval(_align(one.size, alignment), one.first, one.last) for one in intervals]
    plans = [_place(rounded, order) for order in _ORDERS]
    offsets, size = min(plans, key=lambda plan: plan[1])
    return MemoryPlan(
        offsets=offsets,
        size=size,
        lower_bound=_most_live(rounded),
        unplanned=sum(one.size for one in rounded),
    )


def _place(intervals: Sequence[Interval], order: _Order) -> tuple[tuple[int, ...], int]:
    """Gives each buffer the lowest offset that is free throughout its life."""
    offsets: dict[int, int] = {}
    for index in sorted(range(len(intervals)), key=lambda i: order(intervals[i])):
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
