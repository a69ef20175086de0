"""Records what a host program asks of a device, by interpreting it once on a device of no memory.

A host program of static shapes makes the same calls at each run, so that the interpretation need
not be repeated. Each buffer gets a range of addresses of its own, from which a pointer in a
kernel's arguments is traced back to its buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from hipgraft.bindings import ir
from hipgraft.codegen.code_object import KernelInfo
from hipgraft.codegen.objects import read_object
from hipgraft.diagnostics import HipgraftError
from hipgraft.runtime.elements import global_bytes
from hipgraft.runtime.entry import entry_target, find_function
from hipgraft.runtime.host_parameters import parameters_of
from hipgraft.runtime.interpreter import Executor
from hipgraft.runtime.memref import tensor_of
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

if TYPE_CHECKING:
    from typing_extensions import Buffer as HostBuffer

    from hipgraft.runtime.devices import TypedMemory

_BUFFER_SHIFT = 40  # a buffer may have a terabyte
_Kernel: TypeAlias = tuple[int, KernelInfo]


def record(module: ir.Module, architecture: str, directory: str | Path = "") -> Recording:
    """Records a program.

    Args:
        module: stage `host`, or `hipdnn-buffers` for the CPU; the recording refers to its
            constants, so it must not be changed afterwards.
        architecture: of the device that it is to run on.
        directory: of the program's file, from which its parameter file is found.

    Raises:
        HipgraftError: the program is not for this architecture, or an op cannot be executed.
    """
    function = find_function(module, architecture)
    if "hipgraft.results" not in function.attributes:
        raise HipgraftError("the program does not say which of its arguments are results")
    tensors = [tensor_of(argument) for argument in function.regions[0].blocks[0].arguments]
    names, file = parameters_of(module, function, directory)
    results = ir.IntegerAttr(function.attributes["hipgraft.results"]).value
    count = len(tensors) - results - len(names)
    inputs, constants, outputs = (
        tensors[:count],
        tensors[count : count + len(names)],
        tensors[count + len(names) :],
    )
    device = _RecordingDevice(entry_target(function, architecture))
    given = [device.allocate(tensor.nbytes) for tensor in inputs]
    returned = [device.allocate(tensor.nbytes) for tensor in outputs]
    held = [
        device.reserve(Buffer(one.nbytes, name, partial(file.read, name, one.nbytes)))
        for name, one in zip(names, constants, strict=True)
    ]
    _Recorder(module, device).execute([*given, *held, *returned])
    return Recording(
        architecture=device.architecture,
        inputs=tuple(inputs),
        results=tuple(outputs),
        buffers=tuple(device.buffers[count + results :]),
        objects=tuple(device.objects),
        kernels=tuple((index, info.name) for index, info in device.kernels),
        commands=tuple(device.commands),
    )


class _Recorder(Executor):
    """Leaves constants where they are."""

    def __init__(self, module: ir.Module, device: _RecordingDevice):
        self._recording = device
        super().__init__(module, device)

    def global_address(self, name: str, user: ir.Operation) -> int:
        if name not in self.globals:
            read = partial(global_bytes, self.symbol(name, user))
            nbytes = tensor_of(user.results[0]).nbytes
            self.globals[name] = self._recording.reserve(Buffer(nbytes, name, read))
        return self.globals[name]


@dataclass
class _RecordingDevice:
    """A device that only writes down what it is asked."""

    architecture: str
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    objects: list[bytes] = field(default_factory=list[bytes])
    kernels: list[_Kernel] = field(default_factory=list[_Kernel])
    commands: list[Command] = field(default_factory=list[Command])

    def reserve(self, buffer: Buffer) -> int:
        """Returns the address of a buffer; the first is not null."""
        self.buffers.append(buffer)
        return len(self.buffers) << _BUFFER_SHIFT

    def allocate(self, nbytes: int) -> int:
        return self.reserve(Buffer(nbytes))

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


def _pointer(address: int) -> Pointer:
    return Pointer((address >> _BUFFER_SHIFT) - 1, address & ((1 << _BUFFER_SHIFT) - 1))


def _placed(tensors: Sequence[TypedMemory]) -> tuple[tuple[Pointer, Tensor], ...]:
    return tuple((_pointer(t.address), Tensor("", t.shape, t.element_type)) for t in tensors)


def _triple(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = extents
    return x, y, z
