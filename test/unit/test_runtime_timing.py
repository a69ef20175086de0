"""Statistics of timed runs."""

from __future__ import annotations

from hipgraft.runtime.profiling import Profile, Row
from hipgraft.runtime.timing import Timing


def test_statistics() -> None:
    timing = Timing((9.0, 1.0, 4.0, 2.0, 3.0))
    assert (timing.median, timing.minimum, timing.spread) == (3.0, 1.0, 2.0)
    assert str(timing) == "3.0 us median, 1.0 us minimum of 5 runs"


def test_one_run_has_no_spread() -> None:
    assert Timing((5.0,)).spread == 0.0


def test_two_runs_differ_by_half_as_much_in_the_middle() -> None:
    assert Timing((5.0, 7.0)).spread == 1.0


def test_a_profile_is_a_table_of_shares_and_of_each_call() -> None:
    rows = (Row("k", (4, 2, 1), 2, 30.0), Row("fill", (), 1, 10.0))
    assert str(Profile(rows)).splitlines() == [
        "        us  share  calls   us each  kernel [grid]",
        "      30.0  75.0%      2      15.0  k [4 2 1]",
        "      10.0  25.0%      1      10.0  fill",
        "      40.0 100.0%      3",
    ]


def test_calls_too_fast_for_the_clock_have_no_share() -> None:
    assert "0.0   0.0%      1       0.0  fill" in str(Profile((Row("fill", (), 1, 0.0),)))
