"""Compiles in the caller's process, without workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from hipgraft.codegen.iree.session import IreeSession, process_flags
from hipgraft.service.compilation import compile_here
from hipgraft.service.job import Job, OnStart, Outcome
from hipgraft.service.processes import ProcessWorkers


class InProcess:
    """Compiles jobs one after the other in this process; a compiler crash ends the process."""

    def prepare(self) -> None:
        """Does nothing."""

    def run(self, jobs: Sequence[Job], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each job's index and outcome, in order."""
        for index, job in enumerate(jobs):
            on_start(index, 0)
            yield index, compile_job(job)

    def close(self) -> None:
        """Does nothing."""


def compile_job(job: Job) -> Outcome:
    """Compiles a job in this process, or in a child if some of its flags are process-wide."""
    if process_flags(job.flags) and not IreeSession.process_flags:
        with closing(ProcessWorkers(1)) as workers:
            ((_, outcome),) = workers.run([job], lambda index, worker: None)
        return outcome
    return compile_here(job)
