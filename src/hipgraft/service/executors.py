"""Compiling on other people's workers: any executor of `concurrent.futures`, a Dask cluster."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from typing import Any

from hipgraft.diagnostics import CodegenError, HipgraftError
from hipgraft.service.unit import OnStart, Outcome, Unit, compile_unit

_DASK = "dask://"


class ExecutorWorkers:
    """Submits units to an executor, the costliest first; isolation is the executor's matter.

    Attributes:
        executor: belongs to the caller, who also ends it.
    """

    def __init__(self, executor: Executor, close: Callable[[], None] | None = None):
        """Wraps an executor.

        Args:
            executor: where units run.
            close: what else is to be ended with these workers.
        """
        self.executor = executor
        self._close = close

    def prepare(self) -> None:
        """Does nothing: when its workers start is the executor's matter."""

    def run(self, units: Sequence[Unit], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each unit's index and outcome as soon as it is there."""
        order = sorted(range(len(units)), key=lambda index: units[index].cost, reverse=True)
        futures: dict[Future[Outcome], int] = {}
        for index in order:
            futures[self.executor.submit(compile_unit, units[index])] = index
            on_start(index, 0)
        try:
            for future in as_completed(futures):
                yield futures[future], _outcome(future)
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """Ends what was given to be ended; the executor itself goes on."""
        if self._close is not None:
            self._close()


def connect_executor(address: str, *, timeout: float = 10.0) -> ExecutorWorkers:
    """Returns the workers of `dask://HOST:PORT`.

    Args:
        address: of the scheduler.
        timeout: seconds to wait for it.

    Raises:
        HipgraftError: the address has another form, Dask is not installed, or nobody answers.
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
    # Compiling is pure, but equal units are never submitted twice: no need to hash their text.
    return ExecutorWorkers(client.get_executor(pure=False), client.close)


def _outcome(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        raise HipgraftError(f"the executor gave up: {error}") from None
    except HipgraftError:
        raise
    except Exception as error:
        # A worker's death, in the executor's own words.
        reason = f"the executor failed: {type(error).__name__}: {error}"
        return Outcome(error=CodegenError(reason), permanent=False)
