"""Plans offsets for buffers that share one arena."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import TypeAlias

DEFAULT_ALIGNMENT = 64
"""Bytes. Kernels need less; so no two buffers share a cache line of a CPU."""


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
    """Offsets of all buffers.

    Attributes:
        offsets: offsets in bytes, in the order of the intervals.
        size: size of the arena in bytes.
        lower_bound: most bytes that are live at one step, before rounding; no plan is smaller.
        unplanned: size in bytes without sharing.
    """

    offsets: tuple[int, ...]
    size: int
    lower_bound: int
    unplanned: int


_Order: TypeAlias = Callable[[Interval], tuple[int, ...]]

# Placing large buffers first lets small ones fill the gaps; placing long-lived ones first keeps
# permanent buffers at the bottom. Neither is better on all programs. The other orders go by area
# (bytes times steps), and by time from either end.
_ORDERS: tuple[_Order, ...] = (
    lambda one: (-one.size, one.first),
    lambda one: (one.first - one.last, -one.size),
    lambda one: (-one.size * (one.last - one.first + 1), one.first),
    lambda one: (one.first, -one.size),
    lambda one: (-one.last, -one.size),
)

_EXACT_UP_TO = 7  # buffers; trying all of their orders takes well under a second
_MOST_MOVES = 2000  # moves if no order above is optimal; the benchmarks' models need at most 300


def plan_memory(intervals: Sequence[Interval], alignment: int = DEFAULT_ALIGNMENT) -> MemoryPlan:
    """Places buffers so that no two that are live at once overlap.

    Takes the best of several greedy first-fit placements. If none reaches the lower bound, it tries
    all orders of a few buffers, or improves an order of many buffers by moving single ones. Sizes
    are rounded up to `alignment`.
    Source: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020
    (greedy by size); the moves are our own.
    """
    rounded = [Interval(_align(one.size, alignment), one.first, one.last) for one in intervals]
    goal = most_live(rounded)
    numbers = range(len(rounded))
    placer = _Placer(rounded)
    orders = [sorted(numbers, key=lambda i: order(rounded[i])) for order in _ORDERS]
    best = min((placer.place(order) for order in orders), key=lambda one: one.size)
    if best.size > goal and len(rounded) <= _EXACT_UP_TO:
        best = min(map(placer.place, permutations(numbers)), key=lambda one: one.size)
    elif best.size > goal:
        best = placer.improve(best, goal)
    return MemoryPlan(
        offsets=best.offsets,
        size=best.size,
        lower_bound=most_live(intervals),
        unplanned=sum(one.size for one in rounded),
    )


@dataclass(frozen=True)
class _Placement:
    """Offsets from first fit in some order, and the end of the highest buffer."""

    order: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int


class _Placer:
    def __init__(self, intervals: Sequence[Interval]):
        self._sizes = [one.size for one in intervals]
        self._meets = [
            [j for j, other in enumerate(intervals) if j != i and one.meets(other)]
            for i, one in enumerate(intervals)
        ]

    def place(self, order: Sequence[int]) -> _Placement:
        """Gives each buffer, in this order, the lowest offset that is free throughout its life.

        Some order gives an optimal plan: sort the buffers by their offsets in an optimal plan, and
        first fit moves none of them up.
        """
        offsets: dict[int, int] = {}
        for index in order:
            taken = sorted(self._extent(j, offsets[j]) for j in self._meets[index] if j in offsets)
            offsets[index] = _first_gap(taken, self._sizes[index])
        size = max((self._extent(i, offset)[1] for i, offset in offsets.items()), default=0)
        return _Placement(tuple(order), tuple(offsets[i] for i in range(len(offsets))), size)

    def improve(self, best: _Placement, goal: int) -> _Placement:
        """Repeatedly moves a highest buffer, or one live at the same time, forward in the order.

        A move is kept if the plan is no worse, so that several moves can gain together. The result
        is deterministic.
        """
        source = Random(0)
        for _ in range(_MOST_MOVES):
            if best.size <= goal:
                break
            ends = enumerate(map(self._extent, range(len(best.offsets)), best.offsets))
            highest = source.choice([i for i, (_, end) in ends if end == best.size])
            moved = source.choice([highest, *self._meets[highest]])
            order = [i for i in best.order if i != moved]
            order.insert(source.randrange(best.order.index(moved) + 1), moved)
            best = min(self.place(order), best, key=lambda one: one.size)
        return best

    def _extent(self, index: int, offset: int) -> tuple[int, int]:
        return offset, offset + self._sizes[index]


def _first_gap(taken: Sequence[tuple[int, int]], size: int) -> int:
    offset = 0
    for start, end in taken:
        if offset + size <= start:
            break
        offset = max(offset, end)
    return offset


def most_live(intervals: Sequence[Interval]) -> int:
    """Returns the most bytes that are live at one step: where some buffer becomes live."""
    changes: list[tuple[int, int]] = []
    for one in intervals:
        changes += [(one.first, one.size), (one.last + 1, -one.size)]
    live = most = 0
    for _, change in sorted(changes):  # at one step, frees come before allocations
        live += change
        most = max(most, live)
    return most


def _align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
