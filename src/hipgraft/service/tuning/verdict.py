"""The interface of judges, and their verdicts on kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hipgraft.codegen.kernel import Kernel

if TYPE_CHECKING:
    from hipgraft.service.tuning.work import GraphWork


@dataclass(frozen=True)
class Verdict:
    """The cost of a kernel by one judge.

    Attributes:
        judge: name of the judge.
        cost: less is better; comparable only between kernels of one graph by the same judge.
        figures: quantities that the cost is computed from.
        problems: messages about pathological properties of the kernel; empty without any.
    """

    judge: str
    cost: float
    figures: dict[str, float] = field(default_factory=dict[str, float])
    problems: tuple[str, ...] = ()


class Judge(Protocol):
    """Determines the cost of kernels, by a model or a measurement.

    Attributes:
        name: `static`, `counted` or `timed`.
    """

    @property
    def name(self) -> str:
        """The judge's name on the command line."""
        ...

    def judge(self, kernel: Kernel, work: GraphWork) -> Verdict:
        """Returns the cost of a kernel for a graph with the given work."""
        ...
