"""Implements CUDA and HIP GPUs as devices, whose drivers libhipgraft calls."""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Callable, Sequence
from ctypes import byref, c_double, c_uint32, c_void_p
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.native.functions import call, check, function, made
from hipgraft.native.player import REPLAY, PlayerDevice
from hipgraft.runtime import dlpack
from hipgraft.runtime.devices.protocols import HostArrays
from hipgraft.runtime.recording import Recording
from hipgraft.runtime.recording_json import variant_to_json

if TYPE_CHECKING:
    from typing_extensions import Buffer


class DriverDevice:
    """A GPU with its own stream, which orders all of its calls.

    Args:
        index: index of the GPU.
        library: the driver's library; by default found by its usual names, and for HIP first by
            `HIPGRAFT_LIBAMDHIP64`.

    Raises:
        HipgraftError: there is no driver or no such GPU.
    """

    kind: ClassVar[str]
    dlpack_type: ClassVar[int]
    has_events_in_graphs: ClassVar[bool]

    def __init__(self, index: int = 0, library: str = ""):
        self._player = PlayerDevice(f"{self.kind}:{index}", library)
        self.architecture = self._player.architecture
        self.dlpack_device = (self.dlpack_type, index)
        self.handle = self._player.handle
        self._allocations: set[int] = set()
        self._modules: list[c_void_p] = []
        # This stream is ordered after the default stream, which other libraries use.
        self._own_stream = self.stream = made("stream_create", self.handle)

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory, aligned to 256 bytes."""
        address = self._player.allocate(nbytes)
        self._allocations.add(address)
        return address

    def free(self, address: int) -> None:
        """Frees memory that `allocate` returned; does nothing once the device is closed."""
        if address in self._allocations:
            self._allocations.remove(address)
            self._player.free(address)

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Starts a copy of host memory, which must not change until `synchronize` returns."""
        data = np.frombuffer(memoryview(buffer), np.uint8)
        self._call("start_upload", address, data.ctypes.data, data.nbytes, self.stream)

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        target = np.frombuffer(memoryview(buffer), np.uint8)
        self._call("start_download", target.ctypes.data, address, target.nbytes, self.stream)
        self.synchronize()

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies within the device's memory."""
        self._call("start_copy", target, source, nbytes, self.stream)

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        self._call("start_fill", address, pattern, len(pattern), nbytes, self.stream)

    def load_code_object(self, data: bytes) -> c_void_p:
        """Loads a code object; the driver compiles PTX at this point."""
        module = made("code_load", self.handle, data, len(data))
        self._modules.append(module)
        return module

    def unload_code_object(self, code_object: c_void_p) -> None:
        """Unloads a code object; does nothing once the device is closed."""
        if code_object in self._modules:
            self._modules.remove(code_object)
            self._call("code_unload", code_object)

    def get_kernel(self, code_object: c_void_p, name: str) -> c_void_p:
        """Looks up a kernel in a loaded code object and returns its handle."""
        return made("code_kernel", self.handle, code_object, name.encode())

    def launch(
        self,
        kernel: c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Launches `grid` workgroups of `block` work items with a packed argument segment."""
        shape = ((c_uint32 * 3)(*grid), (c_uint32 * 3)(*block), dynamic_shared_bytes)
        self._call("launch", kernel, *shape, kernarg, len(kernarg), self.stream)

    def sequence(
        self, recording: Recording, kernels: Sequence[c_void_p], *, replay: bool
    ) -> DriverSequence:
        """Returns the call sequence of a recording on this device."""
        return DriverSequence(self, recording, kernels, replay=replay)

    def synchronize(self) -> None:
        """Waits for everything on the device's stream."""
        self._call("device_synchronize", self._own_stream)

    def begin_capture(self) -> None:
        """Starts to capture calls in a graph instead of running them."""
        self.stream = made("capture_begin", self.handle)

    def end_capture(self) -> c_void_p:
        """Ends the capture and returns the graph."""
        stream, self.stream = self.stream, self._own_stream
        return made("capture_end", self.handle, stream)

    def replay(self, graph: c_void_p) -> None:
        """Starts a captured graph."""
        self._call("graph_launch", graph, self.stream)

    def free_graph(self, graph: c_void_p) -> None:
        """Frees a graph that `end_capture` returned."""
        self._call("graph_free", graph)

    def create_event(self) -> c_void_p:
        """Returns a new event."""
        return made("event_create", self.handle)

    def record_event(self, event: c_void_p) -> None:
        """Records an event after the calls so far."""
        is_capturing = self.stream is not self._own_stream
        self._call("event_record", event, self.stream, is_capturing)

    def elapsed(self, start: c_void_p, end: c_void_p) -> float:
        """Returns the microseconds between two events, which the device must have reached."""
        microseconds = c_double()
        self._call("event_elapsed", start, end, byref(microseconds))
        return microseconds.value

    def free_event(self, event: c_void_p) -> None:
        """Frees an event that `create_event` returned."""
        self._call("event_destroy", event)

    def close(self) -> None:
        """Frees all memory, code and the stream."""
        if not self.stream:
            return
        for address in list(self._allocations):
            self.free(address)
        for module in list(self._modules):
            self.unload_code_object(module)
        self._call("stream_destroy", self._own_stream)
        self._own_stream = self.stream = c_void_p()
        self._player.close()

    def _call(self, name: str, *arguments: Any) -> None:
        call(name, self.handle, *arguments)


class DriverSequence:
    """A recording's calls, which libhipgraft makes, and captures and replays when repeated.

    Args:
        device: the device.
        recording: the program.
        kernels: device handles of its kernels.
        replay: whether to capture a graph when the program runs on the same memory again.
    """

    def __init__(
        self,
        device: DriverDevice,
        recording: Recording,
        kernels: Sequence[c_void_p],
        *,
        replay: bool,
    ):
        text = json.dumps(variant_to_json(recording)).encode()
        sizes = [buffer.nbytes for buffer in recording.buffers]
        self._handle = made(
            "sequence_create",
            *(device.handle, text, len(text)),
            *((c_void_p * len(kernels))(*(one.value for one in kernels)), len(kernels)),
            *((ctypes.c_size_t * len(sizes))(*sizes), len(sizes), REPLAY if replay else 0),
        )
        tensors = len(recording.inputs) + len(recording.results)
        self._device = device
        self._count = tensors + len(sizes)
        self._addresses = struct.Struct(f"{self._count}Q").pack
        self._host = struct.Struct(f"{tensors}P").pack
        self._commands = len(recording.commands)
        self._run = function("sequence_run")

    def run(self, addresses: Sequence[int], arrays: HostArrays = ()) -> None:
        """Starts a run; given host `arrays`, copies inputs and results, and waits for the end."""
        given = self._addresses(*addresses)
        host = self._host(*map(_address, arrays)) if arrays else None
        check(self._run(self._handle, self._device.stream, given, self._count, host))

    def prepared(self, addresses: Sequence[int]) -> list[Callable[[], None]]:
        """Returns a function for each call of a run, in order."""
        given = self._addresses(*addresses)
        return [partial(self._make, number, given) for number in range(self._commands)]

    def _make(self, number: int, addresses: Any) -> None:
        call("sequence_call", self._handle, number, self._device.stream, addresses, self._count)

    def close(self) -> None:
        """Frees the graphs."""
        handle, self._handle = self._handle, c_void_p()
        function("sequence_destroy")(handle)


class CudaDevice(DriverDevice):
    """An NVIDIA GPU; uses the primary context, as other libraries in the process do."""

    kind = "cuda"
    dlpack_type = dlpack.CUDA
    has_events_in_graphs = True


class HipDevice(DriverDevice):
    """An AMD GPU."""

    kind = "hip"
    dlpack_type = dlpack.ROCM
    has_events_in_graphs = False  # `hipEventRecordWithFlags` is new in ROCm 7


def _address(array: Any) -> int:
    if array is None:
        return 0
    if array.flags.writeable and array.size:  # takes a quarter of the time of `ctypes.data`
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return array.ctypes.data


def open_cuda(index: str = "0") -> CudaDevice:
    """Opens a GPU by its number.

    Raises:
        HipgraftError: there is no such GPU.
    """
    return CudaDevice(_number(index, "CUDA"))


def open_hip(index: str = "0") -> HipDevice:
    """Opens a GPU by its number.

    Raises:
        HipgraftError: there is no such GPU.
    """
    return HipDevice(_number(index, "HIP"))


def _number(index: str, kind: str) -> int:
    if not (index.isascii() and index.isdigit() and len(index) < 10):
        raise HipgraftError(f"expected the number of a {kind} device, found '{index}'")
    return int(index)
