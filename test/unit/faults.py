"""Jobs that fail in a worker process; the text of a job selects the fault."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

from hipgraft.codegen.kernel import Kernel
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service import Job, Outcome


def misbehave(job: Job) -> Outcome:
    """Does what the job's text says: `<fault> [<file>]`; with a file, only the first time."""
    fault, _, path = job.text.partition(" ")
    if path and Path(path).exists():
        fault = "fine"
    elif path:
        Path(path).touch()
    return _FAULTS[fault](job)


def _fine(job: Job) -> Outcome:
    return Outcome(kernel=Kernel(job.target, "hsaco", (job.name.encode(),)))


def _reject(job: Job) -> Outcome:
    return Outcome(error=CodegenError(f"'{job.name}' is not supported"))


def _kill(job: Job) -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    return _fine(job)


def _terminate(job: Job) -> Outcome:
    os.kill(os.getpid(), signal.SIGTERM)
    return _fine(job)


def _abort(job: Job) -> Outcome:
    os.write(2, b"LLVM ERROR: cannot select\n")
    os.abort()


def _exhaust(job: Job) -> Outcome:
    raise MemoryError("cannot allocate 9 GiB")


def _hang(job: Job) -> Outcome:
    time.sleep(600)
    return _fine(job)


def _swallow(job: Job) -> Outcome:
    """Allocates memory until the process is killed."""
    held: list[ctypes.Array[ctypes.c_char]] = []
    while True:
        held.append(ctypes.create_string_buffer(b"x" * (16 << 20)))
        time.sleep(0.01)


_FAULTS = {
    "fine": _fine,
    "reject": _reject,
    "kill": _kill,
    "terminate": _terminate,
    "abort": _abort,
    "exhaust": _exhaust,
    "hang": _hang,
    "swallow": _swallow,
}
