"""Records a host program's device calls by interpreting it once on a device without memory.

A host program with static shapes makes the same calls in each run, so one interpretation suffices.
Each buffer gets its own range of addresses, so that a pointer in a kernel's arguments identifies
its buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hipgraft.codegen.objects.code_object import KernelInfo
from hipgraft.codegen.objects.formats import read_object
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import (
    entry_target,
    find_function,
    find_functions,
    noted_row_counts,
    variant_name,
)
from hipgraft.ir.resources import global_reader
from hipgraft.runtime.host_program.dynamic import (
    Shape,
    as_noted,
    input_tensors,
    inputs_of,
    is_dynamic,
    tensors_of,
)
from hipgraft.runtime.host_program.form import constants_of
from hipgraft.runtime.host_program.interpreter import Executor
from hipgraft.runtime.host_program.memref import tensor_of
from hipgraft.runtime.host_program.parameters import parameters_of
from hipgraft.runtime.recording import (
    Buffer,
    Call,
    Command,
    Copy,
    Fill,
    Launch,
    Pointer,
    Recording,
    Tensor,
)
from hipgraft.runtime.recording_checks import check_recordings
from hipgraft.runtime.session import Session

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostBuffer

    from hipgraft.runtime.devices.registry import Device, TypedMemory

_BUFFER_SHIFT = 48  # address bits of the targets: `recording_checks.MOST_BYTES`
_Kernel: TypeAlias = tuple[int, KernelInfo]


def record(module: ir.Module, architecture: str, directory: str | Path = "") -> Recording:
    """Records a program that has one variant; see `record_variants`."""
    find_function(module, architecture)
    return record_variants(module, architecture, directory)[0]


def record_variants(
    module: ir.Module,
    architecture: str,
    directory: str | Path = "",
    shapes: Sequence[Shape] | None = None,
) -> tuple[Recording, ...]:
    """Records each variant of a program.

    Args:
        module: stage `host`, or `hipdnn-buffers` for the CPU; the recordings refer to its
            constants, so it must not be changed afterwards.
        architecture: architecture of the device that will run the program.
        directory: folder of the program's file and of its parameter file.
        shapes: shapes of the inputs, for a program with dynamic shapes.

    Raises:
        HipgraftError: the program is not for this architecture, an op cannot be executed, touches
            memory that is not the program's, or shapes are dynamic and none are given.
    """
    functions = find_functions(module, architecture)
    boundary = len(functions[0].regions[0].blocks[0].arguments) - len(constants_of(functions[0]))
    device = _RecordingDevice(entry_target(functions[0], architecture), boundary)
    recorder = _Recorder(module, device, Path(directory))
    if shapes is None and any(map(is_dynamic, functions)):
        raise HipgraftError(
            "the program has dynamic shapes, so that its calls depend on its inputs; "
            "compile the model for given extents by --specialize"
        )
    recordings = [recorder.record(function, shapes or ()) for function in functions]
    programs = tuple(
        replace(
            recording,
            buffers=tuple(device.buffers),
            objects=tuple(device.objects),
            kernels=tuple((index, info.name) for index, info in device.kernels),
        )
        for recording in recordings
    )
    check_recordings(programs)
    return programs


def open_session(module: ir.Module, device: Device, directory: str | Path = "") -> Session:
    """Loads a program on a device; dynamic shapes are recorded when a run first has them.

    Args:
        module: see `record_variants`.
        device: device to run it on.
        directory: see `record_variants`.

    Raises:
        HipgraftError: the program is not for the device, or does not fit on it.
    """
    architecture = device.architecture
    if not any(map(is_dynamic, find_functions(module, architecture))):
        return Session(record_variants(module, architecture, directory), device)

    def record_for(shapes: Sequence[Shape]) -> Recording:
        return record_variants(module, architecture, directory, shapes)[0]

    (tensors,) = input_tensors(module, architecture).values()
    return Session((), device, record=record_for, names=[one.name for one in tensors])


class _Recorder(Executor):
    """An interpreter that does not upload constants."""

    def __init__(self, module: ir.Module, device: _RecordingDevice, directory: Path):
        self._recording = device
        self._module = module
        self._directory = directory
        super().__init__(module, device)

    def record(self, function: ir.Operation, shapes: Sequence[Shape]) -> Recording:
        """Records the calls of one function; the caller adds the program's memory and code."""
        names, file = parameters_of(self._module, function, self._directory)
        tensors = tensors_of(function, shapes)
        count = len(inputs_of(function))
        noted = as_noted(function, [*tensors[:count], *tensors[count + len(names) :]])
        inputs, outputs = noted[:count], noted[count:]
        held = [
            self._constant(Buffer(one.nbytes, name, partial(file.read, name, one.nbytes)))
            for name, one in zip(names, tensors[count:], strict=False)
        ]
        boundary = self._recording.begin()
        self.execute(function, tensors, [*boundary[:count], *held, *boundary[count:]])
        return Recording(
            architecture=self._recording.architecture,
            inputs=tuple(inputs),
            results=tuple(outputs),
            buffers=(),
            objects=(),
            kernels=(),
            commands=tuple(self._recording.commands),
            variant=variant_name(function),
            row_counts=noted_row_counts(function),
        )

    def global_address(self, name: str, user: ir.Operation) -> int:
        read = global_reader(self.symbol(name, user), self._module)
        nbytes = tensor_of(user.results[0]).nbytes
        return self._constant(Buffer(nbytes, name, read))

    def _constant(self, buffer: Buffer) -> int:
        if buffer.name not in self.globals:
            self.globals[buffer.name] = self._recording.reserve(buffer)
        return self.globals[buffer.name]


