"""Implements a device that checks calls against kernel metadata and allocations, and prints them.

Without another device (`trace:gfx942`), it has host memory and runs nothing: it prints the calls of
a program but computes no results. If it wraps another device (`trace:path/to/file.py:factory`), it
prints and checks each call before that device runs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from hipgraft.codegen.objects.code_object import CodeObject, KernelArgument, KernelInfo
from hipgraft.codegen.objects.formats import read_object
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.devices.host_memory import NullDevice
from hipgraft.runtime.devices.protocols import Device, copy_on_device

if TYPE_CHECKING:
    from typing_extensions import Buffer

# Bytes of LDS that a workgroup can have.
_LDS = 64 * 1024
_LDS_OF = {"gfx950": 160 * 1024}


@dataclass(frozen=True)
class _Kernel:
    handle: Any
    info: KernelInfo


class TraceDevice:
    """Wraps a device, and checks and prints each of its calls.

    Args:
        inner: the device.
        tell: receives a line for each call; writes to standard error by default.

    Raises:
        HipgraftError: a call is invalid; the call does not reach the device.
    """

    def __init__(self, inner: Device, tell: Callable[[str], None] | None = None):
        self.architecture = inner.architecture
        self.executes = getattr(inner, "executes", True)
        self._inner = inner
        self._tell = tell or _write_line
        self._sizes: dict[int, int] = {}
        self._names: dict[int, str] = {}
        self._count = 0

    def allocate(self, nbytes: int) -> int:
        """Allocates, and numbers the memory: traces show this number instead of the address."""
        address = self._inner.allocate(nbytes)
        self._sizes[address], self._names[address] = nbytes, f"#{self._count}"
        self._count += 1
        self._tell(f"allocate {self._names[address]} {nbytes} bytes")
        return address

    def free(self, address: int) -> None:
        """Frees memory, if it was allocated here."""
        if address not in self._sizes:
            raise HipgraftError(f"free of 0x{address:x}, which is no allocation")
        self._tell(f"free {self._names.pop(address)}")
        del self._sizes[address]
        self._inner.free(address)

    def copy_to_device(self, address: int, buffer: Buffer) -> None:
        """Copies, if the target is in bounds."""
        nbytes = memoryview(buffer).nbytes
        self._tell(f"copy_to_device {self._range(address, nbytes)}")
        self._inner.copy_to_device(address, buffer)

    def copy_to_host(self, buffer: Buffer, address: int) -> None:
        """Copies, if the source is in bounds."""
        nbytes = memoryview(buffer).nbytes
        self._tell(f"copy_to_host {self._range(address, nbytes)}")
        self._inner.copy_to_host(buffer, address)

    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies on the device, if both ranges are in bounds."""
        self._tell(f"copy {self._range(target, nbytes)} from {self._range(source, nbytes)}")
        copy_on_device(self._inner, target, source, nbytes)

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        """Fills memory, if it is in bounds and its size is a multiple of the pattern's."""
        if nbytes % len(pattern):
            raise HipgraftError(f"fill of {nbytes} bytes by a pattern of {len(pattern)}")
        self._tell(f"fill {self._range(address, nbytes)} with 0x{pattern[::-1].hex()}")
        self._inner.fill(address, pattern, nbytes)

    def load_code_object(self, data: bytes) -> tuple[Any, CodeObject]:
        """Loads a code object and reads the metadata of its kernels."""
        known = read_object(data)
        self._tell(f"load {len(data)} bytes for {known.architecture}: {', '.join(known.kernels)}")
        return self._inner.load_code_object(data), known

    def get_kernel(self, code_object: tuple[Any, CodeObject], name: str) -> _Kernel:
        """Finds a kernel, if the code object has it."""
        handle, known = code_object
        if name not in known.kernels:
            raise HipgraftError(f"the code object has no kernel '{name}'")
        return _Kernel(self._inner.get_kernel(handle, name), known.kernels[name])

    def launch(
        self,
        kernel: _Kernel,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        """Launches, if the kernel's metadata allows it and its pointers are in bounds."""
        self._check_shape(kernel.info, grid, block, dynamic_shared_bytes)
        arguments = ", ".join(self._arguments(kernel.info, kernarg))
        self._tell(
            f"launch {kernel.info.name} grid {_extents(grid)} block {_extents(block)} "
            f"shared {dynamic_shared_bytes} args({arguments})"
        )
        self._inner.launch(kernel.handle, grid, block, dynamic_shared_bytes, kernarg)

    def synchronize(self) -> None:
        """Waits for all calls to finish."""
        self._inner.synchronize()

    def close(self) -> None:
        """Closes the device and reports memory that was not freed."""
        for address, nbytes in self._sizes.items():
            self._tell(f"leaked {self._names[address]} {nbytes} bytes")
        self._inner.close()

    def _check_shape(
        self, info: KernelInfo, grid: Sequence[int], block: Sequence[int], shared: int
    ) -> None:
        if min(*grid, *block) < 1:
            raise HipgraftError(f"kernel '{info.name}' is launched on an empty grid or block")
        if info.workgroup_size not in (None, tuple(block)):
            raise HipgraftError(
                f"kernel '{info.name}' requires workgroups of {_extents(info.workgroup_size)}, "
                f"found {_extents(block)}"
            )
        if prod(block) > info.max_workgroup_size:
            raise HipgraftError(
                f"kernel '{info.name}' allows {info.max_workgroup_size} work items in a "
                f"workgroup, found {prod(block)}"
            )
        limit = _LDS_OF.get(self.architecture, _LDS)
        if self.architecture.startswith("gfx") and info.lds_size + shared > limit:
            raise HipgraftError(
                f"kernel '{info.name}' needs {info.lds_size + shared} bytes of LDS; "
                f"'{self.architecture}' has {limit}"
            )

    def _arguments(self, info: KernelInfo, kernarg: bytes) -> list[str]:
        if len(kernarg) != info.kernarg_size:
            raise HipgraftError(
                f"kernel '{info.name}' takes {info.kernarg_size} bytes of arguments, "
                f"found {len(kernarg)}"
            )
        return [self._argument(info, one, kernarg) for one in info.arguments]

    def _argument(self, info: KernelInfo, argument: KernelArgument, kernarg: bytes) -> str:
        end = argument.offset + argument.size
        word = int.from_bytes(kernarg[argument.offset : end], "little")
        if argument.kind != "global_buffer":
            return str(word)
        base = self._base(word)
        if base is None:
            raise HipgraftError(
                f"kernel '{info.name}' gets pointer 0x{word:x} at byte {argument.offset} of its "
                "arguments, which is outside every allocation"
            )
        return f"{self._names[base]}+{word - base}"

    def _range(self, address: int, nbytes: int) -> str:
        base = self._base(address)
        if base is None or address + nbytes > base + self._sizes[base]:
            raise HipgraftError(
                f"access of {nbytes} bytes at 0x{address:x} is outside every allocation"
            )
        return f"{self._names[base]}+{address - base} {nbytes} bytes"

    def _base(self, address: int) -> int | None:
        found = (b for b, size in self._sizes.items() if b <= address < b + max(size, 1))
        return next(found, None)


def open_trace(inner: str = "") -> TraceDevice:
    """Opens a tracing device.

    Args:
        inner: an architecture, or the device to trace, named as for `open_device`.

    Raises:
        HipgraftError: neither is given.
    """
    from hipgraft.runtime.devices.registry import open_device

    if not inner:
        raise HipgraftError("expected 'trace:ARCHITECTURE' or 'trace:DEVICE'")
    is_architecture = inner.startswith(("gfx", "sm_")) and ":" not in inner
    return TraceDevice(NullDevice(inner) if is_architecture else open_device(inner))


def _write_line(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _extents(extents: Sequence[int] | None) -> str:
    return "x".join(map(str, extents or ()))
