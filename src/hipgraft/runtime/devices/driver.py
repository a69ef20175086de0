"""The common part of the CUDA and HIP devices, which call their driver's C API through ctypes.

The two APIs agree call by call. They differ in names, in the selection of a device, and in the
query of its architecture. Each device has its own stream, which orders all of its calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_OUT_OF_MEMORY = 2
# CU_LAUNCH_PARAM_* and HIP_LAUNCH_PARAM_*: how a packed argument segment is passed.
_BUFFER_POINTER, _BUFFER_SIZE = 1, 2
_LIST_END = {"cuda": 0, "hip": 3}
# Other threads may continue to use the driver while one captures.
_CAPTURE_MODE_THREAD_LOCAL = 1
_INSTANTIATE_PLAIN = 0

# A library handle, output pointers, addresses and sizes, which ctypes would convert to C ints.
_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "malloc": (c_void_p, c_size_t),
    "free": (c_void_p,),
    "to_device": (c_void_p, c_void_p, c_size_t, c_void_p),
    "to_host": (c_void_p, c_void_p, c_size_t, c_void_p),
    "on_device": (c_void_p, c_void_p, c_size_t, c_void_p),
    "fill_8": (c_void_p, c_uint, c_size_t, c_void_p),
    "fill_16": (c_void_p, c_uint, c_size_t, c_void_p),
    "fill_32": (c_void_p, c_uint, c_size_t, c_void_p),
    "load": (c_void_p, c_char_p),
    "unload": (c_void_p,),
    "get_kernel": (c_void_p, c_void_p, c_char_p),
    "launch": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "create_stream": (c_void_p, c_uint),
    "destroy_stream": (c_void_p,),
    "wait": (c_void_p,),
    "begin_capture": (c_void_p, c_int),
    "end_capture": (c_void_p, c_void_p),
    "instantiate": (c_void_p, c_void_p, c_uint64),
    "launch_graph": (c_void_p, c_void_p),
    "free_executable_graph": (c_void_p,),
    "free_graph": (c_void_p,),
}

# Signatures of functions that only profiles need, and that older drivers may lack.
_EVENT_SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "create_event": (c_void_p, c_uint),
    "record_event": (c_void_p, c_void_p),
    "record_event_in_graph": (c_void_p, c_void_p, c_uint),
    "elapsed": (c_void_p, c_void_p, c_void_p),
    "free_event": (c_void_p,),
}
_EVENT_PLAIN = 0
_EVENT_IN_GRAPH = 1  # CU_EVENT_RECORD_EXTERNAL


class DriverApi:
    """A driver's library.

    Args:
        kind: `cuda` or `hip`.
        libraries: file names to try, in order.
        symbols: the driver's names of what `_SIGNATURES` lists.
        events: likewise of what `_EVENT_SIGNATURES` lists.

    Raises:
        HipgraftError: no library can be loaded, or it lacks a function of `symbols`.
    """

    def __init__(
        self,
        kind: str,
        libraries: Sequence[str],
        symbols: Mapping[str, str],
        events: Mapping[str, str],
    ):
        self.kind = kind
        self._events = events
        self._library = _load(kind, libraries)
        self._symbols = symbols
        self._functions = {name: self.function(symbol) for name, symbol in symbols.items()}
        for name, types in _SIGNATURES.items():
            self._functions[name].argtypes = types

    def function(self, symbol: str) -> Any:
        """Returns a function of the library by its C name."""
        try:
            return getattr(self._library, symbol)
        except AttributeError:
            raise HipgraftError(
                f"the {self.kind} driver has no function '{symbol}'; it is too old"
            ) from None

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function by the name in `_SIGNATURES`.

        Raises:
            HipgraftError: the driver reports an error, which the message gives in its words.
        """
        self.check(self._functions[name](*arguments), self._symbols[name])

    def call_event(self, name: str, *arguments: Any) -> None:
        """Calls a function by the name in `_EVENT_SIGNATURES`.

        Raises:
            HipgraftError: the driver reports an error, or has no such function.
        """
        function = self.function(self._events[name])
        function.argtypes = _EVENT_SIGNATURES[name]
        self.check(function(*arguments), self._events[name])

    def bind(self, name: str) -> tuple[Any, str]:
        """Returns a function by its name in `_SIGNATURES`, and the driver's name for it."""
        return self._functions[name], self._symbols[name]

    def check(self, status: int, symbol: str, what: str = "") -> None:
        """Raises the driver's error, if `status` is one."""
        if status:
            raise HipgraftError(f"'{symbol}' failed{what}: {self.error_text(status)}")

    def error_text(self, status: int) -> str:
        """Returns the driver's message for an error."""
        raise NotImplementedError


