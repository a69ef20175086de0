"""Shows the progress of a compilation: live on a terminal, in plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import TaskID

    from hipgraft.codegen.progress import Progress, Started

ShowStep = Callable[[str], None]


@contextmanager
def progress(quiet: bool) -> Generator[ShowStep, None, None]:
    """Yields a function that shows the current step, and shows each graph that is compiled."""
    if quiet:
        yield lambda text: None
        return
    # Imported here because it loads the compiler, which `--help` and wrong flags do not need.
    from hipgraft.codegen.progress import PROGRESS

    if not sys.stderr.isatty():
        token = PROGRESS.set(_print_line)
        try:
            yield lambda text: None
        finally:
            PROGRESS.reset(token)
        return
    with _Live() as live:
        token = PROGRESS.set(live.show)
        try:
            yield live.step
        finally:
            PROGRESS.reset(token)


def _print_line(event: Started | Progress) -> None:
    """Prints a line for each graph that was compiled; the report lists cache hits."""
    from hipgraft.codegen.progress import Progress

    if isinstance(event, Progress) and event.ending != "cached":
        counted = f"[{event.done}/{event.total}]"
        line = f"{counted} {event.ending} {event.name} for {event.target}, {event.seconds:.2f} s\n"
        sys.stderr.write(line)


class _Live:
    """A progress bar of all graphs, and a line with the job of each worker."""

    def __init__(self) -> None:
        # rich costs a tenth of a second to import.
        from rich.console import Console, Group
        from rich.live import Live
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        text = TextColumn("{task.description}")
        self._all = Progress(text, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._each = Progress(text, TimeElapsedColumn())
        self._display = Live(
            Group(self._all, self._each), console=Console(stderr=True), transient=True
        )
        self._bar = self._all.add_task("reading the model", total=None)
        self._lines: dict[int, TaskID] = {}
        self._workers: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._display.stop()

    def step(self, text: str) -> None:
        """Shows the current step of the whole program."""
        self._all.update(self._bar, description=text)

    def show(self, event: Started | Progress) -> None:
        """Shows that a graph has started or ended."""
        from hipgraft.codegen.progress import Started

        if isinstance(event, Started):
            self._begin(event)
            return
        self._all.update(self._bar, completed=event.done, total=event.total)
        worker = self._workers.pop((event.name, event.target), None)
        if worker is not None:
            self._each.update(self._lines[worker], description=f"  worker {worker}: idle")

    def _begin(self, event: Started) -> None:
        self.step("compiling graphs")
        if event.worker not in self._lines:
            self._lines[event.worker] = self._each.add_task("", total=None)
        self._workers[event.name, event.target] = event.worker
        text = f"  worker {event.worker}: {event.name} for {event.target}"
        self._each.reset(self._lines[event.worker], description=text)
