"""Statistics of timed runs."""

from __future__ import annotations

from hipgraft.runtime.timing import Timing


def test_statistics() -> None:
    timing = Timing((9.0, 1.0, 4.0, 2.0, 3.0))
    assert (timing.median, timing.minimum, timing.spread) == (3.0, 1.0, 2.0)
    assert str(timing) == "3.0 us median, 1.0 us minimum of 5 runs"


def test_one_run_has_no_spread() -> None:
    assert Timing((5.0,)).spread == 0.0
