"""Worker processes: each compiles one unit at a time and may die of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Any

from hipgraft.codegen.iree_session import PROGRAM
from hipgraft.diagnostics import CodegenError, HipgraftError
from hipgraft.service.unit import OnStart, Outcome, Task, Unit, compile_unit

DEFAULT_TIMEOUT = 600.0
"""Seconds after which a graph is given up."""

_POLL_SECONDS = 0.05
# What a process may take to come up, on a busy machine, before its unit's time begins.
_START_SECONDS = 60.0
_ATTEMPTS = 2
# A model has more graphs than this; each process takes a third of a second of a core to start.
_PREPARED = 4

# What the compiler and the C++ runtime print when they give up.
_REFUSAL = f"{PROGRAM}: "
_LAST_WORDS = ("LLVM ERROR", "Assertion", "terminate called", "what():")


@dataclass
class _Job:
    """A unit that is not done."""

    index: int
    unit: Unit
    reasons: list[str] = field(default_factory=list[str])


class _Worker:
    """One process, and what it is busy with."""

    def __init__(self, number: int, task: Task, flags: tuple[str, ...]):
        self.number = number
        self.flags = flags
        self.job: _Job | None = None
        self.started = 0.0
        self.is_ready = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `kill`)
        # The compiler leaves its temporary files when it is killed.
        self._folder = tempfile.TemporaryDirectory(prefix="hipgraft-worker-")
        ours, theirs = Pipe()
        self.connection: Connection[Any, Any] = ours
        with theirs:
            handle = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hipgraft.service.worker", str(handle)],
                pass_fds=(handle,),
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    "TMPDIR": self._folder.name,
                },
            )
        self.connection.send((task, flags))

    def begin(self, job: _Job) -> None:
        self.job, self.started = job, time.monotonic()
        # A worker that died while it was idle shows when its answer is awaited.
        with suppress(OSError):
            self.connection.send(job.unit)

    def takes_greeting(self) -> bool:
        """Takes the first message, which says that the process is ready for its first unit."""
        if self.is_ready:
            return False
        try:
            self.connection.recv()
        except (EOFError, OSError):
            return False
        self.is_ready, self.started = True, time.monotonic()
        return True

    def memory(self) -> int:
        """Resident bytes; 0 where the system does not tell."""
        try:
            with open(f"/proc/{self._process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def refused_flags(self) -> str:
        """Says why a process that ended did not take its flags; empty if it did."""
        said = [line for line in self._said() if line.startswith(_REFUSAL)]
        if self.is_ready or not said:
            return ""
        return said[0].removeprefix(_REFUSAL).partition(".  Try")[0]

    def cause_of_death(self) -> str:
        """Says how the process ended, in the compiler's last words if it had any."""
        code = self._process.wait()
        how = f"with status {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        lines = self._said()
        found = [line.strip() for line in lines if line.strip().startswith(_LAST_WORDS)]
        # Python says what was raised last.
        words = found[0] if found else lines[-1].strip() if lines and code > 0 else ""
        return f"the compiler was ended {how}" + (f": {words}" if words else "")

    def _said(self) -> list[str]:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").splitlines()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self.connection.close()
        self._errors.close()
        self._folder.cleanup()


