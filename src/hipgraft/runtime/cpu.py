"""The CPU as a device: host memory, and graphs run by IREE's runtime (local-task)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import iree.runtime as iree_runtime
import numpy as np

from hipgraft.bindings import ir
from hipgraft.diagnostics import HipgraftError
from hipgraft.element_types import byte_size

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ALIGNMENT = 256

_HAL_TYPES = {
    "i1": "BOOL_8",
    "i8": "SINT_8",
    "i16": "SINT_16",
    "i32": "SINT_32",
    "i64": "SINT_64",
    "f16": "FLOAT_16",
    "f32": "FLOAT_32",
    "f64": "FLOAT_64",
    "bf16": "BFLOAT_16",
    "f8E4M3FN": "FLOAT_8_E4M3_FN",
    "f8E4M3FNUZ": "FLOAT_8_E4M3_FNUZ",
    "f8E5M2": "FLOAT_8_E5M2",
    "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
    "complex<f32>": "COMPLEX_64",
    "complex<f64>": "COMPLEX_128",
}


@dataclass(frozen=True)
class TypedMemory:
    """A packed tensor in device memory."""

    address: int
    shape: tuple[int, ...]
    element_type: ir.Type

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor."""
        size = byte_size(self.shape, self.element_type)
        if size is None:
            raise HipgraftError(f"elements of type '{self.element_type}' are no whole bytes")
        return size


class CpuDevice:
    """Runs graphs compiled for the target `cpu`."""

    architecture = "cpu"

    def __init__(self) -> None:
        self._allocations: dict[int, np.ndarray[Any, Any]] = {}
        self._config = iree_runtime.Config("local-task")

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory, aligned to 256 bytes."""
        raw = np.empty(nbytes + _ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % _ALIGNMENT
        address = int(raw.ctypes.data) + start
        self._allocations[address] = raw[start : start + nbytes]
        return address

    def free(self, address: int) -> None:
        """Frees what `allocate` returned."""
        del self._allocations[address]

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Copies host memory to `address`."""
        data = np.frombuffer(memoryview(buffer), np.uint8)
        self._memory(address, data.nbytes)[:] = data

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        target = np.frombuffer(memoryview(buffer), np.uint8)
        target[:] = self._memory(address, target.nbytes)

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        times = nbytes // len(pattern)
        self._memory(address, nbytes)[:] = np.tile(np.frombuffer(pattern, np.uint8), times)

    def load_code_object(self, data: bytes) -> Any:
        """Refuses: the CPU runs whole graphs."""
        raise HipgraftError(
            "device 'cpu' runs no GPU kernels; compile the program for the target 'cpu'"
        )

    def get_kernel(self, code_object: Any, name: str) -> Any:
        """Refuses: the CPU runs whole graphs."""
        return self.load_code_object(b"")

    def launch(
        self,
        kernel: Any,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Refuses: the CPU runs whole graphs."""
        self.load_code_object(b"")

    def load_module(self, data: bytes) -> Any:
        """Loads an IREE module and returns its context with the function `main`."""
        instance = self._config.vm_instance
        module = iree_runtime.VmModule.copy_buffer(instance, data)
        modules = [*self._config.default_vm_modules, module]
        context = iree_runtime.VmContext(instance, modules=modules)
        return context, module.lookup_function("main")

    def call(
        self, module: Any, inputs: Sequence[TypedMemory], outputs: Sequence[TypedMemory]
    ) -> None:
        """Calls `main`; copies operands in and results out."""
        context, function = module
        arguments = iree_runtime.VmVariantList(len(inputs))
        for tensor in inputs:
            arguments.push_ref(self._buffer_view(tensor))
        results = iree_runtime.VmVariantList(len(outputs))
        try:
            context.invoke(function, arguments, results)
        except (RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise HipgraftError(f"IREE's runtime failed: {reason}") from error
        for position, tensor in enumerate(outputs):
            self._store(results.get_as_object(position, iree_runtime.HalBufferView), tensor)

    def synchronize(self) -> None:
        """Does nothing: every call has finished when it returns."""

    def close(self) -> None:
        """Releases all memory."""
        self._allocations.clear()

    def _buffer_view(self, tensor: TypedMemory) -> Any:
        name = str(tensor.element_type)
        if name not in _HAL_TYPES:
            raise HipgraftError(f"IREE's runtime has no element type for '{name}'")
        device = self._config.device
        buffer = device.allocator.allocate_buffer_copy(
            iree_runtime.MemoryType.DEVICE_LOCAL,
            iree_runtime.BufferUsage.DEFAULT | iree_runtime.BufferUsage.MAPPING,
            device,
            self._padded(tensor.address, tensor.nbytes),
        )
        element = int(iree_runtime.HalElementType[_HAL_TYPES[name]])
        return iree_runtime.HalBufferView(buffer, list(tensor.shape), element)

    def _store(self, view: Any, tensor: TypedMemory) -> None:
        data = view.map().asarray([view.byte_length], np.dtype(np.uint8))
        self._memory(tensor.address, tensor.nbytes)[:] = data[: tensor.nbytes]

    def _padded(self, address: int, nbytes: int) -> np.ndarray[Any, Any]:
        """Memory from `address`, continued by zeros where the allocation ends before `nbytes`.

        A strided operand is bound as whole rows, the last of which may end after the memory.
        """
        base = self._base(address)
        have = self._allocations[base][address - base :][:nbytes]
        if have.nbytes == nbytes:
            return have
        return np.concatenate([have, np.zeros(nbytes - have.nbytes, np.uint8)])

    def _memory(self, address: int, nbytes: int) -> np.ndarray[Any, Any]:
        base = self._base(address)
        memory = self._allocations[base][address - base :][:nbytes]
        if memory.nbytes != nbytes:
            raise HipgraftError(f"access of {nbytes} bytes at 0x{address:x} leaves its allocation")
        return memory

    def _base(self, address: int) -> int:
        if address in self._allocations:
            return address
        for base, memory in self._allocations.items():
            if base <= address < base + memory.nbytes:
                return base
        raise HipgraftError(f"address 0x{address:x} is outside every allocation")
