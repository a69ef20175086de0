"""Judges say how much work a compiled kernel does; the least is best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hipgraft.codegen.kernel import Kernel
from hipgraft.diagnostics import HipgraftError

if TYPE_CHECKING:
    from hipgraft.tuning.work import GraphWork


@dataclass(frozen=True)
class Verdict:
    """What one judge says of a kernel.

    Attributes:
        judge: its name.
        cost: comparable between kernels of one graph by one judge; less is better.
        figures: what the cost comes from.
        problems: what is pathological, for people; empty if nothing is.
    """

    judge: str
    cost: float
    figures: dict[str, float] = field(default_factory=dict[str, float])
    problems: tuple[str, ...] = ()


class Judge(Protocol):
    """Judges kernels.

    Attributes:
        name: `static`, `counted` or `timed`.
    """

    @property
    def name(self) -> str:
        """How the command line names it."""
        ...

    def judge(self, kernel: Kernel, work: GraphWork) -> Verdict:
        """Judges a kernel of a graph with this work."""
        ...


# From the most to the least trusted.
AUTHORITY = ("timed", "counted", "static")


def make_judges(names: Sequence[str], device: str = "") -> list[Judge]:
    """Returns the judges of these names, in this order.

    Args:
        names: of `static`, `counted`, `timed`.
        device: what the timed judge runs kernels on; by default the GPU that is found.

    Raises:
        HipgraftError: an unknown name, or what the judge needs is not there.
    """
    unknown = [name for name in names if name not in AUTHORITY]
    if unknown or not names:
        known = ", ".join(reversed(AUTHORITY))
        raise HipgraftError(f"expected judges of {known}, found '{', '.join(unknown)}'")
    return [_make_judge(name, device) for name in names]


def _make_judge(name: str, device: str) -> Judge:
    # Only the one that is named: others load devices and lowerings, which start-up shows.
    if name == "counted":
        from hipgraft.tuning.counted import CountedJudge

        return CountedJudge.open()
    if name == "timed":
        from hipgraft.tuning.timed import TimedJudge

        return TimedJudge.open(device)
    from hipgraft.tuning.static import StaticJudge

    return StaticJudge()
