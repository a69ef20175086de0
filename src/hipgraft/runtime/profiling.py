"""Measures the time of each call of a program on a device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any

from hipgraft.runtime.devices.protocols import CapturingDevice, EventDevice
from hipgraft.runtime.recording import Call, Command, Copy, Fill, Launch, Recording


@dataclass(frozen=True)
class Row:
    """The total time of a run's equal calls.

    Attributes:
        name: name of the kernel, `fill`, `copy`, or the name of a graph that runs as a whole.
        grid: workgroups of a launch; empty for other calls.
        calls: number of calls in a run.
        microseconds: total time of these calls.
    """

    name: str
    grid: tuple[int, ...]
    calls: int
    microseconds: float


@dataclass(frozen=True)
class Profile:
    """The calls of a run, sorted by decreasing time; `str` formats them as a table."""

    rows: tuple[Row, ...]

    @property
    def microseconds(self) -> float:
        """The total time of all calls."""
        return sum(row.microseconds for row in self.rows)

    def __str__(self) -> str:
        total = self.microseconds or 1.0
        lines = [f"{'us':>10} {'share':>6} {'calls':>6} {'us each':>9}  kernel [grid]"]
        lines += [
            f"{row.microseconds:10.1f} {row.microseconds / total:6.1%} {row.calls:6} "
            f"{row.microseconds / row.calls:9.1f}  {row.name}{_grid_text(row.grid)}"
            for row in self.rows
        ]
        calls = sum(row.calls for row in self.rows)
        return "\n".join([*lines, f"{self.microseconds:10.1f} {1:6.1%} {calls:6}"])


def profile_calls(
    device: Any, recording: Recording, calls: Sequence[Callable[[], None]], iterations: int
) -> Profile:
    """Times calls in order and returns the median time of each.

    On a device with events, this function measures the time between events, which excludes the
    host's time if a captured graph can contain the events. On other devices, it waits for each
    call.

    Args:
        device: the device.
        recording: the program.
        calls: one function for each command of the recording.
        iterations: number of measurements.
    """
    times = _by_events if isinstance(device, EventDevice) else _by_waiting
    runs = times(device, calls, iterations)
    medians = [statistics.median(samples) for samples in zip(*runs, strict=True)]
    return Profile(tuple(_rows(recording, medians)))


def _by_waiting(
    device: Any, calls: Sequence[Callable[[], None]], iterations: int
) -> list[list[float]]:
    runs: list[list[float]] = []
    for _ in range(1 + iterations):
        runs.append([])
        device.synchronize()
        for call in calls:
            start = time.perf_counter()
            call()
            device.synchronize()
            runs[-1].append(1e6 * (time.perf_counter() - start))
    return runs[1:]  # the first run loads code and fills caches


def _by_events(
    device: Any, calls: Sequence[Callable[[], None]], iterations: int
) -> list[list[float]]:
    with ExitStack() as resources:
        events: list[Any] = []
        for _ in range(1 + len(calls)):
            events.append(device.create_event())
            resources.callback(device.free_event, events[-1])
        marks = [partial(device.record_event, event) for event in events]
        run = [marks[0], *chain.from_iterable(zip(calls, marks[1:], strict=True))]
        if device.has_events_in_graphs and isinstance(device, CapturingDevice):
            graph = _capture(device, run)
            resources.callback(device.free_graph, graph)
            run = [partial(device.replay, graph)]
        return _distances(device, run, events, iterations)


def _capture(device: CapturingDevice, calls: Sequence[Callable[[], None]]) -> Any:
    """Captures calls on a device and returns their graph."""
    device.begin_capture()
    try:
        for call in calls:
            call()
    except BaseException:
        device.free_graph(device.end_capture())
        raise
    return device.end_capture()


def _distances(
    device: Any, run: Sequence[Callable[[], None]], events: Sequence[Any], iterations: int
) -> list[list[float]]:
    runs: list[list[float]] = []
    for _ in range(1 + iterations):
        for call in run:
            call()
        device.synchronize()
        pairs = pairwise(events)
        runs.append([device.elapsed(start, end) for start, end in pairs])
    return runs[1:]


def _rows(recording: Recording, medians: Sequence[float]) -> list[Row]:
    found: dict[tuple[str, tuple[int, ...]], list[float]] = {}
    for command, microseconds in zip(recording.commands, medians, strict=True):
        found.setdefault(_kind(recording, command), []).append(microseconds)
    rows = [Row(*kind, len(times), sum(times)) for kind, times in found.items()]
    return sorted(rows, key=lambda row: -row.microseconds)


def _kind(recording: Recording, command: Command) -> tuple[str, tuple[int, ...]]:
    match command:
        case Launch():
            return recording.kernels[command.kernel][1], command.grid
        case Fill():
            return "fill", ()
        case Copy():
            return "copy", ()
        case Call():
            return f"graph {command.module}", ()


def _grid_text(grid: tuple[int, ...]) -> str:
    return f" [{' '.join(map(str, grid))}]" if grid else ""
