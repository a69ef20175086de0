"""Implements the CPU as a device, which runs graphs in host memory on IREE's local-task runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import iree.runtime as iree_runtime
import numpy as np
from iree.runtime import flags

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import malformed
from hipgraft.runtime.devices.host_memory import HostMemory

if TYPE_CHECKING:
    from hipgraft.runtime.devices.protocols import TypedMemory

# Kernels may use 512 KiB of the stack (hipgraft.codegen.target); a worker has 128 KiB by default.
_STACK_SIZE = 2 << 20
flags.parse_flags(f"--task_worker_stack_size={_STACK_SIZE}")

_HAL_TYPES = {
    "i1": "BOOL_8",
    "i8": "SINT_8",
    "ui8": "SINT_8",  # kernels have signless operands
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
    "f8E8M0FNU": "FLOAT_8_E8M0_FNU",
    "f8E5M2FNUZ": "FLOAT_8_E5M2_FNUZ",
    "complex<f32>": "COMPLEX_64",
    "complex<f64>": "COMPLEX_128",
}


class CpuDevice(HostMemory):
    """Runs graphs compiled for the target `cpu`."""

    architecture = "cpu"

    def __init__(self) -> None:
        super().__init__()
        self._config = iree_runtime.Config("local-task")

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
        with malformed("module of IREE", ""):
            module = iree_runtime.VmModule.copy_buffer(instance, data)
            modules = [*self._config.default_vm_modules, module]
            context = iree_runtime.VmContext(instance, modules=modules)
            return context, module.lookup_function("main")

    def call(
        self, module: Any, inputs: Sequence[TypedMemory], outputs: Sequence[TypedMemory]
    ) -> None:
        """Calls `main`: copies the operands in and the results out."""
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
        if len(results) != len(outputs):
            raise HipgraftError(f"a module gives {len(results)} results, not {len(outputs)}")
        for position, tensor in enumerate(outputs):
            self._store(results.get_as_object(position, iree_runtime.HalBufferView), tensor)

    def _buffer_view(self, tensor: TypedMemory) -> Any:
        name = tensor.element_type
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
        if view.byte_length < tensor.nbytes:
            raise HipgraftError(
                f"a module gives {view.byte_length} bytes, not the {tensor.nbytes} of "
                f"{list(tensor.shape)} {tensor.element_type}"
            )
        data = view.map().asarray([view.byte_length], np.dtype(np.uint8))
        self.memory(tensor.address, tensor.nbytes)[:] = data[: tensor.nbytes]

    def _padded(self, address: int, nbytes: int) -> np.ndarray[Any, Any]:
        """Returns `nbytes` of memory from `address`, padded by zeros if the allocation is shorter.

        A strided operand is bound as whole rows, the last of which may end after the memory.
        """
        base = self.base_of(address)
        have = self._allocations[base][address - base :][:nbytes]
        if have.nbytes == nbytes:
            return have
        return np.concatenate([have, np.zeros(nbytes - have.nbytes, np.uint8)])
