"""Compiles a job in this process."""

from __future__ import annotations

import resource
import sys
import threading
import time
from dataclasses import dataclass, field

from hipgraft.codegen.provider import compile_text
from hipgraft.codegen.target import Target
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.service.job import Job, Outcome

# Two threads that use one compiler session crash.
_SESSIONS = threading.Lock()

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class _Artifacts:
    """Keeps the provider's intermediate files in memory."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])

    def write(self, suffix: str, data: str | bytes) -> None:
        self.files[suffix] = data.encode() if isinstance(data, str) else data


def compile_here(job: Job) -> Outcome:
    """Compiles a job in this process; an error of the compiler becomes part of the outcome."""
    artifacts = _Artifacts()
    started = time.perf_counter()
    kernel, error = None, None
    with _SESSIONS:
        try:
            kernel = compile_text(job.text, Target.parse(job.target), job.flags, artifacts)
        except HipgraftError as caught:
            # The traceback is dropped because it holds IR and cannot be pickled.
            error = caught.with_traceback(None)
    return Outcome(
        kernel=kernel,
        error=error,
        artifacts=artifacts.files,
        seconds=time.perf_counter() - started,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT,
    )
