"""Implements MLIR's GPU runtime (`mgpu*`), which lowered host programs call, on a device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_char_p, c_int8, c_int16, c_int32, c_int64, c_size_t, c_void_p
from traceback import format_tb
from typing import Any

from hipgraft.codegen.objects.code_object import CodeObject
from hipgraft.codegen.objects.formats import read_object
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices.protocols import Device, copy_on_device, unload

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "mgpuLaunchKernel": (None, c_void_p, *[c_int64] * 6, c_int32, *[c_void_p] * 3, c_int64),
    "mgpuMemAlloc": (c_void_p, c_int64, c_void_p, c_int8),
    "mgpuMemFree": (None, c_void_p, c_void_p),
    "mgpuMemcpy": (None, c_void_p, c_void_p, c_int64, c_void_p),
    "mgpuMemset16": (None, c_void_p, c_int16, c_int64, c_void_p),
    "mgpuMemset32": (None, c_void_p, c_int32, c_int64, c_void_p),
    "mgpuModuleGetFunction": (c_void_p, c_void_p, c_char_p),
    "mgpuModuleLoad": (c_void_p, c_void_p, c_size_t),
    "mgpuModuleLoadJIT": (c_void_p, c_void_p, c_int32, c_size_t),
    "mgpuModuleUnload": (None, c_void_p),
    "mgpuStreamCreate": (c_void_p,),
    "mgpuStreamDestroy": (None, c_void_p),
    "mgpuStreamSynchronize": (None, c_void_p),
}
"""The result type and the argument types of each function that a host program may call."""

_STREAM = 1  # a device has one queue


class MgpuRuntime:
    """The runtime's functions for one program on one device.

    An exception cannot propagate through compiled code. It is stored instead, later calls do
    nothing, and `raise_failure` raises it after the program has returned.
    """

    def __init__(self, device: Device):
        self._device = device
        self._failure: BaseException | None = None
        self._handles: list[Any] = [None]  # a handle is an index, and 0 is null
        self._kernels: dict[tuple[int, bytes], int] = {}
        self._allocations: set[int] = set()
        self._callbacks = {
            name: ctypes.CFUNCTYPE(*types)(self._guarded(self._function(name)))
            for name, types in _SIGNATURES.items()
        }

    @property
    def symbols(self) -> dict[str, int]:
        """The address of each function; valid as long as this object lives."""
        return {
            name: ctypes.cast(callback, c_void_p).value or 0
            for name, callback in self._callbacks.items()
        }

    def raise_failure(self) -> None:
        """Raises the exception of a call since the last time, if any, after freeing memory."""
        if self._failure is None:
            return
        failure, self._failure = self._failure, None
        for address in list(self._allocations):
            self._mem_free(address, _STREAM)
        raise failure

    def close(self) -> None:
        """Unloads the program's code objects."""
        while self._handles:
            handle = self._handles.pop()
            if isinstance(handle, tuple) and isinstance(handle[1], CodeObject):
                unload(self._device, handle[0])

    def _function(self, name: str) -> Callable[..., Any]:
        return {
            "mgpuLaunchKernel": self._launch_kernel,
            "mgpuMemAlloc": self._mem_alloc,
            "mgpuMemFree": self._mem_free,
            "mgpuMemcpy": self._memcpy,
            "mgpuMemset16": self._memset_16,
            "mgpuMemset32": self._memset_32,
            "mgpuModuleGetFunction": self._module_get_function,
            "mgpuModuleLoad": self._module_load,
            "mgpuModuleLoadJIT": self._module_load_jit,
            "mgpuModuleUnload": self._nothing,
            "mgpuStreamCreate": self._stream_create,
            "mgpuStreamDestroy": self._nothing,
            "mgpuStreamSynchronize": self._stream_synchronize,
        }[name]

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if self._failure is not None:
                return None
            try:
                return function(*arguments)
            except BaseException as error:
                self._failure = _without_frames(error)
                return None

        return call

    def _handle(self, value: Any) -> int:
        self._handles.append(value)
        return len(self._handles) - 1

    def _nothing(self, *_: Any) -> None:
        """Does nothing: the device has one stream, and `close` unloads code objects."""

    def _stream_create(self) -> int:
        return _STREAM

    def _stream_synchronize(self, stream: int) -> None:
        self._device.synchronize()

    def _module_load(self, data: int, size: int) -> int:
        return self._load(ctypes.string_at(data, size))

    def _module_load_jit(self, data: int, level: int, size: int) -> int:
        return self._load(ctypes.string_at(data, size).removesuffix(b"\0"))

    def _load(self, binary: bytes) -> int:
        return self._handle((self._device.load_code_object(binary), read_object(binary)))

    def _module_get_function(self, module: int, name: bytes) -> int:
        key = (module, name)
        if key not in self._kernels:
            handle, known = self._handles[module]
            kernel = self._device.get_kernel(handle, name.decode())
            self._kernels[key] = self._handle((kernel, known.kernels[name.decode()]))
        return self._kernels[key]

    def _launch_kernel(self, function: int, *rest: Any) -> None:
        grid, block = rest[0:3], rest[3:6]
        shared, _, parameters, _, _ = rest[6:]
        kernel, info = self._handles[function]
        values = ctypes.cast(parameters, ctypes.POINTER(c_void_p))
        segment = bytearray(info.kernarg_size)
        for index, argument in enumerate(info.arguments):
            end = argument.offset + argument.size
            segment[argument.offset : end] = ctypes.string_at(values[index], argument.size)
        self._device.launch(kernel, grid, block, shared, bytes(segment))

    def _mem_alloc(self, nbytes: int, stream: int, is_shared: int) -> int:
        # A device need not support empty allocations.
        address = self._device.allocate(max(nbytes, 1))
        self._allocations.add(address)
        return address

    def _mem_free(self, address: int, stream: int) -> None:
        self._device.synchronize()
        self._allocations.remove(address)
        self._device.free(address)

    def _memcpy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        copy_on_device(self._device, target, source, nbytes)

    def _memset_16(self, address: int, value: int, count: int, stream: int) -> None:
        self._device.fill(address, (value & 0xFFFF).to_bytes(2, "little"), 2 * count)

    def _memset_32(self, address: int, value: int, count: int, stream: int) -> None:
        self._device.fill(address, (value & 0xFFFFFFFF).to_bytes(4, "little"), 4 * count)


def _without_frames(error: BaseException) -> BaseException:
    """Converts a traceback to text, because its frames would keep the compiled program alive."""
    if not isinstance(error, HipgraftError):
        error.add_note("".join(format_tb(error.__traceback__)).rstrip())
    return error.with_traceback(None)
