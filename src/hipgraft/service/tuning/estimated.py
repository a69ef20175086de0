"""A cost model that estimates the time of kernels on a GPU, from traces on the emulator."""

from __future__ import annotations

from hipgraft import emulator
from hipgraft.codegen.chips import CHIPS
from hipgraft.codegen.kernel import Kernel
from hipgraft.service.tuning.cost_model import Cost
from hipgraft.service.tuning.counted import CountedCostModel, launches
from hipgraft.service.tuning.decision import LAUNCH_INSTRUCTIONS
from hipgraft.service.tuning.work import GraphWork

# Architectures whose estimates were compared with measurements and order kernels as they do.
_COMPARED = ("gfx942", "gfx950")


class EstimatedCostModel:
    """Estimates microseconds for CDNA3 and CDNA4; counts instructions for other architectures.

    Attributes:
        name: `estimated`.
    """

    name = "estimated"

    def __init__(self):
        """Makes the cost model.

        Raises:
            HipgraftError: this machine lacks what the emulator needs.
        """
        self._counted = CountedCostModel()

    def cost(self, kernel: Kernel, work: GraphWork) -> Cost:
        """Returns the microseconds of all launches, gaps included; infinity if the emulator fails.

        Where estimates were not compared with measurements, the cost is the wave instructions, and
        the microseconds are a metric if the chip's properties are known.
        """
        counted = self._counted.cost(kernel, work)
        if kernel.target not in CHIPS or counted.problems:
            metrics, problems = counted.metrics, counted.problems
            return Cost(self.name, _with_launches(counted.value, kernel), metrics, problems)
        estimates = self.estimates(kernel)
        gaps = (len(estimates) - 1) * CHIPS[kernel.target].gap_seconds
        microseconds = sum(each.microseconds for each in estimates) + 1e6 * gaps
        metrics = counted.metrics | {"microseconds": microseconds}
        is_compared = kernel.target in _COMPARED
        value = microseconds if is_compared else _with_launches(counted.value, kernel)
        return Cost(self.name, value, metrics)

    def estimates(self, kernel: Kernel) -> list[emulator.Estimate]:
        """Returns the estimate of each launch, executed on zero-filled memory.

        Raises:
            EmulatorError: the emulator cannot execute the kernel, or does not know the chip.
        """
        return [
            emulator.estimate(
                code,
                launch.kernel,
                launch.grid,
                launch.block,
                arguments,
                dynamic_lds=launch.dynamic_shared_memory,
            )
            for code, launch, arguments in launches(kernel)
        ]


def _with_launches(instructions: float, kernel: Kernel) -> float:
    return instructions + LAUNCH_INSTRUCTIONS * len(kernel.dispatches)
