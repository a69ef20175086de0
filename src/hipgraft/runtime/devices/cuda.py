"""NVIDIA GPUs through the CUDA driver."""

from __future__ import annotations

from ctypes import byref, c_char_p, c_int, c_void_p

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime import dlpack
from hipgraft.runtime.devices.driver import DriverApi, DriverDevice

_LIBRARIES = ("libcuda.so.1", "libcuda.so")
_SYMBOLS = {
    "malloc": "cuMemAlloc_v2",
    "free": "cuMemFree_v2",
    "to_device": "cuMemcpyHtoDAsync_v2",
    "to_host": "cuMemcpyDtoHAsync_v2",
    "on_device": "cuMemcpyDtoDAsync_v2",
    "fill_8": "cuMemsetD8Async",
    "fill_16": "cuMemsetD16Async",
    "fill_32": "cuMemsetD32Async",
    "load": "cuModuleLoadData",
    "unload": "cuModuleUnload",
    "get_kernel": "cuModuleGetFunction",
    "launch": "cuLaunchKernel",
    "create_stream": "cuStreamCreate",
    "destroy_stream": "cuStreamDestroy_v2",
    "wait": "cuStreamSynchronize",
    "begin_capture": "cuStreamBeginCapture_v2",
    "end_capture": "cuStreamEndCapture",
    "instantiate": "cuGraphInstantiateWithFlags",
    "launch_graph": "cuGraphLaunch",
    "free_executable_graph": "cuGraphExecDestroy",
    "free_graph": "cuGraphDestroy",
}
_EVENTS = {
    "create_event": "cuEventCreate",
    "record_event": "cuEventRecord",
    "record_event_in_graph": "cuEventRecordWithFlags",
    "elapsed": "cuEventElapsedTime",
    "free_event": "cuEventDestroy_v2",
}
_COMPUTE_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
_MAX_DYNAMIC_SHARED_SIZE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_PLAIN_SHARED_SIZE = 48 * 1024  # available to a kernel without a request


class _CudaApi(DriverApi):
    def __init__(self, libraries: tuple[str, ...]):
        super().__init__("cuda", libraries, _SYMBOLS, _EVENTS)

    def error_text(self, status: int) -> str:
        text = c_char_p()
        unknown = self.function("cuGetErrorString")(status, byref(text))
        return f"error {status}" if unknown or not text.value else text.value.decode()

    def run(self, symbol: str, *arguments: object) -> None:
        """Calls a driver function by its C name."""
        self.check(self.function(symbol)(*arguments), symbol)


class CudaDevice(DriverDevice):
    """An NVIDIA GPU.

    Args:
        index: which one.
        library: the driver's library; found by its usual names if empty.

    Raises:
        HipgraftError: there is no driver or no such GPU.
    """

    dlpack_type = dlpack.CUDA
    has_events_in_graphs = True

    def __init__(self, index: int = 0, library: str = ""):
        api = _CudaApi((library,) if library else _LIBRARIES)
        api.run("cuInit", 0)
        count = c_int()
        api.run("cuDeviceGetCount", byref(count))
        if not 0 <= index < count.value:
            raise HipgraftError(f"no CUDA device {index}; there are {count.value}")
        self._cuda = api
        self._device, self._context = c_int(), c_void_p()
        api.run("cuDeviceGet", byref(self._device), index)
        # The primary context is the one that other libraries in the process use.
        api.run("cuDevicePrimaryCtxRetain", byref(self._context), self._device)
        self._activate()
        super().__init__(api, _architecture(api, self._device), index)

    def allow_shared_memory(self, kernel: c_void_p, nbytes: int) -> None:
        """Requests dynamic shared memory beyond the default limit."""
        if nbytes > _PLAIN_SHARED_SIZE:
            self._cuda.run("cuFuncSetAttribute", kernel, _MAX_DYNAMIC_SHARED_SIZE, nbytes)

    def close(self) -> None:
        """Frees all memory and code, and releases the context."""
        if not self._context:
            return
        super().close()
        self._cuda.run("cuDevicePrimaryCtxRelease_v2", self._device)
        self._context = c_void_p()

    def _activate(self) -> None:
        self._cuda.run("cuCtxSetCurrent", self._context)


def open_cuda(index: str = "0") -> CudaDevice:
    """Opens a GPU by its number.

    Raises:
        HipgraftError: there is no such GPU.
    """
    if not (index.isascii() and index.isdigit() and len(index) < 10):
        raise HipgraftError(f"expected the number of a CUDA device, found '{index}'")
    return CudaDevice(int(index))


def _architecture(api: _CudaApi, device: c_int) -> str:
    numbers: list[int] = []
    for attribute in _COMPUTE_CAPABILITY:
        value = c_int()
        api.run("cuDeviceGetAttribute", byref(value), attribute, device)
        numbers.append(value.value)
    return f"sm_{numbers[0]}{numbers[1]}"
