"""Cost models estimate or measure the cost of a compiled kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hipgraft.codegen.kernel import Kernel

if TYPE_CHECKING:
    from hipgraft.service.tuning.work import GraphWork

# Names of the cost models, from the most to the least reliable.
AUTHORITY = ("timed", "estimated", "counted", "static")


@dataclass(frozen=True)
class Cost:
    """The cost of a kernel according to one cost model.

    Attributes:
        cost_model: name of the cost model.
        value: lower is better; comparable only between kernels of one graph under the same cost
            model.
        metrics: quantities from which the value is computed.
        problems: messages about pathological properties of the kernel.
    """

    cost_model: str
    value: float
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    problems: tuple[str, ...] = ()


class CostModel(Protocol):
    """Determines the cost of kernels, by an estimate or a measurement."""

    @property
    def name(self) -> str:
        """The name on the command line: one of `AUTHORITY`."""
        ...

    def cost(self, kernel: Kernel, work: GraphWork) -> Cost:
        """Returns the cost of a kernel for a graph with the given work."""
        ...