class ProcessWorkers:
    """Compiles in processes of its own, the costliest units first.

    A worker that crashes, runs too long or takes too much memory is replaced; its unit is tried
    once more, and then given up.

    Attributes:
        jobs: number of processes.
        timeout: seconds that one unit may take.
        memory_limit: resident bytes that one process may take; 0 for any.
        task: what a worker does with a unit; a function of a module that it can import.
    """

    def __init__(
        self,
        jobs: int | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        memory_limit: int = 0,
        task: Task = compile_unit,
    ):
        self.jobs = jobs or available_cores()
        self.timeout = timeout
        self.memory_limit = memory_limit
        self.task = task
        self._workers: list[_Worker] = []

    def prepare(self) -> None:
        """Starts processes while the graphs are still to be found; many wait until they are."""
        for _ in range(min(self.jobs, _PREPARED) - len(self._workers)):
            self._start()

    def run(self, units: Sequence[Unit], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each unit's index and outcome as soon as it is there."""
        jobs = [_Job(index, unit) for index, unit in enumerate(units)]
        # Those of one process together: others need others.
        waiting = deque(sorted(jobs, key=lambda job: (job.unit.process_flags, -job.unit.cost)))
        try:
            while waiting or self._busy():
                self._assign(waiting, on_start)
                for job, outcome in self._collect():
                    if outcome is None:
                        waiting.appendleft(job)
                    else:
                        yield job.index, outcome
        except BaseException:
            # Of an interrupted batch no answer may be left for the next one.
            self.close()
            raise

    def close(self) -> None:
        """Ends all workers, busy or not."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.job is not None]

    def _assign(self, waiting: deque[_Job], on_start: OnStart) -> None:
        while waiting and (worker := self._worker_for(waiting[0].unit)):
            job = waiting.popleft()
            worker.begin(job)
            on_start(job.index, worker.number)

    def _worker_for(self, unit: Unit) -> _Worker | None:
        """Returns a process for a unit, started if there is none; None if all are busy."""
        idle = [worker for worker in self._workers if worker.job is None]
        fitting = [worker for worker in idle if worker.flags == unit.process_flags]
        if fitting:
            return fitting[0]
        if len(self._workers) == self.jobs:
            if not idle:
                return None
            self._end(idle[0])
        return self._start(unit.process_flags)

    def _start(self, flags: tuple[str, ...] = ()) -> _Worker:
        taken = {worker.number for worker in self._workers}
        number = next(number for number in range(self.jobs) if number not in taken)
        self._workers.append(_Worker(number, self.task, flags))
        return self._workers[-1]

    def _end(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)

    def _collect(self) -> Iterator[tuple[_Job, Outcome | None]]:
        """Yields jobs that ended; without an outcome, those to be tried once more."""
        busy = self._busy()
        ready = wait([worker.connection for worker in busy], timeout=_POLL_SECONDS)
        for worker in busy:
            job = worker.job
            if job is None:
                continue
            if worker.connection in ready and not worker.takes_greeting():
                outcome = self._receive(worker, job)
            elif reason := self._excess(worker):
                outcome = self._give_up(worker, job, reason)
            else:
                continue
            worker.job = None
            yield job, outcome

    def _receive(self, worker: _Worker, job: _Job) -> Outcome | None:
        try:
            return worker.connection.recv()
        except (EOFError, OSError):
            cause = worker.cause_of_death()
        if reason := worker.refused_flags():
            self._end(worker)
            return Outcome(error=HipgraftError(f"invalid compiler flags: {reason}"))
        return self._give_up(worker, job, cause)

    def _excess(self, worker: _Worker) -> str:
        """Says which limit a worker is over."""
        limit = self.timeout if worker.is_ready else self.timeout + _START_SECONDS
        if time.monotonic() - worker.started > limit:
            return f"the compiler took longer than {self.timeout:g} s"
        if self.memory_limit and worker.memory() > self.memory_limit:
            return f"the compiler took more than {self.memory_limit >> 20} MiB of memory"
        return ""

    def _give_up(self, worker: _Worker, job: _Job, reason: str) -> Outcome | None:
        """Ends a worker; returns the outcome of its job, None if it is to be tried again."""
        self._end(worker)
        job.reasons.append(reason)
        if len(job.reasons) < _ATTEMPTS:
            return None
        times = "twice" if len(set(job.reasons)) == 1 else f"after {job.reasons[0]}"
        error = CodegenError(f"{reason} ({times})")
        seconds = time.monotonic() - worker.started
        artifacts = {"input.mlir": job.unit.text.encode()}
        return Outcome(error=error, artifacts=artifacts, seconds=seconds, permanent=False)


def available_cores() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
