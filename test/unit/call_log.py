"""A device that runs nothing and logs its calls, in which allocations identify memory."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

from hipgraft.runtime.devices.host_memory import NullDevice

Call = tuple[Any, ...]


class CallLog:
    """Logs each call, on zero-filled memory, so that tests can compare the calls of two programs.

    Attributes:
        calls: name and arguments of each. An address is (allocation, offset). Host memory is logged
            by its digest if the call reads it, and by its size if the call writes it.
    """

    def __init__(self, architecture: str):
        self.architecture = architecture
        self.calls: list[Call] = []
        self._inner = NullDevice(architecture)
        self._allocations: dict[int, tuple[int, int]] = {}

    def allocate(self, nbytes: int) -> int:
        address = self._inner.allocate(nbytes)
        self._inner.fill(address, b"\0", nbytes)
        self.calls.append(("allocate", nbytes))
        number = sum(call[0] == "allocate" for call in self.calls)
        self._allocations[address] = number, nbytes
        return address

    def free(self, address: int) -> None:
        self.calls.append(("free", self._place(address)))
        del self._allocations[address]
        self._inner.free(address)

    def copy_to_host(self, buffer: Any, address: int) -> None:
        self.calls.append(("copy_to_host", memoryview(buffer).nbytes, self._place(address)))
        self._inner.copy_to_host(buffer, address)

    def launch(
        self, kernel: str, grid: Any, block: Any, dynamic_shared_bytes: int, kernarg: bytes
    ) -> None:
        words = [self._place(word) for (word,) in struct.iter_unpack("<Q", kernarg)]
        self.calls.append(("launch", kernel, grid, block, dynamic_shared_bytes, *words))

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._inner, name)

        def told(*arguments: Any) -> Any:
            self.calls.append((name, *map(self._spelled, arguments)))
            return call(*arguments)

        return told

    def _spelled(self, argument: Any) -> Any:
        if isinstance(argument, int):
            return self._place(argument)
        if isinstance(argument, str) or len(argument) <= 16:
            return argument
        return hashlib.sha256(argument).hexdigest()

    def _place(self, word: int) -> tuple[int, int] | int:
        """Returns the buffer that contains an address; returns other words unchanged."""
        for base, (number, nbytes) in self._allocations.items():
            if base <= word < base + max(nbytes, 1):
                return number, word - base
        return word
