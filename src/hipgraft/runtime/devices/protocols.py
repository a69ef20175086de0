"""Defines the protocol of devices, which run host programs, and protocols of optional abilities.

Addresses are integers, sizes are in bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.runtime.recording import Recording

if TYPE_CHECKING:
    from typing_extensions import Buffer

HostArrays: TypeAlias = Sequence[Any]
"""Host arrays for inputs and results; None where the device's memory is used."""


@runtime_checkable
class Device(Protocol):
    """A device that runs code objects. Addresses are integers, sizes are in bytes.

    Operations run in the order of the calls; `synchronize` waits for all of them.
    """

    architecture: str

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory, aligned to 256 bytes."""
        ...

    def free(self, address: int) -> None:
        """Frees memory that `allocate` returned."""
        ...

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Copies host memory to `address`."""
        ...

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        ...

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        ...

    def load_code_object(self, data: bytes) -> Any:
        """Loads an executable for this device and returns a handle."""
        ...

    def get_kernel(self, code_object: Any, name: str) -> Any:
        """Looks up a kernel in a loaded code object and returns its handle."""
        ...

    def launch(
        self,
        kernel: Any,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Launches `grid` workgroups of `block` work items with a packed argument segment."""
        ...

    def synchronize(self) -> None:
        """Waits for all calls to finish."""
        ...

    def close(self) -> None:
        """Releases the device."""
        ...


@dataclass(frozen=True)
class TypedMemory:
    """A packed tensor in device memory; its element type is named as in MLIR."""

    address: int
    shape: tuple[int, ...]
    element_type: str

    @property
    def nbytes(self) -> int:
        """The size of the tensor in bytes."""
        return numpy_dtype(self.element_type).itemsize * math.prod(self.shape)


@runtime_checkable
class GraphDevice(Protocol):
    """A device that runs whole compiled graphs instead of code objects."""

    def load_module(self, data: bytes) -> Any:
        """Loads a compiled module and returns a handle to its `main`."""
        ...

    def call(
        self, module: Any, inputs: Sequence[TypedMemory], outputs: Sequence[TypedMemory]
    ) -> None:
        """Calls `main` on packed tensors in device memory."""
        ...


@runtime_checkable
class CopyingDevice(Protocol):
    """A device that can copy within its memory."""

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies between addresses of the device."""
        ...


@runtime_checkable
class CapturingDevice(Protocol):
    """A device that captures its calls in a graph and starts the graph as a whole."""

    def begin_capture(self) -> None:
        """Starts to capture launches, fills and copies on the device instead of running them."""
        ...

    def end_capture(self) -> Any:
        """Ends the capture and returns the graph; later calls run again."""
        ...

    def replay(self, graph: Any) -> None:
        """Runs a captured graph."""
        ...

    def free_graph(self, graph: Any) -> None:
        """Frees a graph that `end_capture` returned."""
        ...


@runtime_checkable
class EventDevice(Protocol):
    """A device that measures the time between points in its sequence of calls.

    Attributes:
        has_events_in_graphs: whether events can be recorded while a graph is captured.
    """

    has_events_in_graphs: bool

    def create_event(self) -> Any:
        """Returns a new event."""
        ...

    def record_event(self, event: Any) -> None:
        """Records an event after the calls so far."""
        ...

    def elapsed(self, start: Any, end: Any) -> float:
        """Returns the microseconds between two events, which the device must have reached."""
        ...

    def free_event(self, event: Any) -> None:
        """Frees an event that `create_event` returned."""
        ...


@runtime_checkable
class CallSequence(Protocol):
    """The calls of a recorded program on a device.

    Addresses are those of the inputs, the results, then the program's own buffers.
    """

    def run(self, addresses: Sequence[int], arrays: HostArrays = ()) -> None:
        """Starts a run.

        Args:
            addresses: device addresses.
            arrays: if any input or result is on the host, a row-major array of the tensor's bytes
                for each input, then for each result, or None for tensors in the device's memory.
                The run copies inputs from these arrays and results to them, and has ended when the
                function returns.
        """
        ...

    def prepared(self, addresses: Sequence[int]) -> list[Callable[[], None]]:
        """Returns a function for each call of a run on some memory, in order."""
        ...

    def close(self) -> None:
        """Frees the sequence's resources on the device."""
        ...


@runtime_checkable
class SequencingDevice(Protocol):
    """A device that makes all calls of a program in one step."""

    def sequence(
        self, recording: Recording, kernels: Sequence[Any], *, replay: bool
    ) -> CallSequence:
        """Returns the call sequence of a recording.

        Args:
            recording: the program.
            kernels: device handles of its kernels.
            replay: whether the device may capture the calls of repeated runs and replay them.
        """
        ...


def copy_on_device(device: Device, target: int, source: int, nbytes: int) -> None:
    """Copies within a device's memory, through the host if the device has no such copy."""
    if isinstance(device, CopyingDevice):
        return device.copy(target, source, nbytes)
    staging = bytearray(nbytes)
    device.synchronize()
    device.copy_to_host(staging, source)
    device.copy_to_device(target, staging)


def unload(device: Device, code_object: Any) -> None:
    """Unloads a code object if the device can unload code before it closes."""
    unload_code_object = getattr(device, "unload_code_object", None)
    if unload_code_object is not None:
        unload_code_object(code_object)
