"""The cost model that measures the run time of kernels on a device."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import numpy as np

from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.target import Target
from hipgraft.ir.architectures import fitting
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.runtime.devices.protocols import Device
from hipgraft.runtime.devices.registry import default_device_name, open_device
from hipgraft.runtime.host_program.kernel_recording import kernel_recording
from hipgraft.runtime.recording import Tensor
from hipgraft.runtime.session import Session
from hipgraft.runtime.timing import Timing
from hipgraft.service.tuning.cost_model import Cost
from hipgraft.service.tuning.work import GraphWork

# The first runs load code and fill caches.
_WARMUP = 2

# Microseconds of runs between two waits for the device: long enough to make the wait negligible.
_BETWEEN_WAITS = 1000

# Microseconds for all timed runs of one kernel, and limits for the number of measurements.
_ALL_RUNS = 300_000
_FEWEST, _MOST = 3, 25


class TimedCostModel:
    """Runs kernels on a device, in its own buffers.

    Attributes:
        name: `timed`.
    """

    name = "timed"

    def __init__(self, device: Device):
        self._device = device

    @classmethod
    def open(cls, device: str = "") -> TimedCostModel:
        """Returns a cost model for the device of this name, by default the GPU of this machine.

        Raises:
            HipgraftError: there is no such device.
        """
        return cls(open_device(device or default_device_name()))

    def cost(self, kernel: Kernel, work: GraphWork) -> Cost:
        """Returns the median time of a run as the cost; infinity if the kernel fails on the device.

        Raises:
            HipgraftError: the device has another architecture.
        """
        architecture = self._device.architecture
        if fitting(architecture, [kernel.target]) is None:
            raise HipgraftError(
                f"cost model 'timed' cannot run kernels for {kernel.target} on a device that is "
                f"{architecture}"
            )
        try:
            timing = self._time(kernel, work)
        except Exception as error:  # devices raise errors of any class
            return Cost(self.name, float("inf"), {}, (f"it does not run: {error}",))
        metrics = {"microseconds": timing.median, "spread": timing.spread}
        return Cost(self.name, timing.median, metrics)

    def _time(self, kernel: Kernel, work: GraphWork) -> Timing:
        recording = kernel_recording(kernel, work.operands, work.results)
        with Session(recording, self._device) as session:
            inputs = [session.upload(_values(tensor), tensor) for tensor in work.operands]
            single = session.benchmark(inputs, iterations=1, warmup=_WARMUP).median
            batch = max(int(_BETWEEN_WAITS / single), 1)
            times = min(max(int(_ALL_RUNS / (batch * single)), _FEWEST), _MOST)
            timing = session.benchmark(inputs, iterations=times, warmup=1, batch=batch)
            for one in inputs:
                one.close()
            return timing


def can_time(target: Target, device: str = "") -> bool:
    """Returns whether kernels for `target` run on a device, by default the GPU of this machine.

    Raises:
        HipgraftError: there is no device of this name.
    """
    with closing(open_device(device or default_device_name())) as opened:
        return fitting(opened.architecture, [target.name]) is not None


def _values(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Returns random floats, because zeros take less power than real data, and zero integers.

    Integers may be indices, and 0 is always a valid one.
    """
    dtype = numpy_dtype(tensor.element_type)
    if np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        return np.zeros(tensor.shape, dtype)
    return np.random.default_rng(0).random(tensor.shape, np.float32).astype(dtype)
