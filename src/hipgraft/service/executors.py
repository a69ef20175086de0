"""Compiles on external workers: any executor of `concurrent.futures`, or a Dask cluster."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from typing import Any

from hipgraft.ir.diagnostics import CodegenError, HipgraftError
from hipgraft.service.in_process import compile_job
from hipgraft.service.job import Job, OnStart, Outcome

_DASK = "dask://"


class ExecutorWorkers:
    """Submits jobs to an executor, costliest first; the executor must isolate crashes.

    Attributes:
        executor: executor of the caller, who also shuts it down.
    """

    def __init__(self, executor: Executor, close: Callable[[], None] | None = None):
        """Wraps an executor.

        Args:
            executor: runs the jobs.
            close: called when these workers close.
        """
        self.executor = executor
        self._close = close

    def prepare(self) -> None:
        """Does nothing: the executor decides when its workers start."""

    def run(self, jobs: Sequence[Job], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each job's index and outcome as soon as it is done."""
        order = sorted(range(len(jobs)), key=lambda index: jobs[index].cost, reverse=True)
        futures: dict[Future[Outcome], int] = {}
        for index in order:
            futures[self.executor.submit(compile_job, jobs[index])] = index
            on_start(index, 0)
        try:
            for future in as_completed(futures):
                yield futures[future], _outcome(future)
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """Calls the `close` function; does not shut the executor down."""
        if self._close is not None:
            self._close()


def connect_executor(address: str, *, timeout: float = 10.0) -> ExecutorWorkers:
    """Returns the workers of `dask://HOST:PORT`.

    Args:
        address: address of the scheduler.
        timeout: seconds to wait for the scheduler.

    Raises:
        HipgraftError: the address is malformed, Dask is not installed, or no scheduler answers.
    """
    if not address.startswith(_DASK):
        raise HipgraftError(f"unknown executor '{address}': expected dask://HOST:PORT")
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        raise HipgraftError("executor 'dask' needs package 'hipgraft[dask]'") from None
    scheduler = "tcp://" + address.removeprefix(_DASK)
    try:
        client = distributed.Client(scheduler, timeout=timeout, set_as_default=False)
    except OSError as error:
        raise HipgraftError(f"cannot connect to '{address}': {error}") from None
    # Compiling is pure, but equal jobs are never submitted twice, so hashing their text would gain
    # nothing.
    return ExecutorWorkers(client.get_executor(pure=False), client.close)


def _outcome(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise HipgraftError(f"the executor gave up: {error}") from None
    except HipgraftError:
        raise
    except Exception as error:
        # A worker died; the message is the executor's own.
        reason = f"the executor failed: {type(error).__name__}: {error}"
        return Outcome(error=CodegenError(reason), permanent=False)
