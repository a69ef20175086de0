"""Implements device memory in host memory."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_ALIGNMENT = 256


def host_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Returns a new array with undefined contents.

    Raises:
        HipgraftError: there is not enough memory. If the system overcommits memory, the machine's
            total counts.
    """
    nbytes = dtype.itemsize * math.prod(shape)
    if nbytes > _physical_memory():
        raise HipgraftError(f"{nbytes} bytes are more memory than there is")
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError):
        raise HipgraftError(f"cannot allocate {nbytes} bytes") from None


@cache
def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


class HostMemory:
    """Implements a device's allocation, copies and fills."""

    def __init__(self) -> None:
        self._allocations: dict[int, np.ndarray[Any, Any]] = {}

    def allocate(self, nbytes: int) -> int:
        """Returns the address of new memory, aligned to 256 bytes.

        Raises:
            HipgraftError: there is not enough memory.
        """
        raw = host_array((nbytes + _ALIGNMENT,), np.dtype(np.uint8))
        start = -raw.ctypes.data % _ALIGNMENT
        address = int(raw.ctypes.data) + start
        self._allocations[address] = raw[start : start + nbytes]
        return address

    def free(self, address: int) -> None:
        """Frees memory that `allocate` returned."""
        del self._allocations[address]

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Copies host memory to `address`."""
        data = np.frombuffer(memoryview(buffer), np.uint8)
        self.memory(address, data.nbytes)[:] = data

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        target = np.frombuffer(memoryview(buffer), np.uint8)
        target[:] = self.memory(address, target.nbytes)

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        memory = self.memory(address, nbytes)  # raises if the size is too large
        memory.reshape(-1, len(pattern))[:] = np.frombuffer(pattern, np.uint8)

    def synchronize(self) -> None:
        """Does nothing: every call has finished when it returns."""

    def close(self) -> None:
        """Releases all memory."""
        self._allocations.clear()

    def memory(self, address: int, nbytes: int) -> np.ndarray[Any, Any]:
        """Returns `nbytes` bytes from `address` on.

        Raises:
            HipgraftError: the bytes are not all in one allocation.
        """
        base = self.base_of(address)
        memory = self._allocations[base][address - base :][:nbytes]
        if memory.nbytes != nbytes:
            raise HipgraftError(f"access of {nbytes} bytes at 0x{address:x} leaves its allocation")
        return memory

    def base_of(self, address: int) -> int:
        """Returns the start of the allocation that contains `address`.

        Raises:
            HipgraftError: no allocation contains it.
        """
        if address in self._allocations:
            return address
        for base, memory in self._allocations.items():
            if base <= address < base + memory.nbytes:
                return base
        raise HipgraftError(f"address 0x{address:x} is outside every allocation")


class NullDevice(HostMemory):
    """A device with host memory, whose launches do nothing."""

    executes = False

    def __init__(self, architecture: str):
        super().__init__()
        self.architecture = architecture

    def load_code_object(self, data: bytes) -> bytes:
        """Returns the code object itself."""
        return data

    def get_kernel(self, code_object: bytes, name: str) -> str:
        """Returns the name."""
        return name

    def launch(
        self,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Does nothing."""