def _load(kind: str, libraries: Sequence[str]) -> ctypes.CDLL:
    reasons: list[str] = []
    for name in libraries:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
    raise HipgraftError(f"no {kind} driver: {reasons[-1]}")


class DriverDevice:
    """A GPU, with the device protocol and capture.

    Args:
        api: the driver; the device has been chosen in it.
        architecture: of the chosen device.
        index: of the chosen device.
    """

    dlpack_type: ClassVar[int]
    has_events_in_graphs: ClassVar[bool]

    def __init__(self, api: DriverApi, architecture: str, index: int):
        self.architecture = architecture
        self.dlpack_device = (self.dlpack_type, index)
        self._api = api
        self._allocations: set[int] = set()
        self._modules: list[c_void_p] = []
        self._is_capturing = False
        self._stream = c_void_p()
        # Flags 0: ordered after the default stream, on which other libraries work.
        api.call("create_stream", byref(self._stream), 0)

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory, aligned to 256 bytes."""
        address = c_void_p()
        self._activate()
        function, symbol = self._api.bind("malloc")
        status = function(byref(address), nbytes)
        if status == _OUT_OF_MEMORY:
            raise HipgraftError(f"the device has no {nbytes} bytes of memory left")
        self._api.check(status, symbol)
        assert address.value is not None
        self._allocations.add(address.value)
        return address.value

    def free(self, address: int) -> None:
        """Frees what `allocate` returned; nothing once the device is closed."""
        if address not in self._allocations:
            return
        self._allocations.remove(address)
        self._activate()
        self._api.call("free", address)

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Starts a copy of host memory, which must not change until `synchronize` returns."""
        data = np.frombuffer(memoryview(buffer), np.uint8)
        if data.nbytes:
            self._api.call("to_device", address, data.ctypes.data, data.nbytes, self._stream)

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        target = np.frombuffer(memoryview(buffer), np.uint8)
        if target.nbytes:
            self._api.call("to_host", target.ctypes.data, address, target.nbytes, self._stream)
        self.synchronize()

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies within the device's memory."""
        self._api.call("on_device", target, source, nbytes, self._stream)

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        width = len(pattern)
        if width not in (1, 2, 4):
            return self._fill_by_copy(address, pattern, nbytes)
        word = int.from_bytes(pattern, "little")
        self._api.call(f"fill_{8 * width}", address, word, nbytes // width, self._stream)

    def _fill_by_copy(self, address: int, pattern: bytes, nbytes: int) -> None:
        self.copy_to_device(address, pattern * (nbytes // len(pattern)))
        self.synchronize()

    def load_code_object(self, data: bytes) -> c_void_p:
        """Loads a code object; the driver compiles PTX now."""
        module = c_void_p()
        self._activate()
        self._api.call("load", byref(module), data)  # bytes end in a null, as PTX must
        self._modules.append(module)
        return module

    def unload_code_object(self, code_object: c_void_p) -> None:
        """Unloads what `load_code_object` returned; nothing once the device is closed."""
        if code_object in self._modules:
            self._modules.remove(code_object)
            self._api.call("unload", code_object)

    def get_kernel(self, code_object: c_void_p, name: str) -> c_void_p:
        """Returns a handle of a kernel of a loaded code object."""
        kernel = c_void_p()
        function, symbol = self._api.bind("get_kernel")
        status = function(byref(kernel), code_object, name.encode())
        self._api.check(status, symbol, f" for kernel '{name}'")
        return kernel

    def launch(
        self,
        kernel: c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Launches `grid` workgroups of `block` work items with a packed argument segment."""
        self.prepare_launch(kernel, grid, block, dynamic_shared_bytes, kernarg)()

    def prepare_launch(
        self,
        kernel: c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> Callable[[], None]:
        """Returns a function that launches the kernel with these arguments."""
        self.allow_shared_memory(kernel, dynamic_shared_bytes)
        function, symbol, check = *self._api.bind("launch"), self._api.check
        segment = ctypes.create_string_buffer(kernarg, len(kernarg))
        size = c_size_t(len(kernarg))
        extra = (c_void_p * 5)(
            _BUFFER_POINTER,
            ctypes.addressof(segment),
            _BUFFER_SIZE,
            ctypes.addressof(size),
            _LIST_END[self._api.kind],
        )
        shape = (*map(c_uint, (*grid, *block)), c_uint(dynamic_shared_bytes))
        arguments = (kernel, *shape, self._stream, None, ctypes.cast(extra, c_void_p))

        def launch(*_: Any, keep: Any = (segment, size, extra)) -> None:
            check(function(*arguments), symbol)

        return launch

    def allow_shared_memory(self, kernel: c_void_p, nbytes: int) -> None:
        """Requests dynamic shared memory beyond the default limit."""

    def synchronize(self) -> None:
        """Waits for everything on the device's stream."""
        self._api.call("wait", self._stream)

    def begin_capture(self) -> None:
        """Starts to record calls instead of running them."""
        self._api.call("begin_capture", self._stream, _CAPTURE_MODE_THREAD_LOCAL)
        self._is_capturing = True

    def end_capture(self) -> c_void_p:
        """Ends the capture and returns the executable graph."""
        graph, executable = c_void_p(), c_void_p()
        self._is_capturing = False
        self._api.call("end_capture", self._stream, byref(graph))
        try:
            self._api.call("instantiate", byref(executable), graph, _INSTANTIATE_PLAIN)
        finally:
            self._api.call("free_graph", graph)
        return executable

    def replay(self, graph: c_void_p) -> None:
        """Starts a captured graph."""
        self._api.call("launch_graph", graph, self._stream)

    def free_graph(self, graph: c_void_p) -> None:
        """Frees what `end_capture` returned."""
        self._api.call("free_executable_graph", graph)

    def create_event(self) -> c_void_p:
        """Returns a new event."""
        event = c_void_p()
        self._activate()
        self._api.call_event("create_event", byref(event), _EVENT_PLAIN)
        return event

    def record_event(self, event: c_void_p) -> None:
        """Records an event after the calls so far."""
        if self._is_capturing:
            self._api.call_event("record_event_in_graph", event, self._stream, _EVENT_IN_GRAPH)
        else:
            self._api.call_event("record_event", event, self._stream)

    def elapsed(self, start: c_void_p, end: c_void_p) -> float:
        """Returns the microseconds between two events, which the device must have reached."""
        milliseconds = c_float()
        self._api.call_event("elapsed", byref(milliseconds), start, end)
        return 1e3 * milliseconds.value

    def free_event(self, event: c_void_p) -> None:
        """Frees what `create_event` returned."""
        self._api.call_event("free_event", event)

    def close(self) -> None:
        """Frees all memory, code and the stream."""
        if not self._stream:
            return
        self._activate()
        for address in list(self._allocations):
            self.free(address)
        for module in list(self._modules):
            self.unload_code_object(module)
        self._api.call("destroy_stream", self._stream)
        self._stream = c_void_p()

    def _activate(self) -> None:
        """Makes the device current in the calling thread."""
        raise NotImplementedError
