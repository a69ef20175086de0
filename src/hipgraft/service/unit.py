"""A unit of compilation, one graph for one target, and what comes of it.

Both travel between processes, so they hold text and bytes and no IR.
"""

from __future__ import annotations

import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from hipgraft.codegen.iree_session import IreeSession, process_flags
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.diagnostics import HipgraftError

if TYPE_CHECKING:
    from hipgraft.tuning.decision import Decision

# Two threads that share a compiler session crash.
_SESSIONS = threading.Lock()

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Unit:
    """One graph to be compiled for one target.

    Attributes:
        name: of the executable, for progress and messages.
        target: architecture.
        flags: compiler flags besides those that select the target.
        text: the compiler's input.
        cost: estimated work, in units of its own.
    """

    name: str
    target: str
    flags: tuple[str, ...]
    text: str
    cost: int = 0

    @property
    def process_flags(self) -> tuple[str, ...]:
        """All of its flags if some are of the compiler's whole process, or else none."""
        flags = (*Target.parse(self.target).device_flags, *self.flags)
        return flags if process_flags(flags) else ()


@dataclass(frozen=True)
class Outcome:
    """A kernel, or the reason why there is none.

    Attributes:
        kernel: None if compilation failed.
        error: None if it did not.
        artifacts: what the compilation went through, by file name: `input.mlir`, `0.hsaco`, ...
        seconds: wall time of the compilation, where it was done.
        permanent: whether the same input fails again: an error of the compiler, not a crash.
        cached: whether it comes from the cache.
        peak_memory: most resident bytes so far of the process that compiled; 0 if not known.
        process: number of that process; 0 if none compiled.
        decision: why it is compiled as it is, where there was a choice.
    """

    kernel: Kernel | None = None
    error: HipgraftError | None = None
    artifacts: dict[str, bytes] = field(default_factory=dict[str, bytes])
    seconds: float = 0.0
    permanent: bool = True
    cached: bool = False
    peak_memory: int = 0
    process: int = 0
    decision: Decision | None = None


Task = Callable[[Unit], Outcome]
"""What a worker process does with a unit."""

OnStart = Callable[[int, int], None]
"""Is told the index of a unit and the number of the worker that begins it."""


class Workers(Protocol):
    """Compiles units, in whatever order and place."""

    def prepare(self) -> None:
        """Begins to start what `run` will need, and does not wait for it."""
        ...

    def run(self, units: Sequence[Unit], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each unit's index and outcome as soon as it is there."""
        ...

    def close(self) -> None:
        """Ends what was started."""
        ...


class InProcess:
    """Compiles one unit after the other in this process: a crash of the compiler is its end."""

    def prepare(self) -> None:
        """Does nothing."""

    def run(self, units: Sequence[Unit], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each unit's index and outcome, in order."""
        for index, unit in enumerate(units):
            on_start(index, 0)
            yield index, compile_unit(unit)

    def close(self) -> None:
        """Does nothing."""


@dataclass(frozen=True)
class _Artifacts:
    """Keeps what the provider would leave in files."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def write(self, suffix: str, data: str | bytes) -> None:
        self.files[suffix] = data.encode() if isinstance(data, str) else data


def compile_unit(unit: Unit) -> Outcome:
    """Compiles a unit; the compiler's errors are an outcome, too.

    It is compiled in this process, unless it has flags that are of another process.
    """
    if process_flags(unit.flags) and not IreeSession.process_flags:
        return _compile_elsewhere(unit)
    artifacts = _Artifacts()
    started = time.perf_counter()
    kernel, error = None, None
    with _SESSIONS:
        try:
            kernel = compile_text(unit.text, Target.parse(unit.target), unit.flags, artifacts)
        except HipgraftError as caught:
            # Without its traceback, which holds IR and does not travel.
            error = caught.with_traceback(None)
    return Outcome(
        kernel=kernel,
        error=error,
        artifacts=artifacts.files,
        seconds=time.perf_counter() - started,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT,
    )


def _compile_elsewhere(unit: Unit) -> Outcome:
    # Only now: those processes call `compile_unit`.
    from hipgraft.service.processes import ProcessWorkers

    with closing(ProcessWorkers(1)) as workers:
        ((_, outcome),) = workers.run([unit], lambda index, worker: None)
    return outcome
