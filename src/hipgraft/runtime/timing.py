"""Computes statistics of the times of repeated runs."""

from __future__ import annotations

import statistics
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The times of runs in microseconds, in order."""

    microseconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median in microseconds."""
        return statistics.median(self.microseconds)

    @property
    def minimum(self) -> float:
        """The shortest in microseconds."""
        return min(self.microseconds)

    @property
    def spread(self) -> float:
        """The interquartile range: bounds of the middle half of the runs, in microseconds."""
        if len(self.microseconds) == 1:
            return 0.0
        low, _, high = statistics.quantiles(self.microseconds, method="inclusive")
        return high - low

    def __str__(self) -> str:
        return (
            f"{self.median:.1f} us median, {self.minimum:.1f} us minimum "
            f"of {len(self.microseconds)} runs"
        )
