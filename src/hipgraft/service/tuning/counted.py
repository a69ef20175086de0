"""A cost model that counts executed wave instructions on an emulator of AMDGPU code objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hipgraft import emulator
from hipgraft.codegen.kernel import Dispatch, Kernel
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.tuning.cost_model import Cost
from hipgraft.service.tuning.work import GraphWork

# Number of workgroups of a launch to execute; counts are scaled up to all workgroups.
_SAMPLE = 24


@dataclass(frozen=True)
class Count:
    """The counts of one launch.

    Attributes:
        kernel: symbol of the kernel.
        instructions: instructions that waves execute.
        loaded: bytes that lanes request.
        stored: bytes that lanes write.
    """

    kernel: str
    instructions: float
    loaded: float
    stored: float


class CountedCostModel:
    """Executes a sample of each launch's workgroups and counts instructions.

    Attributes:
        name: `counted`.
    """

    name = "counted"

    def __init__(self, sample: int = _SAMPLE):
        """Makes the cost model.

        Args:
            sample: approximate number of workgroups to execute per launch; 0 for all.

        Raises:
            HipgraftError: this machine lacks what the emulator needs.
        """
        emulator.check_available()
        self._sample = sample

    def cost(self, kernel: Kernel, work: GraphWork) -> Cost:
        """Returns the wave instructions as the cost; infinity if the emulator fails."""
        try:
            counts = self.counts(kernel)
        except emulator.EmulatorError as error:
            return Cost(self.name, float("inf"), {}, (f"the emulator stops: {error.message}",))
        metrics = {
            "instructions": sum(each.instructions for each in counts),
            "loaded": sum(each.loaded for each in counts),
            "stored": sum(each.stored for each in counts),
        }
        return Cost(self.name, metrics["instructions"], metrics)

    def counts(self, kernel: Kernel) -> list[Count]:
        """Returns the counts of each launch, executed on zero-filled memory.

        Raises:
            HipgraftError: the kernel is not for an AMD GPU.
        """
        if kernel.format != "hsaco":
            raise HipgraftError(f"cost model 'counted' cannot execute kernels for {kernel.target}")
        return [self._count(*each) for each in launches(kernel)]

    def _count(
        self, code: emulator.CodeObject, launch: Dispatch, arguments: Sequence[Any]
    ) -> Count:
        groups = prod(launch.grid)
        counts = emulator.launch(
            code,
            launch.kernel,
            launch.grid,
            launch.block,
            arguments,
            dynamic_lds=launch.dynamic_shared_memory,
            every=max(groups // (self._sample or groups), 1),
        )
        return Count(
            launch.kernel,
            counts.instructions * counts.scale,
            counts.bytes_loaded * counts.scale,
            counts.bytes_stored * counts.scale,
        )


def launches(kernel: Kernel) -> Iterator[tuple[emulator.CodeObject, Dispatch, list[Any]]]:
    """Yields each launch of a kernel with its code object and zero-filled arguments."""
    sizes: dict[int, int] = {}
    for launch in kernel.dispatches:
        for binding in launch.bindings:
            end = binding.offset + binding.length
            sizes[binding.buffer] = max(sizes.get(binding.buffer, 0), end)
    buffers = {number: np.zeros(size, np.uint8) for number, size in sizes.items()}
    codes = [emulator.CodeObject(data) for data in kernel.objects]
    for launch in kernel.dispatches:
        pointers = [
            buffers[each.buffer][each.offset : each.offset + each.length]
            for each in launch.bindings
        ]
        words = [np.int32(word) for word in launch.constants]
        yield codes[launch.object], launch, [*pointers, *words]
