"""Lays out the arguments, descriptors and regions of a launch in memory for the core."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hipgraft.emulator.code_object import Argument, CodeObject, Kernel
from hipgraft.emulator.errors import EmulatorError
from hipgraft.emulator.native import Launch, Region


@dataclass(frozen=True)
class TrackedArray:
    """Device memory that tracks which of its bytes were stored to.

    Attributes:
        content: bytes of the memory.
        defined: for each byte, 1 if it was stored to, else 0; kernels update it.
    """

    content: np.ndarray[Any, Any]
    defined: np.ndarray[Any, Any]


KernelArgument = TrackedArray | np.ndarray[Any, Any] | np.generic | bytes | int
"""A kernel argument: an array for a pointer, bytes or a number for a value."""

# Limit for one wave; waves of the longest kernels in the tests execute about 10^7 instructions.
_MOST_INSTRUCTIONS = 2_000_000_000
# Readable bytes after the kernel argument segment: loads may be wider than the last argument.
_SLACK = 256
_PRELOAD_PROLOGUE = 256  # bytes of code that load arguments on older firmware
_GFX12 = 1200


@dataclass(frozen=True)
class Prepared:
    """A launch in the form that the core reads.

    Attributes:
        kernel: the kernel.
        structure: the core's structure of the launch.
        regions: memory regions that the kernel may access.
        owned: objects that must live as long as the launch.
    """

    kernel: Kernel
    structure: Launch
    regions: Sequence[Region]
    owned: tuple[Any, ...]

    @property
    def table(self) -> ctypes.Array[Region]:
        """The regions as an array for the core."""
        return (Region * len(self.regions))(*self.regions)


def prepare(
    code: CodeObject,
    name: str,
    grid: Sequence[int],
    block: Sequence[int] | None,
    arguments: Iterable[KernelArgument],
    dynamic_lds: int = 0,
    preload: bool = True,
    read_only: bool = True,
) -> Prepared:
    """Lays a launch out in memory; see `launch`."""
    kernel = code.kernel(name)
    grid3, block3 = _three(grid), _block(kernel, block)
    lds = kernel.metadata.lds_bytes + dynamic_lds
    segment = _Segment(kernel, _hidden_values(grid3, block3, dynamic_lds), read_only)
    segment.add(arguments)
    packet = _dispatch_packet(kernel, grid3, block3, lds, segment.address)
    regions = [
        *segment.regions(),
        Region(code.base, code.base + code.size, 0, 0),
        Region(packet.ctypes.data, packet.ctypes.data + packet.nbytes, 0, 0),
    ]
    structure = launch_structure(code, kernel, preload)
    structure.grid[:], structure.block[:] = grid3, block3
    structure.lds_bytes = lds
    structure.kernel_arguments, structure.dispatch_packet = segment.address, packet.ctypes.data
    return Prepared(kernel, structure, regions, (segment, packet))


def _three(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*extents, 1, 1)[:3]
    if len(extents) > 3 or min(x, y, z) < 1:
        raise EmulatorError(f"expected up to three positive extents, found {tuple(extents)}")
    return x, y, z


def _block(kernel: Kernel, block: Sequence[int] | None) -> tuple[int, int, int]:
    required = kernel.metadata.required_block
    if block is None:
        if required is None:
            raise EmulatorError(f"kernel '{kernel.name}' requires no size of workgroups: give one")
        return required
    if required not in (None, _three(block)):
        raise EmulatorError(f"kernel '{kernel.name}' requires workgroups of {required}")
    return _three(block)


def _hidden_values(
    grid: tuple[int, int, int], block: tuple[int, int, int], dynamic_lds: int
) -> dict[str, int]:
    values = {"hidden_dynamic_lds_size": dynamic_lds}
    for letter, groups, items in zip("xyz", grid, block, strict=True):
        values[f"hidden_block_count_{letter}"] = groups
        values[f"hidden_group_size_{letter}"] = items
    values["hidden_grid_dims"] = 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1
    return values


@dataclass(frozen=True)
class _Range:
    """The memory that a pointer gives access to; `defined` is the address of byte flags, or 0."""

    low: int
    high: int
    writes: bool
    defined: int


class _Segment:
    """The kernel argument segment, and the memory that its pointers allow access to."""

    def __init__(self, kernel: Kernel, hidden: dict[str, int], read_only: bool):
        self._kernel = kernel
        self._read_only = read_only
        self._bytes = np.zeros(kernel.metadata.kernarg_size + _SLACK, np.uint8)
        self._ranges: list[_Range] = []
        for argument in kernel.metadata.arguments:
            if argument.hidden:
                value = hidden.get(argument.kind, 0)
                self._put(argument, value.to_bytes(argument.size, "little"))

    @property
    def address(self) -> int:
        return int(self._bytes.ctypes.data)

    def add(self, values: Iterable[KernelArgument]) -> None:
        explicit = [each for each in self._kernel.metadata.arguments if not each.hidden]
        given = list(values)
        if len(given) != len(explicit):
            raise EmulatorError(
                f"kernel '{self._kernel.name}' takes {len(explicit)} arguments, found {len(given)}"
            )
        for argument, value in zip(explicit, given, strict=True):
            if isinstance(value, TrackedArray):
                self._put_array(argument, value.content, int(value.defined.ctypes.data))
            elif isinstance(value, np.ndarray):
                self._put_array(argument, value)
            elif isinstance(value, (bytes, np.generic)):
                self._put(argument, value if isinstance(value, bytes) else value.tobytes())
            else:
                mask = (1 << 8 * argument.size) - 1
                self._put(argument, (int(value) & mask).to_bytes(argument.size, "little"))

    def regions(self) -> list[Region]:
        # An array that is passed twice is writable if either pointer may be stored through.
        writable = [one for one in self._ranges if one.writes]
        found: list[Region] = []
        for one in self._ranges:
            within = any(other.low <= one.low and one.high <= other.high for other in writable)
            found.append(Region(one.low, one.high, int(one.writes or within), 0, one.defined))
        return [*found, Region(self.address, self.address + self._bytes.nbytes, 0, 0)]

    def _put_array(self, argument: Argument, array: np.ndarray[Any, Any], defined: int = 0) -> None:
        if argument.kind != "global_buffer":
            raise EmulatorError(f"kernel '{self._kernel.name}': an array for a value")
        if not array.flags.c_contiguous:
            raise EmulatorError(f"kernel '{self._kernel.name}': an array with gaps")
        address = int(array.ctypes.data)
        self._put(argument, struct.pack("<Q", address))
        reads = self._read_only and argument.access == "read_only"
        writes = bool(array.flags.writeable) and not reads
        self._ranges.append(_Range(address, address + array.nbytes, writes, defined))

    def _put(self, argument: Argument, data: bytes) -> None:
        if len(data) != argument.size:
            raise EmulatorError(
                f"kernel '{self._kernel.name}': expected an argument of {argument.size} bytes, "
                f"found {len(data)}"
            )
        self._bytes[argument.offset :][: len(data)] = np.frombuffer(data, np.uint8)


def _dispatch_packet(
    kernel: Kernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    lds: int,
    segment: int,
) -> np.ndarray[Any, Any]:
    items = [groups * size for groups, size in zip(grid, block, strict=True)]
    scratch = kernel.metadata.scratch_bytes
    packed = struct.pack("<6H5I4Q", 0, 3, *block, 0, *items, scratch, lds, 0, segment, 0, 0)
    return np.frombuffer(packed, np.uint8)


def launch_structure(code: CodeObject, kernel: Kernel, preload: bool = True) -> Launch:
    """Returns the fields that all launches of a kernel share.

    Raises:
        EmulatorError: the kernel needs a feature that the emulator lacks.
    """
    if kernel.metadata.uses_dynamic_stack:
        raise EmulatorError(f"kernel '{kernel.name}' has a dynamic stack, which is unsupported")
    descriptor = kernel.descriptor
    resource1, resource2 = descriptor.resources
    # FLOAT_MODE: rounding modes from bit 12, denormals of 16- and 64-bit floats from bit 18.
    if resource1 >> 12 & 15 or resource1 >> 18 & 3 != 3:
        raise EmulatorError(f"kernel '{kernel.name}' starts in an unsupported mode of floats")
    preloads = preload and descriptor.preload_length > 0
    entry = descriptor.entry + (_PRELOAD_PROLOGUE if preloads else 0)
    first = kernel.index_of(entry)
    if first < 0:
        raise EmulatorError(f"kernel '{kernel.name}' has no instruction at its entry")
    return Launch(
        entry=entry,
        scratch_bytes=kernel.metadata.scratch_bytes,
        rsrc1=resource1,
        rsrc2=resource2,
        properties=descriptor.properties,
        user_registers=resource2 >> 1 & 31,
        preload_length=descriptor.preload_length if preloads else 0,
        preload_offset=descriptor.preload_offset,
        wave_size=kernel.metadata.wave_size,
        most_instructions=_MOST_INSTRUCTIONS,
        first=first,
        ids_in_trap_registers=int(code.number >= _GFX12),
        image=code.base,
    )
