"""Defines the flags of compilations: workers, their limits, the cache, overrides."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hipgraft.ir.diagnostics import HipgraftError, HipgraftWarning
from hipgraft.tools import cli

if TYPE_CHECKING:
    from hipgraft.service import Cache, CompileService, Workers
    from hipgraft.service.tuning.database import Tuned
    from hipgraft.service.tuning.search import Mode, Search

_SEARCHES = ("none", "default", "full")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def add_service_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that `open_service` reads."""
    add_worker_arguments(parser)
    add = parser.add_argument_group("kernels").add_argument
    add("--cache-dir", default="", metavar="DIR", help="directory of the kernel cache")
    add(
        "--cache-from",
        action="append",
        default=[],
        metavar="DIR",
        help="further cache, which is only read",
    )
    add(
        "--trust",
        action="store_true",
        help="run code that hipgraft did not write for you: entries of caches that belong to "
        "other users, bundles, compiled programs",
    )
    add("--no-cache", action="store_true", help="compile every graph")
    add("--overrides", default="", metavar="FILE.yaml", help="compiler flags of single graphs")
    add("--verify", action="store_true", help="run each AMD GPU kernel on the emulator first")
    add("--tuning-spec", default="", metavar="FILE.mlir", help="a transform-dialect library")
    add_cost_model_arguments(parser)
    add = parser.add_argument_group("choice of lowerings").add_argument
    add("--search", choices=_SEARCHES, default=_SEARCHES[1], help="lowerings to try")
    add(
        "--search-budget",
        type=cli.magnitude,
        default=600.0,
        metavar="SECONDS",
        help="time after which no new search starts",
    )


def add_cost_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that `open_search` reads besides the mode."""
    add = parser.add_argument_group("cost models").add_argument
    add(
        "--cost-models",
        default="static",
        metavar="NAMES",
        help="some of static, counted, estimated, timed; the first decides",
    )
    add(
        "--timing-device",
        default="",
        metavar="DEVICE",
        help="device that 'timed' uses; by default the GPU of this machine",
    )
    add("--tuning-db", action="append", default=[], metavar="FILE.json", help="best lowerings")


def add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags that `open_workers` reads."""
    add = parser.add_argument_group("workers").add_argument
    add(
        "-j",
        "--jobs",
        type=cli.positive,
        metavar="N",
        help="worker processes; by default one per core",
    )
    add(
        "--timeout",
        type=cli.magnitude,
        default=600.0,
        metavar="SECONDS",
        help="time limit of a graph",
    )
    add(
        "--memory-limit",
        default="0",
        metavar="SIZE",
        help="memory limit of a worker, such as 2G; by default none",
    )
    add("--executor", default="", metavar="dask://HOST:PORT", help="compile on a Dask cluster")


def extra_flags(flags: argparse.Namespace) -> list[str]:
    """Returns the compiler flags for all graphs."""
    from hipgraft.service.override_fields import tuning_spec_flag

    spec = [tuning_spec_flag(flags.tuning_spec)] if flags.tuning_spec else []
    return [*cli.split_flags(flags.iree_flags, "--iree-flags"), *spec]


@contextmanager
def open_service(flags: argparse.Namespace) -> Generator[CompileService, None, None]:
    """Yields the service that the flags describe, and prints its cache's problems.

    Raises:
        HipgraftError: a flag has a wrong value, or an executor cannot be reached.
    """
    from hipgraft.service import CompileService, read_overrides

    overrides = read_overrides(flags.overrides) if flags.overrides else []
    cache = None if flags.no_cache else _cache(flags)
    search = open_search(flags, flags.search, flags.search_budget)
    workers = open_workers(flags)
    with CompileService(workers, cache, overrides, search, verify=flags.verify) as service:
        try:
            yield service
        finally:
            _warn(cache)


def open_search(flags: argparse.Namespace, mode: Mode, budget: float) -> Search:
    """Returns the search that the flags describe; later databases win over the shipped one.

    Raises:
        HipgraftError: a database cannot be read, or a cost model lacks its device.
    """
    from hipgraft.service.tuning.database import read_database, shipped_database
    from hipgraft.service.tuning.search import Search, open_cost_models

    database = shipped_database()
    for path in flags.tuning_db:
        entries = read_database(path).entries
        _warn_if_stale(path, entries)
        database.merge(entries)
    cost_models = open_cost_models(flags.cost_models.split(","), flags.timing_device)
    return Search(mode, cost_models, database, budget)


def _warn_if_stale(path: str, entries: Sequence[Tuned]) -> None:
    import warnings

    from hipgraft.service.keys import compiler_version

    versions = {entry.compiler for entry in entries}
    if versions and compiler_version() not in versions:
        found = ", ".join(sorted(versions))
        message = f"nothing here is for compiler {compiler_version()}, only for {found}"
        warnings.warn(HipgraftWarning(message, path), stacklevel=2)


def parse_size(text: str, flag: str) -> int:
    """Returns bytes from `512M` or `2G`.

    Raises:
        HipgraftError: the text is malformed.
    """
    number, unit = text.rstrip("KMG"), text[len(text.rstrip("KMG")) :]
    if not cli.is_number(number) or unit not in _UNITS:
        raise HipgraftError(f"expected a size such as 512M or 2G in '{flag}', found '{text}'")
    return int(number) * _UNITS[unit]


def open_workers(flags: argparse.Namespace) -> Workers:
    """Returns the workers that the flags describe.

    Raises:
        HipgraftError: a flag has a wrong value, or an executor cannot be reached.
    """
    from hipgraft.service import ProcessWorkers, connect_executor

    if flags.executor:
        return connect_executor(flags.executor)
    limit = parse_size(flags.memory_limit, "--memory-limit")
    return ProcessWorkers(flags.jobs, timeout=flags.timeout, memory_limit=limit)


def _cache(flags: argparse.Namespace) -> Cache:
    from hipgraft.service import Cache, default_cache_directory

    directory = Path(flags.cache_dir) if flags.cache_dir else default_cache_directory()
    sources = [Path(source) for source in flags.cache_from]
    for source in sources:
        if not source.is_dir():
            raise HipgraftError(f"cannot open cache '{source}': no such directory")
    return Cache(directory, sources, trust=flags.trust)


def _warn(cache: Cache | None) -> None:
    if cache is None or not cache.problems:
        return
    import sys

    from hipgraft.ir.diagnostics import Diagnostic, Severity
    from hipgraft.passmanager.diagnostic_printer import DiagnosticPrinter

    printer = DiagnosticPrinter(sys.stderr)
    for problem in cache.problems:
        printer.print(Diagnostic(Severity.WARNING, problem, str(cache.directory)))