@dataclass
class _RecordingDevice:
    """A device that records its calls and does nothing else."""

    architecture: str
    boundary: int
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    objects: list[bytes] = field(default_factory=list[bytes])
    kernels: list[_Kernel] = field(default_factory=list[_Kernel])
    commands: list[Command] = field(default_factory=list[Command])
    scratch: list[int] = field(default_factory=list[int])
    allocated: int = 0

    def begin(self) -> list[int]:
        """Starts to record a function and returns the addresses of its inputs and results.

        Functions share scratch memory, because only one of them runs at a time.
        """
        self.commands = []
        self.allocated = 0
        return [_address(number) for number in range(self.boundary)]

    def reserve(self, buffer: Buffer) -> int:
        """Returns the address of a buffer that the program owns."""
        self.buffers.append(buffer)
        return _address(self.boundary + len(self.buffers) - 1)

    def allocate(self, nbytes: int) -> int:
        if self.allocated == len(self.scratch):
            self.scratch.append(len(self.buffers))
            self.reserve(Buffer(0))
        number = self.scratch[self.allocated]
        self.allocated += 1
        self.buffers[number] = Buffer(max(nbytes, self.buffers[number].nbytes))
        return _address(self.boundary + number)

    def free(self, address: int) -> None:
        pass

    def copy_to_device(self, address: int, buffer: HostBuffer) -> None:
        raise NotImplementedError("a recorded program copies within the device only")

    def copy_to_host(self, buffer: HostBuffer, address: int) -> None:
        raise NotImplementedError("a recorded program copies within the device only")

    def fill(self, address: int, pattern: bytes, nbytes: int) -> None:
        self.commands.append(Fill(_pointer(address), pattern, nbytes))

    def copy(self, target: int, source: int, nbytes: int) -> None:
        self.commands.append(Copy(_pointer(target), _pointer(source), nbytes))

    def load_code_object(self, data: bytes) -> int:
        if data not in self.objects:
            self.objects.append(data)
        return self.objects.index(data)

    def get_kernel(self, code_object: int, name: str) -> _Kernel:
        found = next((kernel for kernel in self.kernels if _is(kernel, code_object, name)), None)
        if found is None:
            found = (code_object, read_object(self.objects[code_object]).kernels[name])
            self.kernels.append(found)
        return found

    def launch(
        self,
        kernel: _Kernel,
        grid: Sequence[int],
        block: Sequence[int],
        dynamic_shared_bytes: int,
        kernarg: bytes,
    ) -> None:
        segment = bytearray(kernarg)
        pointers: list[tuple[int, Pointer]] = []
        for argument in kernel[1].arguments:
            if argument.kind == "global_buffer":
                end = argument.offset + argument.size
                address = int.from_bytes(kernarg[argument.offset : end], "little")
                pointers.append((argument.offset, _pointer(address)))
                segment[argument.offset : end] = bytes(argument.size)
        self.commands.append(
            Launch(
                self.kernels.index(kernel),
                _triple(grid),
                _triple(block),
                dynamic_shared_bytes,
                bytes(segment),
                tuple(pointers),
            )
        )

    def load_module(self, data: bytes) -> int:
        return self.load_code_object(data)

    def call(
        self, module: int, inputs: Sequence[TypedMemory], outputs: Sequence[TypedMemory]
    ) -> None:
        self.commands.append(Call(module, _placed(inputs), _placed(outputs)))

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        pass


def _is(kernel: _Kernel, code_object: int, name: str) -> bool:
    return kernel[0] == code_object and kernel[1].name == name


def _address(number: int) -> int:
    """Returns the address of a buffer, which is never null."""
    return (number + 1) << _BUFFER_SHIFT


def _pointer(address: int) -> Pointer:
    return Pointer((address >> _BUFFER_SHIFT) - 1, address & ((1 << _BUFFER_SHIFT) - 1))


def _placed(tensors: Sequence[TypedMemory]) -> tuple[tuple[Pointer, Tensor], ...]:
    return tuple((_pointer(t.address), Tensor("", t.shape, t.element_type)) for t in tensors)


def _triple(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = extents
    return x, y, z
