"""Orders the ops of a program so that fewer bytes of results are live at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

# Sorts after the index of any launch.
_END = 1 << 62

# Longer chains of launches do not move as a whole, so that keys stay short.
_DEEPEST = 64


@dataclass
class Launch:
    """An op of a program that stores its results.

    Attributes:
        size: bytes of the results that need memory.
        reads: the indices of the launches whose results the op reads, directly or through views.
        held: whether a result is returned, so that it is live until the end.
    """

    size: int
    reads: frozenset[int] = frozenset()
    held: bool = False


def most_bytes(launches: Sequence[Launch], order: Sequence[int]) -> int:
    """Returns the peak of live result bytes over the launches of an order."""
    last = {read: number for number in order for read in launches[number].reads}
    live = most = 0
    for number in order:
        live += launches[number].size
        most = max(most, live)
        done = {read for read in launches[number].reads if last[read] == number}
        live -= sum(launches[read].size for read in done if not launches[read].held)
    return most


def late_order(launches: Sequence[Launch]) -> list[int]:
    """Returns an order in which launches run right before their first reader if that saves bytes.

    Moving a launch saves bytes if its results are larger than the operands that it reads last.
    """
    # If a launch moves before another launch, its key is that launch's key with its own index
    # inserted before `_END`.
    keys: list[tuple[int, ...]] = [(number, _END) for number in range(len(launches))]
    readers: dict[int, list[int]] = defaultdict(list)
    for number, launch in enumerate(launches):
        for read in launch.reads:
            readers[read].append(number)
    for number in reversed(range(len(launches))):
        launch = launches[number]
        first = min((keys[reader] for reader in readers[number]), default=keys[number])
        if first <= (number + 1, _END) or len(first) > _DEEPEST:
            continue
        ending = (
            launches[read].size
            for read in launch.reads
            if not launches[read].held
            and max(keys[reader] for reader in readers[read]) <= keys[number]
        )
        if launch.size > sum(ending):
            keys[number] = (*first[:-1], number, _END)
    return sorted(range(len(launches)), key=keys.__getitem__)
