"""The emulator as a device of `hipgraft.runtime`.

Device memory is host memory: each allocation is a numpy buffer with a guard area around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hipgraft.emulator.code_object import CodeObject, Kernel
from hipgraft.emulator.disassembly import disassembler
from hipgraft.emulator.errors import EmulatorError
from hipgraft.emulator.findings import Check, Finding
from hipgraft.emulator.launch_layout import KernelArgument, TrackedArray
from hipgraft.emulator.launches import Counts, Order, launch
from hipgraft.emulator.native import core

if TYPE_CHECKING:
    from typing_extensions import Buffer

_GUARD = 4096  # bytes around each allocation
_ALIGNMENT = 256
GARBAGE = 0xA5
"""The value of each byte of new memory."""
ARCHITECTURE = "gfx942"
"""The default device's architecture."""


@dataclass(frozen=True)
class _Allocation:
    """An allocation; `defined` has a flag for each byte that was stored to, None if untracked."""

    content: np.ndarray[Any, Any]
    defined: np.ndarray[Any, Any] | None

    def behind(self, offset: int) -> _Allocation:
        defined = None if self.defined is None else self.defined[offset:]
        return _Allocation(self.content[offset:], defined)

    def store(self, data: np.ndarray[Any, Any]) -> None:
        self.content[: data.nbytes] = data
        if self.defined is not None:
            self.defined[: data.nbytes] = 1

    def argument(self) -> KernelArgument:
        return self.content if self.defined is None else TrackedArray(self.content, self.defined)


class EmulatorDevice:
    """Executes AMDGPU code objects on the CPU, at once and in order.

    Args:
        architecture: architecture of the code objects that the device runs.
        order: order in which the waves of a workgroup run between barriers.
        seed: seed of a random order and of the contents of uninitialised registers.
        check: kinds of defects to check launches for.
        every: maps the number of a launch to n: only every n-th of its workgroups runs.

    Attributes:
        architecture: e.g. `gfx942`.
        launches: the counts of each launch so far.
        check: kinds of defects to check later launches for. Uninitialised bytes are only tracked in
            memory that was allocated while that check was enabled.
    """

    name = "emulator"

    def __init__(
        self,
        architecture: str = ARCHITECTURE,
        order: Order = Order.FORWARD,
        seed: int = 1,
        check: Check = Check.NONE,
        every: Mapping[int, int] | None = None,
    ):
        self.architecture = architecture
        self.launches: list[Counts] = []
        self._order, self._seed, self.check = order, seed, check
        self._every = every or {}
        self._buffers: dict[int, _Allocation] = {}

    def allocate(self, nbytes: int) -> int:
        """Allocates memory, fills it with garbage and returns its address."""
        raw = np.full(nbytes + 2 * _GUARD + _ALIGNMENT, GARBAGE, np.uint8)
        start = -(raw.ctypes.data + _GUARD) % _ALIGNMENT + _GUARD
        address = int(raw.ctypes.data) + start
        is_tracked = bool(self.check & Check.UNINITIALISED)
        self._buffers[address] = _Allocation(
            raw[start : start + nbytes], np.zeros(nbytes, np.uint8) if is_tracked else None
        )
        return address

    def register(self, memory: np.ndarray[Any, Any]) -> int:
        """Lets kernels access the caller's own contiguous memory, and returns its address."""
        address = int(memory.ctypes.data)
        self._buffers[address] = _Allocation(memory.reshape(-1).view(np.uint8), None)
        return address

    def free(self, address: int) -> None:
        """Frees memory that `allocate` returned, or unregisters memory of `register`."""
        if address not in self._buffers:
            raise EmulatorError(f"free of 0x{address:x}, which is no allocation")
        del self._buffers[address]

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Copies host memory to `address`."""
        data = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        if data.nbytes:
            self._memory(address, data.nbytes).store(data)

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies from `address` into writable host memory."""
        data = np.frombuffer(memoryview(buffer).cast("B"), np.uint8)
        if data.nbytes:
            data[:] = self._memory(address, data.nbytes).content[: data.nbytes]

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Repeats `pattern` over `nbytes`, a multiple of its length."""
        if nbytes % len(pattern):
            raise EmulatorError(f"fill of {nbytes} bytes with a pattern of {len(pattern)}")
        if nbytes:
            repeated = np.tile(np.frombuffer(pattern, np.uint8), nbytes // len(pattern))
            self._memory(address, nbytes).store(repeated)

    def load_code_object(self, data: bytes) -> CodeObject:
        """Loads an executable for this device."""
        code = CodeObject(data)
        if code.architecture != self.architecture:
            raise EmulatorError(
                f"the code object is for {code.architecture}, the device is {self.architecture}"
            )
        return code

    def get_kernel(self, code_object: CodeObject, name: str) -> tuple[CodeObject, Kernel]:
        """Looks up a kernel in a loaded code object and returns its handle."""
        return code_object, code_object.kernel(name)

    def launch(
        self,
        kernel: tuple[CodeObject, Kernel],
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Runs a kernel, which may access memory from each pointer to the end of its allocation."""
        code, function = kernel
        arguments: list[KernelArgument] = []
        for argument in function.metadata.arguments:
            if argument.hidden:
                continue
            field = kernarg[argument.offset : argument.offset + argument.size]
            if len(field) != argument.size:
                raise EmulatorError(
                    f"kernel '{function.name}' takes more arguments than {len(kernarg)} bytes"
                )
            if argument.kind == "global_buffer":
                memory = self._memory(int.from_bytes(field, "little"), 1)
                arguments.append(memory.argument())
            else:
                arguments.append(field)
        counts = launch(
            code,
            function.name,
            grid,
            block,
            arguments,
            dynamic_lds=dynamic_shared_bytes,
            every=self._every.get(len(self.launches), 1),
            order=self._order,
            seed=self._seed,
            check=self.check,
        )
        self.launches.append(counts)

    @property
    def findings(self) -> list[Finding]:
        """The findings of the checks so far."""
        return [finding for counts in self.launches for finding in counts.findings]

    def synchronize(self) -> None:
        """Does nothing: every call has finished when it returns."""

    def close(self) -> None:
        """Frees all memory."""
        self._buffers.clear()

    def _memory(self, address: int, nbytes: int) -> _Allocation:
        for base, one in self._buffers.items():
            if base <= address and address + nbytes <= base + one.content.nbytes:
                return one.behind(address - base)
        raise EmulatorError(f"0x{address:x} with {nbytes} bytes is outside of every allocation")


def open_emulator(architecture: str = ARCHITECTURE) -> EmulatorDevice:
    """Opens the device `emulator:ARCHITECTURE`.

    Raises:
        MissingEmulatorError: the disassembler or the core is missing.
    """
    check_available()
    return EmulatorDevice(architecture)


def check_available() -> None:
    """Checks that this machine has what the emulator needs.

    Raises:
        MissingEmulatorError: the disassembler or the core is missing.
    """
    core()
    disassembler()
