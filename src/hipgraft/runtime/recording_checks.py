"""Checks that an untrusted recording only passes addresses of its own memory to calls.

The checks do not cover how a kernel's code uses these addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from hipgraft.codegen.objects.code_object import CodeObject, KernelInfo
from hipgraft.codegen.objects.formats import read_object
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.dtypes import numpy_dtype
from hipgraft.runtime.recording import Call, Command, Copy, Fill, Launch, Pointer, Recording, Tensor

MOST_BYTES = 1 << 48
"""The size of the largest address space of all targets, in bytes."""

_POINTER_BYTES = 8
_MOST_RANK = 64  # NumPy's
_PATTERNS = (1, 2, 4, 8, 16)
_GRID_X = (1 << 31) - 1
_CUDA_GRID_YZ = 65535
_AMD_ITEMS = 1 << 32  # work items in a dimension
_MOST_BLOCK = 1024
_MOST_SHARED = 1 << 20


def check_recordings(recordings: Sequence[Recording]) -> None:
    """Checks the variants of a program.

    Raises:
        HipgraftError: a call exceeds a buffer or a limit of the architecture.
    """
    infos: list[KernelInfo | None] | None = None
    for recording in recordings:
        if infos is None or recording.kernels is not recordings[0].kernels:
            infos = _kernels(recording)
        _Checker(recording, infos).check()
    if len({(len(one.inputs), len(one.results)) for one in recordings}) > 1:
        raise HipgraftError("variants of the program have different numbers of inputs or results")


def _kernels(recording: Recording) -> list[KernelInfo | None]:
    """Returns the metadata of each kernel in the code objects; CPU modules have none."""
    if recording.architecture == "cpu":
        return [None] * len(recording.kernels)
    found: list[KernelInfo | None] = []
    parsed: dict[int, CodeObject] = {}
    for number, name in recording.kernels:
        _check_index(number, recording.objects, "code object")
        if number not in parsed:
            parsed[number] = read_object(recording.objects[number])
        if name not in parsed[number].kernels:
            raise HipgraftError(f"code object {number} has no kernel '{name}'")
        found.append(parsed[number].kernels[name])
    return found


class _Checker:
    """Checks the calls of one recording against its memory."""

    def __init__(self, recording: Recording, kernels: Sequence[KernelInfo | None]):
        self._recording = recording
        self._kernels = kernels
        tensors = (*recording.inputs, *recording.results)
        self._sizes = [_size(tensor) for tensor in tensors]
        self._sizes += [buffer.nbytes for buffer in recording.buffers]

    def check(self) -> None:
        for number, size in enumerate(self._sizes):
            if not 0 <= size <= MOST_BYTES:
                raise HipgraftError(f"buffer {number} has {size} bytes")
        for command in self._recording.commands:
            self._check(command)
        results = self._recording.results
        for result, axis, count in self._recording.row_counts:
            _check_index(result, results, "result")
            _check_index(axis, results[result].shape, "dimension")
            _check_index(count, results, "result")
            if results[count].shape or not results[count].element_type.endswith("i64"):
                raise HipgraftError(f"result {count} is no number of rows")

    def _check(self, command: Command) -> None:
        match command:
            case Launch():
                self._check_launch(command)
            case Fill():
                length = len(command.pattern)
                if length not in _PATTERNS or command.nbytes % length:
                    raise HipgraftError(f"a pattern of {length} bytes fills {command.nbytes}")
                self._check_range(command.target, command.nbytes)
            case Copy():
                self._check_range(command.target, command.nbytes)
                self._check_range(command.source, command.nbytes)
            case Call():
                _check_index(command.module, self._recording.objects, "module")
                for pointer, tensor in command.inputs:
                    # The device pads a last row that ends after the memory: check the start only.
                    _size(tensor)
                    self._check_range(pointer, 0)
                for pointer, tensor in command.outputs:
                    self._check_range(pointer, _size(tensor))

    def _check_range(self, pointer: Pointer, nbytes: int) -> None:
        _check_index(pointer.buffer, self._sizes, "buffer")
        size = self._sizes[pointer.buffer]
        if pointer.offset < 0 or nbytes < 0 or pointer.offset + nbytes > size:
            raise HipgraftError(
                f"a call takes {nbytes} bytes from {pointer.offset} of buffer {pointer.buffer}, "
                f"which has {size}"
            )

    def _check_launch(self, launch: Launch) -> None:
        _check_index(launch.kernel, self._recording.kernels, "kernel")
        _check_grid(launch, self._recording.architecture)
        for offset, pointer in launch.pointers:
            if not 0 <= offset <= len(launch.kernarg) - _POINTER_BYTES:
                raise HipgraftError(f"a pointer at {offset} of {len(launch.kernarg)} bytes")
            self._check_range(pointer, 0)
        info = self._kernels[launch.kernel]
        if info is None:
            raise HipgraftError("the CPU runs no kernels")
        _check_kernel(launch, info)


def _check_kernel(launch: Launch, info: KernelInfo) -> None:
    needed = max((each.offset + each.size for each in info.arguments), default=0)
    if len(launch.kernarg) < needed:
        raise HipgraftError(
            f"kernel '{info.name}' takes {needed} bytes of arguments, not {len(launch.kernarg)}"
        )
    if prod(launch.block) > info.max_workgroup_size:
        raise HipgraftError(
            f"kernel '{info.name}' allows {info.max_workgroup_size} work items in a workgroup, "
            f"not {prod(launch.block)}"
        )


def _check_grid(launch: Launch, architecture: str) -> None:
    x, *yz = launch.grid
    fits = 0 <= x <= _GRID_X and all(0 <= extent <= _GRID_X for extent in yz)
    if architecture.startswith("sm_"):
        fits = fits and max(yz) <= _CUDA_GRID_YZ
    else:
        pairs = zip(launch.grid, launch.block, strict=True)
        fits = fits and all(groups * items < _AMD_ITEMS for groups, items in pairs)
    fits = fits and min(launch.block) > 0 and prod(launch.block) <= _MOST_BLOCK
    if not fits or not 0 <= launch.shared_bytes <= _MOST_SHARED:
        raise HipgraftError(
            f"no device launches {list(launch.grid)} workgroups of {list(launch.block)} with "
            f"{launch.shared_bytes} bytes of shared memory"
        )


def _check_index(index: int, values: Sequence[object], what: str) -> None:
    if not 0 <= index < len(values):
        raise HipgraftError(f"there is no {what} {index}")


def _size(tensor: Tensor) -> int:
    """Returns the bytes that a tensor spans, computed without overflow."""
    numbers = (*tensor.shape, *tensor.dense_strides, tensor.offset)
    ranks = {len(tensor.shape), len(tensor.dense_strides)}
    if len(ranks) > 1 or len(tensor.shape) > _MOST_RANK or min(numbers) < 0:
        raise HipgraftError(f"a tensor has shape {list(tensor.shape)} and {tensor.strides}")
    numpy_dtype(tensor.element_type)
    size = tensor.nbytes
    if size > MOST_BYTES:
        raise HipgraftError(f"a tensor takes {size} bytes")
    return size
