"""Judges are the cost models and measurements that determine the cost of a compiled kernel."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.tuning.verdict import Judge

# Names of the judges, from the most to the least reliable.
AUTHORITY = ("timed", "counted", "static")


def make_judges(names: Sequence[str], device: str = "") -> list[Judge]:
    """Returns the judges with the given names, in this order.

    Args:
        names: any of `static`, `counted` and `timed`.
        device: device of the timed judge; by default the GPU that is found.

    Raises:
        HipgraftError: a name is unknown, or a judge lacks its device or emulator.
    """
    unknown = [name for name in names if name not in AUTHORITY]
    if unknown or not names:
        known = ", ".join(reversed(AUTHORITY))
        raise HipgraftError(f"expected judges of {known}, found '{', '.join(unknown)}'")
    return [_make_judge(name, device) for name in names]


def _make_judge(name: str, device: str) -> Judge:
    # Only the named judge is imported, because the others load devices and lowerings, which slows
    # start-up down.
    if name == "counted":
        from hipgraft.service.tuning.counted import CountedJudge

        return CountedJudge.open()
    if name == "timed":
        from hipgraft.service.tuning.timed import TimedJudge

        return TimedJudge.open(device)
    from hipgraft.service.tuning.static import StaticJudge

    return StaticJudge()
