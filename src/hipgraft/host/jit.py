"""Compiles host programs just in time with upstream's lowering and MLIR's execution engine.

They make the same calls on the device, in the same order, as the interpreter.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from ctypes import c_int64, c_void_p
from typing import Any

from hipgraft.host.lowering import lower_host
from hipgraft.host.mgpu import MgpuRuntime
from hipgraft.ir.bindings import ir
from hipgraft.ir.closing import Closing
from hipgraft.ir.entry_points import find_functions, symbols
from hipgraft.ir.resources import global_bytes
from hipgraft.ir.selection import select
from hipgraft.runtime import boundary
from hipgraft.runtime.boundary import Array, DeviceArray
from hipgraft.runtime.devices.protocols import Device
from hipgraft.runtime.host_program.dynamic import is_dynamic, tensors_of
from hipgraft.runtime.recording import Tensor


class Jit(Closing):
    """A host program that is compiled for this machine and loaded on a device.

    Threads may share it. It runs one call at a time, so that each thread gets its own errors.

    Args:
        module: stage `host`.
        device: see `hipgraft.runtime.devices.registry`.

    Raises:
        HipgraftError: the program is not for the device, or cannot be lowered.
    """

    def __init__(self, module: ir.Module, device: Device):
        from hipgraft.ir.upstream import make_engine

        # Attributes are destroyed in this order: the engine runs the program's destructors,
        # which still need the runtime.
        self._engine: Any = None
        self._lock = threading.Lock()
        self._device = device
        self._module = module
        self._functions = find_functions(module, device.architecture)
        self._lowered = lower_host(module, device.architecture)
        with ExitStack() as resources:
            self._runtime = MgpuRuntime(device)
            resources.callback(self._runtime.close)
            resources.callback(self._drop_engine)
            self._engine = make_engine(self._lowered.text, self._runtime.symbols)
            self._runtime.raise_failure()
            by_name = symbols(module)
            self._constants = [
                self._upload(global_bytes(by_name[name]), resources)
                for name in self._lowered.constants
            ]
            self._resources = resources.pop_all()

    def close(self) -> None:
        """Frees the constants and the code on the device."""
        self._resources.close()

    def run(self, inputs: Sequence[Any]) -> list[Array]:
        """Runs the program and waits for it.

        Args:
            inputs: NumPy arrays, arrays with DLPack, or `DeviceArray`s.

        Returns:
            One array per result.

        Raises:
            HipgraftError: an input does not fit, or the device fails.
        """
        lowered = self._lowered
        given = boundary.imported(inputs, self._device, "input")
        tensors = self._select(given)
        given = boundary.match(given, tensors[: lowered.inputs], self._device, "input")
        outputs = tensors[len(tensors) - lowered.results :]
        with ExitStack() as memory:
            sources = [self._allocate(tensor.nbytes, memory) for tensor in tensors[: len(given)]]
            targets = [self._allocate(tensor.nbytes, memory) for tensor in outputs]
            for array, address, tensor in zip(given, sources, tensors, strict=False):
                if not isinstance(array, DeviceArray):
                    self._device.copy_to_device(address, boundary.raw(array, tensor))
            arguments = [
                array.address if isinstance(array, DeviceArray) else address
                for array, address in zip(given, sources, strict=True)
            ]
            self._invoke([*arguments, *self._constants, *targets], tensors)
            results = [boundary.empty(tensor) for tensor in outputs]
            for array, address, tensor in zip(results, targets, outputs, strict=True):
                boundary.download(self._device, address, tensor, array)
            return results

    def _select(self, inputs: Sequence[Array | DeviceArray]) -> Sequence[Tensor]:
        """Returns the arguments of the variant that fits the inputs."""
        lowered, given = self._lowered, [boundary.array_shape(array) for array in inputs]
        variants = {name: _shapes(one[: lowered.inputs]) for name, one in lowered.variants.items()}
        chosen = select(variants, given)
        tensors = list(lowered.variants.values())[chosen]
        if not is_dynamic(self._functions[chosen]):
            return tensors
        constants = tensors[lowered.inputs : len(tensors) - lowered.results]
        known = tensors_of(self._functions[chosen], given)
        return [*known[: lowered.inputs], *constants, *known[len(known) - lowered.results :]]

    def _drop_engine(self) -> None:
        self._engine = None

    def _invoke(self, addresses: Sequence[int], tensors: Sequence[Tensor]) -> None:
        descriptors = [
            _descriptor(address, tensor) for address, tensor in zip(addresses, tensors, strict=True)
        ]
        # Packed arguments are pointers to the arguments, which are pointers to descriptors.
        pointers = [ctypes.pointer(c_void_p(ctypes.addressof(one))) for one in descriptors]
        with self._lock:
            self._engine.invoke(self._lowered.entry, *pointers)
            self._runtime.raise_failure()
            self._device.synchronize()

    def _allocate(self, nbytes: int, resources: ExitStack) -> int:
        # A device need not support empty allocations.
        address = self._device.allocate(max(nbytes, 1))
        resources.callback(self._device.free, address)
        return address

    def _upload(self, data: bytes, resources: ExitStack) -> int:
        address = self._allocate(len(data), resources)
        self._device.copy_to_device(address, data)
        return address


def _shapes(tensors: Sequence[Tensor]) -> list[tuple[int, ...]]:
    return [tensor.shape for tensor in tensors]


def _descriptor(address: int, tensor: Tensor) -> ctypes.Array[c_int64]:
    """Returns MLIR's descriptor of a ranked memref: two pointers, offset, sizes and strides.

    All fields are 64-bit words. A ctypes structure per call would leak, because ctypes caches every
    type to which a pointer was created.
    """
    words = [address, address, tensor.offset, *tensor.shape, *tensor.dense_strides]
    return (c_int64 * len(words))(*words)
