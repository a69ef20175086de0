"""Loads recorded programs on a device (constants, memory and kernels) and runs them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, TypeAlias, cast

from hipgraft.ir.architectures import fitting
from hipgraft.ir.closing import Closing
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.selection import select
from hipgraft.runtime import boundary
from hipgraft.runtime.blocks import Blocks
from hipgraft.runtime.boundary import Array, DeviceArray
from hipgraft.runtime.calls import make_sequence
from hipgraft.runtime.devices.protocols import CallSequence, Device, GraphDevice, unload
from hipgraft.runtime.profiling import Profile, profile_calls
from hipgraft.runtime.recording import Recording, Tensor
from hipgraft.runtime.timing import Timing


class DLPackArray(Protocol):
    """An array of any library that supports DLPack."""

    def __dlpack__(self) -> Any:
        """Returns the array's capsule."""
        ...


Inputs: TypeAlias = Sequence[Any] | Mapping[str, Any] | DLPackArray
Record: TypeAlias = Callable[[Sequence[tuple[int, ...]]], Recording]


class Session(Closing):
    """A program that is loaded on a device; several sessions may share a device.

    All runs use the same memory, so a session that threads share runs one at a time.

    Args:
        recording: the program, or its variants; the inputs' shapes select one.
        device: device to run it on; it stays open when the session closes.
        replay: whether the calls of repeated runs are captured and replayed, where the device
            can; results are the same.
        record: for a program with dynamic shapes, returns the variant for certain shapes of the
            inputs; called once for each variant.
        names: names of the inputs, if there is no recording yet.

    Raises:
        HipgraftError: the program is not for the device, or does not fit on it. Nothing stays
            allocated then.
    """

    def __init__(
        self,
        recording: Recording | Sequence[Recording],
        device: Device,
        *,
        replay: bool = True,
        record: Record | None = None,
        names: Sequence[str] = (),
    ):
        self.variants: list[Recording] = []
        self.device = device
        self._lock = threading.RLock()
        self._replay = replay
        self._record = record
        self._names = list(names)
        self._calls: list[CallSequence] = []
        self._by_shapes: dict[tuple[tuple[int, ...], ...], int] = {}
        self._own, self._staging = Blocks(device), Blocks(device)
        with ExitStack() as resources:
            self._resources = resources
            resources.callback(self._own.close)
            resources.callback(self._staging.close)
            for one in [recording] if isinstance(recording, Recording) else recording:
                self._add(one)
            self._resources = resources.pop_all()

    def _add(self, recording: Recording) -> None:
        """Loads a variant, which shares code and constants with the first one."""
        is_first = not self.variants
        if is_first:
            self._load_code(recording)
        self._own.fit([buffer.nbytes for buffer in recording.buffers])
        if is_first:
            for address, buffer in zip(self._own.addresses, recording.buffers, strict=True):
                if buffer.read is not None:
                    self.device.copy_to_device(address, buffer.read())
        tensors = (*recording.inputs, *recording.results)
        self._staging.fit([tensor.nbytes for tensor in tensors])
        self.device.synchronize()
        calls = make_sequence(
            recording, self.device, self._modules, self._kernels, replay=self._replay
        )
        self._resources.callback(calls.close)
        self._calls.append(calls)
        shapes = tuple(tensor.shape for tensor in recording.inputs)
        self._by_shapes.setdefault(shapes, len(self.variants))
        self.variants.append(recording)

    def _load_code(self, recording: Recording) -> None:
        if fitting(self.device.architecture, [recording.architecture]) is None:
            raise HipgraftError(
                f"the program is for '{recording.architecture}', but the device is "
                f"'{self.device.architecture}'"
            )
        self._modules = [self._load_object(data) for data in recording.objects]
        self._kernels = [
            self.device.get_kernel(self._modules[index], name) for index, name in recording.kernels
        ]

    def _load_object(self, data: bytes) -> Any:
        if isinstance(self.device, GraphDevice):
            return self.device.load_module(data)
        handle = self.device.load_code_object(data)
        self._resources.callback(unload, self.device, handle)
        return handle

    def close(self) -> None:
        """Frees the session's resources on the device."""
        self._resources.close()

    def run(
        self, inputs: Inputs, outputs: Sequence[Array | DeviceArray] | None = None
    ) -> list[Any]:
        """Runs the program and waits for it.

        Args:
            inputs: an array for each input, in order or by the model's names: NumPy's, any array
                with DLPack, or a `DeviceArray`. A sole input needs no list. Arrays on
                the device are used in place.
            outputs: arrays for the results: writable row-major arrays, or arrays on the device.
                By default new NumPy arrays.

        Returns:
            The results; `outputs`, if given. Without `outputs`, results whose number of rows
            depends on values have their valid rows only, and the numbers of rows are left out.

        Raises:
            HipgraftError: an input or output has another shape, element type or layout, is
                read-only, or on another device.
        """
        with self._lock:
            return self._run(self._in_order(inputs), outputs)

    def run_named(
        self, inputs: Inputs, outputs: Sequence[Array | DeviceArray] | None = None
    ) -> dict[str, Any]:
        """Runs the program as `run` does, and returns the results by the model's names.

        A result without a name is called by its index, as "0".
        """
        results = self.run(inputs, outputs)
        first = self.variants[0]
        named = first.model_results if outputs is None else range(len(first.results))
        names = [first.results[index].name or str(index) for index in named]
        return dict(zip(names, results, strict=True))

    def _in_order(self, inputs: Inputs) -> Sequence[Any]:
        """Converts inputs that are given by name, or a sole input, to a sequence.

        Raises:
            HipgraftError: the names differ from those of the program's inputs.
        """
        if isinstance(inputs, list | tuple):
            return cast(Sequence[Any], inputs)
        if hasattr(inputs, "__dlpack__"):
            return [inputs]
        if not isinstance(inputs, Mapping):
            return cast(Sequence[Any], inputs)
        names = self._names or [one.name for one in self.variants[0].inputs]
        if set(inputs) != set(names):
            expected, found = (", ".join(map(repr, each)) for each in (names, inputs))
            raise HipgraftError(f"expected inputs called {expected}; found {found}")
        return [inputs[name] for name in names]

    def _run(
        self, inputs: Sequence[Any], outputs: Sequence[Array | DeviceArray] | None
    ) -> list[Any]:
        given = boundary.imported(inputs, self.device, "input")
        variant = self._select(given)
        recording = self.variants[variant]
        given = boundary.match(given, recording.inputs, self.device, "input")
        if outputs is None:
            wanted: list[Array | DeviceArray] = [boundary.empty(one) for one in recording.results]
        else:
            wanted = boundary.match(outputs, recording.results, self.device, "output")
            boundary.check_writable(wanted)
        sources = [
            None if isinstance(array, DeviceArray) else boundary.packed(array, tensor)
            for array, tensor in zip(given, recording.inputs, strict=True)
        ]
        targets = [
            None if isinstance(array, DeviceArray) else boundary.landing(array, tensor)
            for array, tensor in zip(wanted, recording.results, strict=True)
        ]
        addresses = self._addresses([*given, *wanted])
        self._calls[variant].run((*addresses, *self._own.addresses), [*sources, *targets])
        for array, memory, tensor in zip(wanted, targets, recording.results, strict=True):
            if memory is not None and not isinstance(array, DeviceArray):
                boundary.unpack(memory, tensor, array)
        return _valid_rows(wanted, recording) if outputs is None else list(outputs)

    def run_on_device(self, inputs: Sequence[Any]) -> list[DeviceArray]:
        """Runs the program and returns new arrays on the device with the results."""
        given = boundary.imported(inputs, self.device, "input")
        with self._lock:
            results = self.variants[self._select(given)].results
        outputs = [DeviceArray.allocate(self.device, one) for one in results]
        self.run(given, outputs)
        return outputs

    def upload(self, array: Any, tensor: Tensor | None = None) -> DeviceArray:
        """Copies an array to the device, for use in many runs.

        Args:
            array: a NumPy array, or any with DLPack in host memory.
            tensor: input whose layout the array gets on the device; packed by default.
        """
        return DeviceArray.upload(self.device, array, tensor)

    def enqueue(self, addresses: Sequence[int], variant: int = 0) -> None:
        """Starts a run; `device.synchronize` waits for it.

        Args:
            addresses: device addresses of the inputs, then of the results.
            variant: index in `variants`.
        """
        with self._lock:
            self._calls[variant].run((*addresses, *self._own.addresses))

    def benchmark(
        self, inputs: Sequence[Any], *, iterations: int = 100, warmup: int = 3, batch: int = 1
    ) -> Timing:
        """Times runs on inputs that are already on the device, without copies from or to it.

        Args:
            inputs: as for `run`.
            iterations: number of measurements.
            warmup: iterations before the measured ones.
            batch: runs before each wait; a measurement is their mean.
        """
        with self._lock:
            return self._benchmark(inputs, iterations, warmup, batch)

    def _benchmark(self, inputs: Sequence[Any], iterations: int, warmup: int, batch: int) -> Timing:
        seconds: list[float] = []
        with self._resident(inputs) as (variant, addresses):
            for _ in range(warmup + iterations):
                start = time.perf_counter()
                for _ in range(batch):
                    self.enqueue(addresses, variant)
                self.device.synchronize()
                seconds.append((time.perf_counter() - start) / batch)
        return Timing(tuple(1e6 * second for second in seconds[warmup:]))

    @contextmanager
    def _resident(self, inputs: Sequence[Any]) -> Generator[tuple[int, list[int]], None, None]:
        """Uploads inputs; yields the variant and the addresses of inputs and results."""
        given = boundary.imported(inputs, self.device, "input")
        variant = self._select(given)
        tensors = self.variants[variant].inputs
        given = boundary.match(given, tensors, self.device, "input")
        resident = [
            array if isinstance(array, DeviceArray) else self.upload(array, tensor)
            for array, tensor in zip(given, tensors, strict=True)
        ]
        results = self._staging.addresses[len(resident) :]
        try:
            yield variant, [*(one.address for one in resident), *results]
        finally:
            for one, original in zip(resident, given, strict=True):
                if one is not original:
                    one.close()

    def profile(self, inputs: Sequence[Any], *, iterations: int = 20) -> Profile:
        """Times each call of a run, on inputs that are already on the device.

        Args:
            inputs: as for `run`.
            iterations: number of measurements.
        """
        with self._lock, self._resident(inputs) as (variant, addresses):
            calls = self._calls[variant].prepared((*addresses, *self._own.addresses))
            return profile_calls(self.device, self.variants[variant], calls, iterations)

    def _select(self, inputs: Sequence[Array | DeviceArray]) -> int:
        given = tuple(map(boundary.array_shape, inputs))
        known = self._by_shapes.get(given)
        if known is not None:
            return known
        if self._record is not None:
            self._add(self._record(given))
            return self._by_shapes[given]
        shapes = [[tensor.shape for tensor in one.inputs] for one in self.variants]
        names = [one.variant for one in self.variants]
        return select(dict(zip(names, shapes, strict=True)), given)

    def _addresses(self, arrays: Sequence[Array | DeviceArray]) -> list[int]:
        return [
            array.address if isinstance(array, DeviceArray) else staged
            for array, staged in zip(arrays, self._staging.addresses, strict=True)
        ]


def _valid_rows(results: list[Any], recording: Recording) -> list[Any]:
    """Returns the model's own results; only their valid rows, if not all are."""
    for result, axis, count in recording.row_counts:
        valid = (slice(None),) * axis + (slice(int(results[count])),)
        results[result] = results[result][valid].copy()
    return [results[index] for index in recording.model_results]
