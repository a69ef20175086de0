"""Defines the base class of programs and bundles, which loads and runs them on devices."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from hipgraft.ir.closing import Closing
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.runtime.boundary import Array, DeviceArray
from hipgraft.runtime.devices import open_device
from hipgraft.runtime.profiling import Profile
from hipgraft.runtime.recording import Recording
from hipgraft.runtime.session import Inputs, Session
from hipgraft.runtime.timing import Timing


class Runnable(Closing):
    """A program with recordings for one or more architectures.

    Once the program has run on a device, its code and constants stay loaded there until the program
    is closed. Close the program before a device that was passed to it. Threads may share a program.
    """

    def __init__(self) -> None:
        self._loading = threading.Lock()
        self._sessions: dict[str | int, Session] = {}
        self._resources = ExitStack()

    @abstractmethod
    def recordings(self, architecture: str) -> tuple[Recording, ...]:
        """Returns all variants of the program for an architecture.

        Raises:
            HipgraftError: there is no program for the architecture.
        """

    def recording(self, architecture: str) -> Recording:
        """Returns the program for an architecture, if it has only one variant.

        Raises:
            HipgraftError: there is no such program, or it has several variants.
        """
        only, *others = self.recordings(architecture)
        if others:
            names = ", ".join(f"'{one.variant}'" for one in (only, *others))
            raise HipgraftError(f"expected a program of one variant, found {names}")
        return only

    def load(self, device: Any = "cpu") -> Session:
        """Loads the program on a device; later calls return the same session.

        Args:
            device: a device, or its name as for `hipgraft.runtime.devices.open_device`.

        Raises:
            HipgraftError: the device cannot be opened, the program is not for it, or does not
                fit on it.
        """
        key = device if isinstance(device, str) else id(device)
        with self._loading:
            if key not in self._sessions:
                self._sessions[key] = self._load(device)
            return self._sessions[key]

    def _load(self, device: Any) -> Session:
        if not isinstance(device, str) and not hasattr(device, "architecture"):
            found = type(device).__name__
            message = f"expected a device or its name, found '{found}': pass the inputs as one list"
            raise HipgraftError(message)
        with ExitStack() as resources:
            opened = open_device(device) if isinstance(device, str) else device
            if isinstance(device, str):
                resources.callback(opened.close)
            session = self._open_session(opened)
            resources.callback(session.close)
            self._resources.push(resources.pop_all())
        return session

    def _open_session(self, device: Any) -> Session:
        return Session(self.recordings(device.architecture), device)

    def run(
        self,
        inputs: Inputs,
        device: Any = "cpu",
        outputs: Sequence[Array | DeviceArray] | None = None,
    ) -> list[Any]:
        """Runs the program and waits for it; see `Session.run`.

        Args:
            inputs: an array for each input, in order or by the model's names: NumPy's, any array
                with DLPack, or a `DeviceArray`. A sole input needs no list.
            device: see `load`.
            outputs: arrays for the results; by default new NumPy arrays.

        Raises:
            HipgraftError: inputs or outputs do not match, or the program is not for this device.
        """
        return self.load(device).run(inputs, outputs)

    def run_named(
        self,
        inputs: Inputs,
        device: Any = "cpu",
        outputs: Sequence[Array | DeviceArray] | None = None,
    ) -> dict[str, Any]:
        """Runs the program as `run` does, and returns the results by the model's names."""
        return self.load(device).run_named(inputs, outputs)

    def benchmark(
        self, inputs: Sequence[Any], device: Any = "cpu", *, iterations: int = 100
    ) -> Timing:
        """Times runs on inputs that are already on the device; see `Session.benchmark`."""
        return self.load(device).benchmark(inputs, iterations=iterations)

    def profile(
        self, inputs: Sequence[Any], device: Any = "cpu", *, iterations: int = 20
    ) -> Profile:
        """Times each call of a run; see `Session.profile`."""
        return self.load(device).profile(inputs, iterations=iterations)

    def close(self) -> None:
        """Frees the program's memory and code on devices, and closes the devices that it opened."""
        self._sessions.clear()
        self._resources.close()
