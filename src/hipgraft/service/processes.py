"""Worker processes: each compiles one job at a time, and a crash ends only that process."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Any

from hipgraft.codegen.iree.session import PROGRAM
from hipgraft.codegen.workarounds.buffer_pointers import flags_after_crash
from hipgraft.ir.diagnostics import CodegenError, HipgraftError
from hipgraft.ir.signals import deferred
from hipgraft.service.child_python import child_environment, python_command
from hipgraft.service.compilation import compile_here
from hipgraft.service.job import Job, OnStart, Outcome, Task

DEFAULT_TIMEOUT = 600.0
"""The time limit for the compilation of a graph, in seconds."""

_POLL_SECONDS = 0.05
# Seconds that a process may take to start on a busy machine; they do not count for its job.
_START_SECONDS = 60.0
_ATTEMPTS = 2
# Processes to start ahead: most models have more graphs than this, and each process takes a third
# of a second of CPU time to start.
_PREPARED = 4
_MOST_IDLE_MEMORY = 1 << 30  # resident bytes of a process that waits for the next batch

# Prefixes of the messages that the compiler and the C++ runtime print when they abort.
_REFUSAL = f"{PROGRAM}: "
_LAST_WORDS = ("LLVM ERROR", "Assertion", "terminate called", "what():")


@dataclass
class _Queued:
    """A pending or running job, with the reasons why its earlier attempts failed."""

    index: int
    job: Job
    reasons: list[str] = field(default_factory=list[str])


class _Worker:
    """One process and its current job."""

    def __init__(self, number: int, task: Task, flags: tuple[str, ...]):
        self.number = number
        self.flags = flags
        self.queued: _Queued | None = None
        self.started = 0.0
        self.is_ready = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `kill`)
        # The compiler does not remove its temporary files when it is killed.
        self._folder = tempfile.TemporaryDirectory(prefix="hipgraft-worker-")
        ours, theirs = Pipe()
        self.connection: Connection[Any, Any] = ours
        with theirs:
            handle = theirs.fileno()
            self._process = subprocess.Popen(
                python_command("-m", "hipgraft.service.worker", str(handle)),
                pass_fds=(handle,),
                stdin=subprocess.DEVNULL,
                stdout=self._errors,
                stderr=self._errors,
                env={**child_environment(task), "TMPDIR": self._folder.name},
            )
        self.connection.send((task, flags))

    def begin(self, queued: _Queued) -> None:
        self.queued, self.started = queued, time.monotonic()
        # If the worker died while idle, the wait for its answer detects that.
        with suppress(OSError):
            self.connection.send(queued.job)

    def takes_greeting(self) -> bool:
        """Receives the greeting, which reports that the process is ready, if it is due."""
        if self.is_ready:
            return False
        try:
            self.connection.recv()
        except (EOFError, OSError):
            return False
        self.is_ready, self.started = True, time.monotonic()
        return True

    def memory(self) -> int:
        """Returns the resident bytes of the process; 0 if the system does not report them."""
        try:
            with open(f"/proc/{self._process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            return 0

    def refused_flags(self) -> str:
        """Returns why an ended process rejected its flags; empty if it accepted them."""
        said = [line for line in self._said() if line.startswith(_REFUSAL)]
        if self.is_ready or not said:
            return ""
        return said[0].removeprefix(_REFUSAL).partition(".  Try")[0]

    def cause_of_death(self) -> str:
        """Describes how the process ended, with the compiler's last message if there is one."""
        code = self._process.wait()
        how = f"with status {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        lines = self._said()
        found = [line.strip() for line in lines if line.strip().startswith(_LAST_WORDS)]
        # The last line of a Python traceback names the exception.
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
    """Compiles in worker processes, the costliest jobs first.

    A worker that crashes, takes too long or uses too much memory is replaced; its job is retried
    once, then reported as failed.

    Attributes:
        jobs: number of processes.
        timeout: time limit for one job, in seconds.
        memory_limit: limit on the resident bytes of one process; 0 for no limit.
        task: function that a worker applies to each job; workers must be able to import it.
    """

    def __init__(
        self,
        queued_jobs: int | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
        memory_limit: int = 0,
        task: Task = compile_here,
    ):
        self.queued_jobs = queued_jobs or available_cores()
        self.timeout = timeout
        self.memory_limit = memory_limit
        self.task = task
        self._workers: list[_Worker] = []

    def prepare(self) -> None:
        """Starts a few processes early, while the caller still outlines graphs."""
        for _ in range(min(self.queued_jobs, _PREPARED) - len(self._workers)):
            self._start()

    def run(self, jobs: Sequence[Job], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each job's index and outcome as soon as it is done."""
        for worker in [one for one in self._workers if one.memory() > _MOST_IDLE_MEMORY]:
            self._end(worker)
        queued_jobs = [_Queued(index, job) for index, job in enumerate(jobs)]
        # Jobs with equal process-wide flags follow each other, because other flags need a new
        # process.
        waiting = deque(
            sorted(queued_jobs, key=lambda queued: (queued.job.process_flags, -queued.job.cost))
        )
        try:
            while waiting or self._busy():
                self._assign(waiting, on_start)
                for queued, outcome in self._collect():
                    if outcome is None:
                        waiting.appendleft(queued)
                    else:
                        yield queued.index, outcome
        except BaseException:
            # Answers to an interrupted batch must not reach the next one.
            self.close()
            raise

    def close(self) -> None:
        """Kills all workers, including busy ones."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.queued is not None]

    def _assign(self, waiting: deque[_Queued], on_start: OnStart) -> None:
        while waiting and (worker := self._worker_for(waiting[0].job)):
            queued = waiting.popleft()
            worker.begin(queued)
            on_start(queued.index, worker.number)

    def _worker_for(self, job: Job) -> _Worker | None:
        """Returns an idle or new process with the job's flags; None if all are busy."""
        idle = [worker for worker in self._workers if worker.queued is None]
        fitting = [worker for worker in idle if worker.flags == job.process_flags]
        if fitting:
            return fitting[0]
        if len(self._workers) == self.queued_jobs:
            if not idle:
                return None
            self._end(idle[0])
        return self._start(job.process_flags)

    def _start(self, flags: tuple[str, ...] = ()) -> _Worker:
        taken = {worker.number for worker in self._workers}
        number = next(number for number in range(self.queued_jobs) if number not in taken)
        # `close` must know each process and folder before an exception can end this one.
        with deferred():
            self._workers.append(_Worker(number, self.task, flags))
        return self._workers[-1]

    def _end(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)

    def _collect(self) -> Iterator[tuple[_Queued, Outcome | None]]:
        """Yields jobs that ended; the outcome is None if the job is to be retried."""
        busy = self._busy()
        ready = wait([worker.connection for worker in busy], timeout=_POLL_SECONDS)
        for worker in busy:
            queued = worker.queued
            if queued is None:
                continue
            if worker.connection in ready and not worker.takes_greeting():
                outcome = self._receive(worker, queued)
            elif reason := self._excess(worker):
                outcome = self._give_up(worker, queued, reason)
            else:
                continue
            worker.queued = None
            yield queued, outcome

    def _receive(self, worker: _Worker, queued: _Queued) -> Outcome | None:
        try:
            return worker.connection.recv()
        except (EOFError, OSError):
            cause = worker.cause_of_death()
        if reason := worker.refused_flags():
            self._end(worker)
            return Outcome(error=HipgraftError(f"invalid compiler flags: {reason}"))
        return self._give_up(worker, queued, cause)

    def _excess(self, worker: _Worker) -> str:
        """Describes the limit that a worker exceeds; empty if none."""
        limit = self.timeout if worker.is_ready else self.timeout + _START_SECONDS
        if time.monotonic() - worker.started > limit:
            return f"the compiler took longer than {self.timeout:g} s"
        if self.memory_limit and worker.memory() > self.memory_limit:
            return f"the compiler took more than {self.memory_limit >> 20} MiB of memory"
        return ""

    def _give_up(self, worker: _Worker, queued: _Queued, reason: str) -> Outcome | None:
        """Kills a worker; returns its job's outcome, or None if the job is to be retried."""
        self._end(worker)
        queued.reasons.append(reason)
        if len(queued.reasons) < _ATTEMPTS:
            flags = flags_after_crash(queued.job.target, queued.job.flags, reason)
            queued.job = replace(queued.job, flags=flags)
            return None
        times = "twice" if len(set(queued.reasons)) == 1 else f"after {queued.reasons[0]}"
        error = CodegenError(f"{reason} ({times})")
        seconds = time.monotonic() - worker.started
        artifacts = {"input.mlir": queued.job.text.encode()}
        return Outcome(error=error, artifacts=artifacts, seconds=seconds, permanent=False)


def available_cores() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
