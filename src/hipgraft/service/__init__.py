"""The compile service: units of work, the cache of kernels, and the processes that compile."""

from __future__ import annotations

from hipgraft.service.cache import Cache, default_cache_directory
from hipgraft.service.executors import ExecutorWorkers, connect_executor
from hipgraft.service.overrides import Override, read_overrides
from hipgraft.service.processes import ProcessWorkers
from hipgraft.service.service import (
    CompileService,
    Request,
    current_service,
    is_service_used,
    use_service,
)
from hipgraft.service.unit import InProcess, Outcome, Unit, Workers


def default_service() -> CompileService:
    """Returns a service with a worker process per core and the user's cache, as the tools have."""
    # Only now: the search is built upon the service.
    from hipgraft.tuning.database import shipped_database
    from hipgraft.tuning.search import Search

    search = Search(database=shipped_database())
    return CompileService(ProcessWorkers(), Cache(default_cache_directory()), search=search)


__all__ = [
    "Cache",
    "CompileService",
    "ExecutorWorkers",
    "InProcess",
    "Outcome",
    "Override",
    "ProcessWorkers",
    "Request",
    "Unit",
    "Workers",
    "connect_executor",
    "current_service",
    "default_cache_directory",
    "default_service",
    "is_service_used",
    "read_overrides",
    "use_service",
]
