"""AMD GPUs through HIP's runtime."""

from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_char_p, c_int

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.environment import variable
from hipgraft.runtime import dlpack
from hipgraft.runtime.devices.driver import DriverApi, DriverDevice

_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6")
_SYMBOLS = {
    "malloc": "hipMalloc",
    "free": "hipFree",
    "to_device": "hipMemcpyHtoDAsync",
    "to_host": "hipMemcpyDtoHAsync",
    "on_device": "hipMemcpyDtoDAsync",
    "fill_8": "hipMemsetD8Async",
    "fill_16": "hipMemsetD16Async",
    "fill_32": "hipMemsetD32Async",
    "load": "hipModuleLoadData",
    "unload": "hipModuleUnload",
    "get_kernel": "hipModuleGetFunction",
    "launch": "hipModuleLaunchKernel",
    "create_stream": "hipStreamCreateWithFlags",
    "destroy_stream": "hipStreamDestroy",
    "wait": "hipStreamSynchronize",
    "begin_capture": "hipStreamBeginCapture",
    "end_capture": "hipStreamEndCapture",
    "instantiate": "hipGraphInstantiateWithFlags",
    "launch_graph": "hipGraphLaunch",
    "free_executable_graph": "hipGraphExecDestroy",
    "free_graph": "hipGraphDestroy",
}
_EVENTS = {
    "create_event": "hipEventCreateWithFlags",
    "record_event": "hipEventRecord",
    "elapsed": "hipEventElapsedTime",
    "free_event": "hipEventDestroy",
}
_PROPERTIES_SIZE = 4096  # more than `hipDeviceProp_t` of any release
_ARCHITECTURE = re.compile(rb"gfx[0-9a-f]{3,}")


class _HipApi(DriverApi):
    def __init__(self, libraries: tuple[str, ...]):
        super().__init__("hip", libraries, _SYMBOLS, _EVENTS)
        self._error_string = self.function("hipGetErrorString")
        self._error_string.restype = c_char_p

    def error_text(self, status: int) -> str:
        text = self._error_string(status)
        return text.decode() if text else f"error {status}"

    def run(self, symbol: str, *arguments: object) -> None:
        """Calls a runtime function by its C name."""
        self.check(self.function(symbol)(*arguments), symbol)


class HipDevice(DriverDevice):
    """An AMD GPU.

    Args:
        index: which one.
        library: HIP's runtime library; by default `HIPGRAFT_LIBAMDHIP64`, else its usual names.

    Raises:
        HipgraftError: there is no runtime or no such GPU.
    """

    dlpack_type = dlpack.ROCM
    has_events_in_graphs = False  # HIP got `hipEventRecordWithFlags` with ROCm 7

    def __init__(self, index: int = 0, library: str = ""):
        library = library or variable("HIPGRAFT_LIBAMDHIP64")
        api = _HipApi((library,) if library else _LIBRARIES)
        count = c_int()
        api.run("hipGetDeviceCount", byref(count))
        if not 0 <= index < count.value:
            raise HipgraftError(f"no HIP device {index}; there are {count.value}")
        self._hip, self._index = api, index
        self._activate()
        super().__init__(api, _architecture(api, index), index)

    def _activate(self) -> None:
        self._hip.run("hipSetDevice", self._index)


def open_hip(index: str = "0") -> HipDevice:
    """Opens a GPU by its number.

    Raises:
        HipgraftError: there is no such GPU.
    """
    if not (index.isascii() and index.isdigit() and len(index) < 10):
        raise HipgraftError(f"expected the number of a HIP device, found '{index}'")
    return HipDevice(int(index))


def _architecture(api: _HipApi, index: int) -> str:
    """Finds `gcnArchName` by its form; its offset in the structure differs between releases."""
    properties = ctypes.create_string_buffer(_PROPERTIES_SIZE)
    try:
        get_properties = api.function("hipGetDevicePropertiesR0600")
    except HipgraftError:  # before ROCm 6
        get_properties = api.function("hipGetDeviceProperties")
    api.check(get_properties(properties, index), "hipGetDeviceProperties")
    found = _ARCHITECTURE.search(properties.raw)
    if found is None:
        raise HipgraftError(f"HIP device {index} does not tell its architecture")
    return found[0].decode()
