"""Decodes a code object for the emulated `libamdhip64`, which runs this module as a program.

It writes a file of the structures in `hip/decoded.h`, which loading and launching need.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from elftools.common.exceptions import ELFError  # pyright: ignore[reportMissingTypeStubs]

from hipgraft.codegen.chips import CHIPS
from hipgraft.emulator.code_object import CodeObject, Kernel
from hipgraft.emulator.costs import cost_table
from hipgraft.emulator.errors import EmulatorError, MissingEmulatorError
from hipgraft.emulator.launch_layout import launch_structure
from hipgraft.emulator.native import Instruction, Launch
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.outputs import write_whole

_OTHER_ARCHITECTURE, _UNWRITABLE = 3, 4
_BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
_ENTRY = struct.Struct("<3Q")
_HIDDEN_ZERO = 1
_HIDDEN = (
    "hidden_block_count_x",
    "hidden_block_count_y",
    "hidden_block_count_z",
    "hidden_group_size_x",
    "hidden_group_size_y",
    "hidden_group_size_z",
    "hidden_grid_dims",
    "hidden_dynamic_lds_size",
)
_RDNA = 1000
# Exceptions that reading a damaged ELF file may raise.
_MALFORMED = (
    ELFError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    TypeError,
    ValueError,
    struct.error,
)
_ALIGNMENT = 16

_uint, _uint64 = ctypes.c_uint32, ctypes.c_uint64


class _Header(ctypes.Structure):
    _fields_ = (
        ("magic", ctypes.c_char * 8),
        *[(name, _uint64) for name in ("source", "source_size", "image", "image_size")],
        *[(name, _uint64) for name in ("kernels", "symbols", "segments")],
        *[(name, _uint) for name in ("kernel_count", "symbol_count", "segment_count")],
        ("architecture", _uint),
    )


class _Argument(ctypes.Structure):
    _fields_ = tuple((name, _uint) for name in ("offset", "size", "hidden", "is_pointer"))


class _Kernel(ctypes.Structure):
    _fields_ = (
        *[(name, _uint64) for name in ("name", "error", "instructions", "arguments", "costs")],
        *[(name, _uint) for name in ("instruction_count", "argument_count", "kernarg_size")],
        *[(name, _uint) for name in ("most_items", "vector_registers", "scalar_registers")],
        ("block", _uint * 3),
        ("unused", _uint),
        ("launch", Launch),
    )


class _Symbol(ctypes.Structure):
    _fields_ = tuple((name, _uint64) for name in ("name", "address", "size"))


class _Segment(ctypes.Structure):
    _fields_ = tuple((name, _uint64) for name in ("low", "high", "writable"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Decodes `SOURCE` to `TARGET` for an architecture and returns the exit status.

    Args:
        arguments: source, target and architecture; None takes the process's own.
    """
    source, target, architecture = arguments or sys.argv[1:]
    try:
        data = Path(source).read_bytes()
        chosen = _choose(data, architecture)
        if chosen is None:
            sys.stderr.write(f"error: the code object is not for the emulated {architecture}\n")
            return _OTHER_ARCHITECTURE
        content = decode(data, chosen)
    except (HipgraftError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except _MALFORMED as error:
        sys.stderr.write(f"error: malformed code object: {error}\n")
        return 1
    try:
        write_whole(Path(target), content)
    except OSError:
        return _UNWRITABLE
    return 0


def decode(source: bytes, code: CodeObject) -> bytes:
    """Returns the content of the decoded file.

    Args:
        source: bytes that the program loads: the code object, or a bundle that holds it.
        code: the code object.
    """
    writer = _Writer()
    header = _Header(
        magic=b"HGDECOD2",
        source_size=len(source),
        image_size=len(code.image),
        kernel_count=len(code.kernels),
        symbol_count=len(code.variables),
        segment_count=len(code.segments),
        architecture=code.number,
    )
    header.source, header.image = writer.add(source), writer.add(code.image)
    kernels = [_kernel(writer, code, kernel) for kernel in code.kernels.values()]
    header.kernels = writer.add(b"".join(map(bytes, kernels)))
    symbols = [
        _Symbol(writer.add_text(name), address, size)
        for name, (address, size) in code.variables.items()
    ]
    header.symbols = writer.add(b"".join(map(bytes, symbols)))
    segments = [_Segment(low, high, writable) for low, high, writable in code.segments]
    header.segments = writer.add(b"".join(map(bytes, segments)))
    return writer.content(bytes(header))


def read_decoded(content: bytes, architecture: str) -> CodeObject:
    """Returns the code object from which a file was decoded.

    Args:
        content: content of the decoded file.
        architecture: architecture that it was decoded for.
    """
    header = _Header.from_buffer_copy(content)
    code = _choose(content[header.source :][: header.source_size], architecture)
    if code is None:
        raise EmulatorError(f"expected a code object for {architecture}")
    return code


class _Writer:
    """Collects the content after the header; each addition returns its offset."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = ctypes.sizeof(_Header)

    def add(self, data: bytes) -> int:
        """Appends data and returns its offset."""
        padding = bytes(-self._size % _ALIGNMENT)
        self._parts += [padding, data]
        start = self._size + len(padding)
        self._size = start + len(data)
        return start

    def add_text(self, text: str) -> int:
        """Appends a null-terminated text and returns its offset."""
        return self.add(text.encode() + b"\0")

    def content(self, header: bytes) -> bytes:
        """Returns the header followed by the collected content."""
        return header + b"".join(self._parts)


def _kernel(writer: _Writer, code: CodeObject, kernel: Kernel) -> _Kernel:
    metadata, error = kernel.metadata, ""
    if metadata.wave_size not in (32, 64):
        raise EmulatorError(f"kernel '{kernel.name}' has waves of {metadata.wave_size} lanes")
    if any(one.offset + one.size > metadata.kernarg_size for one in metadata.arguments):
        raise EmulatorError(f"kernel '{kernel.name}' has arguments outside of their segment")
    try:
        launch, instructions = launch_structure(code, kernel), kernel.instructions
    except MissingEmulatorError:
        raise  # a fault of this machine, not of the kernel: must not be cached
    except EmulatorError as found:
        # Other kernels of the code object may run.
        launch, instructions, error = Launch(), (Instruction * 0)(), found.message
        launch.wave_size = metadata.wave_size
    launch.lds_bytes = metadata.lds_bytes
    launch.image = 0
    arguments = [
        _Argument(
            one.offset,
            one.size,
            _hidden_number(one.kind) if one.hidden else 0,
            one.kind == "global_buffer",
        )
        for one in metadata.arguments
    ]
    # The descriptor counts registers in granules of this size.
    granule = 4 if code.number >= _RDNA and metadata.wave_size == 64 else 8
    return _Kernel(
        name=writer.add_text(kernel.name),
        error=writer.add_text(error),
        instructions=writer.add(bytes(instructions)),
        arguments=writer.add(b"".join(map(bytes, arguments))),
        costs=_add_costs(writer, code, kernel) if instructions else 0,
        instruction_count=len(instructions),
        argument_count=len(arguments),
        kernarg_size=metadata.kernarg_size,
        most_items=metadata.most_items,
        vector_registers=((kernel.descriptor.resources[0] & 63) + 1) * granule,
        scalar_registers=metadata.scalar_registers,
        block=(_uint * 3)(*(metadata.required_block or (0, 0, 0))),
        launch=launch,
    )


def _add_costs(writer: _Writer, code: CodeObject, kernel: Kernel) -> int:
    """Appends the costs of a kernel's instructions; returns 0 if times are not estimated."""
    chip = CHIPS.get(code.architecture)
    costs = cost_table(kernel, chip) if chip else ()
    return writer.add(bytes(costs)) if len(costs) == len(kernel.instructions) else 0


def _hidden_number(kind: str) -> int:
    return 2 + _HIDDEN.index(kind) if kind in _HIDDEN else _HIDDEN_ZERO


def _choose(data: bytes, architecture: str) -> CodeObject | None:
    """Returns the code object for an architecture: the file itself, or an entry of a bundle."""
    for part in _parts(data):
        code = CodeObject(part)
        if code.architecture == architecture:
            return code
    return None


def _parts(data: bytes) -> list[bytes]:
    if not data.startswith(_BUNDLE):
        return [data]
    parts: list[bytes] = []
    place = len(_BUNDLE)
    (count,) = struct.unpack_from("<Q", data, place)
    place += 8
    for _ in range(count):
        start, size, length = _ENTRY.unpack_from(data, place)
        name = data[place + _ENTRY.size :][:length]
        place += _ENTRY.size + length
        if size and not name.startswith(b"host"):
            parts.append(data[start : start + size])
    return parts


if __name__ == "__main__":
    sys.exit(main())
