"""Lowers host programs with upstream's passes and runs them just in time on a device.

Upstream MLIR comes from torch-mlir's wheel; its GPU runtime calls (`mgpu*`) are served by a
device of `hipgraft.runtime.devices`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch_mlir import ir as upstream
from torch_mlir.execution_engine import ExecutionEngine
from torch_mlir.passmanager import PassManager

from hipgraft.codegen.code_object import CodeObject

# As the documentation of hipdnn-merge gives it.
RECIPE = (
    "builtin.module(expand-strided-metadata,finalize-memref-to-llvm,convert-func-to-llvm,"
    "gpu-to-llvm{use-bare-pointers-for-kernels=1 intersperse-sizes-for-kernels=0},"
    "convert-arith-to-llvm,convert-index-to-llvm,reconcile-unrealized-casts)"
)

_P, _I64, _I32, _I16, _I8 = (
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int32,
    ctypes.c_int16,
    ctypes.c_int8,
)


def lower(text: str, entry: str = "main") -> upstream.Module:
    """Parses a host program in upstream MLIR and lowers it to the LLVM dialect."""
    with upstream.Context():
        module = upstream.Module.parse(text)
        for op in module.body.operations:
            if op.operation.name == "func.func" and op.sym_name.value == entry:
                op.attributes["llvm.emit_c_interface"] = upstream.UnitAttr.get()
        PassManager.parse(RECIPE).run(module.operation)
        return module


class MgpuRuntime:
    """Upstream's GPU runtime interface on a device; one stream, in order."""

    def __init__(self, device: Any):
        self.device = device
        self.failures: list[BaseException] = []
        self._handles: list[Any] = [None]  # a handle is an index, and 0 is null
        self._keep: list[Any] = []

    def register(self, engine: ExecutionEngine) -> None:
        """Makes the calls known to the engine."""
        kinds: dict[str, tuple[Any, ...]] = {
            "mgpuModuleLoad": (self.module_load, _P, _P, ctypes.c_size_t),
            "mgpuModuleUnload": (self.nothing, None, _P),
            "mgpuModuleGetFunction": (self.get_function, _P, _P, ctypes.c_char_p),
            "mgpuLaunchKernel": (self.launch, None, _P, *[_I64] * 6, _I32, _P, _P, _P, _I64),
            "mgpuStreamCreate": (self.stream_create, _P),
            "mgpuStreamDestroy": (self.nothing, None, _P),
            "mgpuStreamSynchronize": (self.nothing, None, _P),
            "mgpuMemAlloc": (self.allocate, _P, _I64, _P, _I8),
            "mgpuMemFree": (self.free, None, _P, _P),
            "mgpuMemcpy": (self.memcpy, None, _P, _P, _I64, _P),
            "mgpuMemset16": (self.memset16, None, _P, _I16, _I64, _P),
            "mgpuMemset32": (self.memset32, None, _P, _I32, _I64, _P),
        }
        for name, (function, result, *arguments) in kinds.items():
            callback = ctypes.CFUNCTYPE(result, *arguments)(self._guarded(function))
            self._keep.append(callback)
            address = ctypes.cast(callback, ctypes.c_void_p)
            engine.raw_register_runtime(name, address)

    def _guarded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """An exception cannot cross compiled code: it is kept for `invoke` to raise."""

        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as error:
                self.failures.append(error)
                return None

        return call

    def _handle(self, value: Any) -> int:
        self._handles.append(value)
        return len(self._handles) - 1

    def nothing(self, *_: Any) -> None:
        pass

    def stream_create(self) -> int:
        return 1

    def module_load(self, data: int, size: int) -> int:
        binary = ctypes.string_at(data, size)
        return self._handle((self.device.load_code_object(binary), CodeObject.parse(binary)))

    def get_function(self, module: int, name: bytes) -> int:
        handle, parsed = self._handles[module]
        kernel = name.decode()
        return self._handle((self.device.get_kernel(handle, kernel), parsed.kernels[kernel]))

    def launch(self, function: int, *rest: Any) -> None:
        grid, block = rest[0:3], rest[3:6]
        shared, _, parameters, _, count = rest[6:]
        handle, info = self._handles[function]
        assert count == len(info.arguments)
        values = ctypes.cast(parameters, ctypes.POINTER(ctypes.c_void_p))
        segment = bytearray(info.kernarg_size)
        for index, argument in enumerate(info.arguments):
            end = argument.offset + argument.size
            segment[argument.offset : end] = ctypes.string_at(values[index], argument.size)
        self.device.launch(handle, grid, block, shared, bytes(segment))

    def allocate(self, nbytes: int, stream: int, shared: int) -> int:
        return self.device.allocate(nbytes)

    def free(self, address: int, stream: int) -> None:
        self.device.free(address)

    def memcpy(self, target: int, source: int, nbytes: int, stream: int) -> None:
        self.device.copy_to_device(target, ctypes.string_at(source, nbytes))

    def memset16(self, address: int, value: int, count: int, stream: int) -> None:
        self.device.fill(address, (value & 0xFFFF).to_bytes(2, "little"), 2 * count)

    def memset32(self, address: int, value: int, count: int, stream: int) -> None:
        self.device.fill(address, (value & 0xFFFFFFFF).to_bytes(4, "little"), 4 * count)


def run(
    text: str,
    inputs: Sequence[np.ndarray],
    outputs: Sequence[tuple[tuple[int, ...], Any]],
    device: Any,
    entry: str = "main",
) -> list[np.ndarray]:
    """Runs the function `entry` of a host program just in time.

    Args:
        text: the program.
        inputs: its operands.
        outputs: shape and dtype of each result.
        device: its memory is the host's, as the emulator's is.
        entry: the function.

    Returns:
        The results.
    """
    module = lower(text, entry)
    results = [np.zeros(shape, dtype) for shape, dtype in outputs]
    arrays = [*inputs, *results]
    addresses = [device.allocate(array.nbytes) for array in arrays]
    for address, array in zip(addresses, arrays, strict=True):
        device.copy_to_device(address, array.reshape(-1).view(np.uint8))
    runtime = MgpuRuntime(device)
    with module.context:
        engine = ExecutionEngine(module, opt_level=0)
        runtime.register(engine)
        engine.initialize()
        descriptors = [
            ctypes.pointer(ctypes.pointer(_descriptor(address, array.shape)))
            for address, array in zip(addresses, arrays, strict=True)
        ]
        engine.invoke(entry, *descriptors)
    if runtime.failures:
        raise runtime.failures[0]
    for address, result in zip(addresses[len(inputs) :], results, strict=True):
        device.copy_to_host(result.reshape(-1).view(np.uint8), address)
    for address in addresses:
        device.free(address)
    return results


def _descriptor(address: int, shape: tuple[int, ...]) -> ctypes.Structure:
    """A ranked memref descriptor of identity layout."""
    rank = len(shape)
    strides = [int(np.prod(shape[dim + 1 :])) for dim in range(rank)]
    fields: list[Any] = [("allocated", _P), ("aligned", _P), ("offset", _I64)]
    if rank:
        fields += [("shape", _I64 * rank), ("strides", _I64 * rank)]
    kind = type("Descriptor", (ctypes.Structure,), {"_fields_": fields})
    extents = [(_I64 * rank)(*shape), (_I64 * rank)(*strides)] if rank else []
    return kind(address, address, 0, *extents)
