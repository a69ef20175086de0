"""Prepares and repeats the calls of a recorded program on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hipgraft.runtime.devices.protocols import (
    CallSequence,
    HostArrays,
    SequencingDevice,
    TypedMemory,
    copy_on_device,
)
from hipgraft.runtime.recording import Call, Command, Copy, Fill, Launch, Pointer, Recording, Tensor

_REMEMBERED = 16  # number of sets of addresses whose prepared calls are kept


def make_sequence(
    recording: Recording,
    device: Any,
    modules: Sequence[Any],
    kernels: Sequence[Any],
    *,
    replay: bool,
) -> CallSequence:
    """Returns the call sequence of a recording.

    Args:
        recording: the program.
        device: the device.
        modules: device handles of the program's objects.
        kernels: device handles of its kernels.
        replay: whether to capture a graph when a program runs on the same memory again, if the
            device can.
    """
    if isinstance(device, SequencingDevice):
        return device.sequence(recording, kernels, replay=replay)
    return PreparedCalls(recording, device, modules, kernels)


class PreparedCalls:
    """Makes a program's calls one by one, and reuses prepared calls for the same memory."""

    def __init__(
        self, recording: Recording, device: Any, modules: Sequence[Any], kernels: Sequence[Any]
    ):
        self._recording = recording
        self._device = device
        self._modules = modules
        self._kernels = kernels
        self._prepared: dict[tuple[int, ...], list[Callable[[], None]]] = {}

    def run(self, addresses: Sequence[int], arrays: HostArrays = ()) -> None:
        """Starts a run; given host `arrays`, copies inputs and results, and waits for the end."""
        inputs = len(self._recording.inputs)
        for address, array in zip(addresses, arrays[:inputs], strict=False):
            if array is not None:
                self._device.copy_to_device(address, _bytes(array))
        for call in self.prepared(addresses):
            call()
        for address, array in zip(addresses[inputs:], arrays[inputs:], strict=False):
            if array is not None:
                self._device.copy_to_host(_bytes(array), address)
        if arrays:
            self._device.synchronize()

    def prepared(self, addresses: Sequence[int]) -> list[Callable[[], None]]:
        """Returns a function for each call of a run, in order."""
        key = tuple(addresses)
        if key not in self._prepared:
            if len(self._prepared) == _REMEMBERED:
                self.close()
            self._prepared[key] = [self._prepare(one, key) for one in self._recording.commands]
        return self._prepared[key]

    def close(self) -> None:
        """Forgets the prepared calls."""
        self._prepared.clear()

    def _prepare(self, command: Command, addresses: Sequence[int]) -> Callable[[], None]:
        device = self._device
        match command:
            case Launch():
                return self._prepare_launch(command, addresses)
            case Fill():
                target = _at(command.target, addresses)
                return partial(device.fill, target, command.pattern, command.nbytes)
            case Copy():
                target, source = _at(command.target, addresses), _at(command.source, addresses)
                return partial(copy_on_device, device, target, source, command.nbytes)
            case Call():
                inputs = [_typed(*one, addresses) for one in command.inputs]
                outputs = [_typed(*one, addresses) for one in command.outputs]
                return partial(device.call, self._modules[command.module], inputs, outputs)

    def _prepare_launch(self, launch: Launch, addresses: Sequence[int]) -> Callable[[], None]:
        segment = bytearray(launch.kernarg)
        for offset, pointer in launch.pointers:
            segment[offset : offset + 8] = _at(pointer, addresses).to_bytes(8, "little")
        return partial(
            self._device.launch,
            self._kernels[launch.kernel],
            launch.grid,
            launch.block,
            launch.shared_bytes,
            bytes(segment),
        )


def _at(pointer: Pointer, addresses: Sequence[int]) -> int:
    return addresses[pointer.buffer] + pointer.offset


def _typed(pointer: Pointer, tensor: Tensor, addresses: Sequence[int]) -> TypedMemory:
    return TypedMemory(_at(pointer, addresses), tensor.shape, tensor.element_type)


def _bytes(array: Any) -> memoryview:
    return array.reshape(-1).view("u1").data
