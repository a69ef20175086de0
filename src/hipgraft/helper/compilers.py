"""Child processes that compile, one job at a time; idle ones wait a while for more jobs.

`hipgraft.helper.__main__` is the child. It reads jobs from its standard input: a line `WHAT TARGET
SIZE` and SIZE bytes. It answers each with a line: the exit status of a process for this job alone,
and the error. A child takes a second to start with its workers, which is longer than a small graph
takes to compile.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Protocol

from hipgraft.helper import DOES_NOT_COMPILE
from hipgraft.service.child_python import child_environment, python_command

KEPT_SECONDS = 30.0
"""The number of seconds that an idle child waits for a job."""

_PATIENCE = 0.1  # seconds between checks whether a client still waits
_LEAVE = 5.0  # seconds within which an idle child must end
_MOST_MEMORY = 1 << 30  # resident bytes of an idle child


class Job(Protocol):
    """The input of a child."""

    @property
    def target(self) -> str:
        """The target to compile for."""
        ...

    @property
    def data(self) -> bytes:
        """Its bytes."""
        ...


class Compilers:
    """The children of a server; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        # Children are killed when the thread that started them ends, so one thread starts all.
        self._starter = ThreadPoolExecutor(1)

    def run(self, job: Job, abandoned: threading.Event, seconds: float) -> tuple[int, str]:
        """Compiles in a child; returns the exit status and the error message.

        Raises:
            TimeoutError: the child did not answer in `seconds`.
        """
        end = time.monotonic() + seconds
        child = self._take()
        is_usable = False
        try:
            child.send(job)
            while not child.has_answer(_PATIENCE):
                if abandoned.is_set():
                    return DOES_NOT_COMPILE, "nobody waits"
                if time.monotonic() > end:
                    raise TimeoutError(f"the compiler did not end in {seconds:g} s")
            answer = child.answer()
            is_usable = answer is not None and child.memory() <= _MOST_MEMORY
            return answer or child.cause_of_death()
        finally:
            if is_usable:
                with self._lock:
                    self._idle.append(child)
            else:
                child.kill()

    def end_idle(self, seconds: float = KEPT_SECONDS) -> None:
        """Ends the children that were idle for some seconds."""
        latest = time.monotonic() - seconds
        with self._lock:
            late = [child for child in self._idle if child.idle_since <= latest]
            self._idle = [child for child in self._idle if child not in late]
        for child in late:
            threading.Thread(target=child.leave).start()

    def _take(self) -> _Child:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return self._starter.submit(_Child).result()
            if child.is_alive():
                return child
            child.leave()


class _Child:
    def __init__(self) -> None:
        self.idle_since = 0.0
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `kill`)
        self._process = subprocess.Popen(
            python_command("-m", "hipgraft.helper"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=child_environment(),
            start_new_session=True,
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._jobs, self._answers = stdin, stdout

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, job: Job) -> None:
        self._said.seek(0)  # also for the process, which shares the offset
        self._said.truncate()
        with suppress(OSError):  # a dead child is detected when it does not answer
            line = f"{type(job).__name__.lower()} {job.target} {len(job.data)}\n"
            self._jobs.write(line.encode() + job.data)
            self._jobs.flush()

    def has_answer(self, seconds: float) -> bool:
        """Waits for an answer, or the end of the process."""
        return bool(select.select([self._answers], [], [], seconds)[0])

    def answer(self) -> tuple[int, str] | None:
        """Returns the answer; None if the process ended."""
        status, _, reason = self._answers.readline().decode().rstrip("\n").partition(" ")
        self.idle_since = time.monotonic()
        return (int(status), reason) if status else None

    def cause_of_death(self) -> tuple[int, str]:
        """Returns the status of the process that ended, and its first error message."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE)
        status = self._process.returncode or 1
        self._said.seek(0)
        lines = self._said.read().decode(errors="backslashreplace").splitlines()
        errors = [line for line in lines if "error: " in line]
        last = f": {lines[-1]}" if lines and status > 0 else ""  # the end of a traceback
        return status, (errors or [f"the compiler ended with status {status}{last}"])[0]

    def memory(self) -> int:
        """Returns the resident bytes of the process; 0 if it has just ended."""
        with suppress(OSError), open(f"/proc/{self._process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return 0

    def leave(self) -> None:
        """Ends the idle process, which removes its temporary files."""
        self._jobs.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_LEAVE)
        self.kill()

    def kill(self) -> None:
        """Ends the process and the workers in its process group, unless it has ended."""
        if self.is_alive():
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._jobs, self._answers, self._said):
            with suppress(OSError):  # bytes that were not sent
                stream.close()
