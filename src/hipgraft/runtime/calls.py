"""The calls of a recorded program, prepared once for given addresses and made many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hipgraft.runtime.devices.protocols import (
    CapturingDevice,
    PreparingDevice,
    TypedMemory,
    copy_on_device,
)
from hipgraft.runtime.recording import Call, Command, Copy, Fill, Launch, Pointer, Tensor

_REMEMBERED = 16  # sets of addresses whose calls are kept


@dataclass
class _Prepared:
    """The calls of a run on one set of addresses."""

    calls: list[Callable[[], None]]
    runs: int = 0
    graph: Any = None


class PreparedCalls:
    """Makes a program's calls; prepares repeated ones, and replays them if the device has graphs.

    Args:
        commands: the calls.
        device: the device.
        modules: the device's handles of the program's objects.
        kernels: the device's handles of its kernels.
        replay: whether to capture a graph when a program runs on the same memory again.
    """

    def __init__(
        self,
        commands: Sequence[Command],
        device: Any,
        modules: Sequence[Any],
        kernels: Sequence[Any],
        *,
        replay: bool,
    ):
        self._commands = commands
        self._device = device
        self._modules = modules
        self._kernels = kernels
        self._replay = replay and isinstance(device, CapturingDevice)
        self._prepared: dict[tuple[int, ...], _Prepared] = {}

    def run(self, addresses: tuple[int, ...]) -> None:
        """Starts a run on the buffers at `addresses`."""
        prepared = self._prepared_for(addresses)
        prepared.runs += 1
        if prepared.graph is None and self._replay and prepared.runs > 1:
            prepared.graph = capture(self._device, prepared.calls)
        if prepared.graph is not None:
            self._device.replay(prepared.graph)
            return
        for call in prepared.calls:
            call()

    def prepared(self, addresses: tuple[int, ...]) -> Sequence[Callable[[], None]]:
        """Returns a function for each call of a run on the buffers at `addresses`, in order."""
        return self._prepared_for(addresses).calls

    def clear(self) -> None:
        """Frees the prepared calls and graphs."""
        while self._prepared:
            _, prepared = self._prepared.popitem()
            if prepared.graph is not None:
                self._device.free_graph(prepared.graph)

    def _prepared_for(self, addresses: tuple[int, ...]) -> _Prepared:
        if addresses not in self._prepared:
            if len(self._prepared) == _REMEMBERED:
                self.clear()
            calls = [self._prepare(command, addresses) for command in self._commands]
            self._prepared[addresses] = _Prepared(calls)
        return self._prepared[addresses]

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
        arguments = (
            self._kernels[launch.kernel],
            launch.grid,
            launch.block,
            launch.shared_bytes,
            bytes(segment),
        )
        if isinstance(self._device, PreparingDevice):
            return self._device.prepare_launch(*arguments)
        return partial(self._device.launch, *arguments)


def capture(device: CapturingDevice, calls: Sequence[Callable[[], None]]) -> Any:
    """Makes calls while a device captures, and returns their graph."""
    device.begin_capture()
    try:
        for call in calls:
            call()
    except BaseException:
        device.free_graph(device.end_capture())
        raise
    return device.end_capture()


def _at(pointer: Pointer, addresses: Sequence[int]) -> int:
    return addresses[pointer.buffer] + pointer.offset


def _typed(pointer: Pointer, tensor: Tensor, addresses: Sequence[int]) -> TypedMemory:
    return TypedMemory(_at(pointer, addresses), tensor.shape, tensor.element_type)
