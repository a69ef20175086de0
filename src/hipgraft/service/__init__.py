"""The compile scheduler: its jobs, the cache of kernels, and the worker processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hipgraft.ir.directories import default_cache_directory
from hipgraft.service.cache import Cache
from hipgraft.service.executors import ExecutorWorkers, connect_executor
from hipgraft.service.in_process import InProcess
from hipgraft.service.job import Job, Outcome, Workers
from hipgraft.service.overrides import Override, read_overrides
from hipgraft.service.processes import ProcessWorkers
from hipgraft.service.request import Request
from hipgraft.service.service import CompileService, current_service, is_service_used, use_service

if TYPE_CHECKING:
    from hipgraft.service.tuning.search import Search


def default_service(workers: Workers | None = None, search: Search | None = None) -> CompileService:
    """Returns a service with the user's cache and the shipped database, as in the tools.

    Args:
        workers: workers that compile the jobs; by default one process per core.
        search: search that chooses lowerings; by default the tools' search.
    """
    # Imported here because the search imports the service.
    from hipgraft.service.tuning.database import shipped_database
    from hipgraft.service.tuning.search import Search

    search = search or Search(database=shipped_database())
    workers = workers or ProcessWorkers()
    return CompileService(workers, Cache(default_cache_directory()), search=search)


__all__ = [
    "Cache",
    "CompileService",
    "ExecutorWorkers",
    "InProcess",
    "Job",
    "Outcome",
    "Override",
    "ProcessWorkers",
    "Request",
    "Workers",
    "connect_executor",
    "current_service",
    "default_cache_directory",
    "default_service",
    "is_service_used",
    "read_overrides",
    "use_service",
]
