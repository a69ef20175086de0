"""Judges say how much work a compiled kernel does; the least is best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from hipgraft.codegen.kernel import Kernel
from hipgraft.diagnostics import HipgraftError
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
    from hipgraft.tuning.counted import CountedJudge
    from hipgraft.tuning.static import StaticJudge
    from hipgraft.tuning.timed import TimedJudge

    makers: dict[str, Callable[[], Judge]] = {
        "static": StaticJudge,
        "counted": CountedJudge.open,
        "timed": partial(TimedJudge.open, device),
    }
    unknown = [name for name in names if name not in makers]
    if unknown or not names:
        raise HipgraftError(f"expected judges of {', '.join(makers)}, found '{', '.join(unknown)}'")
    return [makers[name]() for name in names]
