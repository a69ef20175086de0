"""The compile service: looks kernels up in the cache and compiles the missing ones."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hipgraft.codegen.objects.resource_stats import kernel_resources
from hipgraft.codegen.progress import PROGRESS, Ending, Progress, Started
from hipgraft.ir.closing import Closing
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service.cache import Cache
from hipgraft.service.entry import Entry
from hipgraft.service.in_process import InProcess
from hipgraft.service.job import Job, Outcome, Workers
from hipgraft.service.keys import cache_key, compiler_version, generator_version
from hipgraft.service.overrides import Override, flags_for
from hipgraft.service.request import Request

if TYPE_CHECKING:
    from hipgraft.service.tuning.search import Search
    from hipgraft.service.verification import Verifier

# Weights to estimate the compile time: each occurrence of a substring in the input adds the weight
# of the substring.
_COSTS = {
    "linalg.conv": 10,
    "attention": 10,
    "tensor.pad ": 10,
    "matmul": 5,
    "linalg.": 1,
    "torch.": 1,
}


@dataclass
class Statistics:
    """Statistics of a service so far.

    Attributes:
        hits: kernels that the cache contained.
        compiled: kernels that were compiled.
        failed: compilations without a kernel, cached failures included.
        lost: failures that may succeed when repeated: crashes and timeouts.
        compile_seconds: seconds of compilation, summed over workers.
        lookup_seconds: seconds of computing keys and reading the cache.
        peak_memory: peak resident bytes of each process that compiled, by process ID.
        verified: number of verified kernels by verdict: `right`, `wrong`, `unknown`.
    """

    hits: int = 0
    compiled: int = 0
    failed: int = 0
    lost: int = 0
    compile_seconds: float = 0.0
    lookup_seconds: float = 0.0
    peak_memory: dict[int, int] = field(default_factory=dict[int, int])
    verified: Counter[str] = field(default_factory=Counter[str])

    def add(self, outcome: Outcome) -> None:
        """Counts one outcome."""
        self.hits += outcome.cached
        self.failed += outcome.kernel is None
        self.lost += not outcome.permanent
        if outcome.verdict is not None:
            self.verified[outcome.verdict.status] += 1
        if outcome.cached:
            return
        self.compiled += outcome.kernel is not None
        self.compile_seconds += outcome.seconds
        if outcome.process:
            self.peak_memory[outcome.process] = outcome.peak_memory


class CompileService(Closing):
    """Compiles requests, with or without a cache.

    As a context manager, it ends its workers on exit.

    Attributes:
        workers: compile the jobs.
        cache: cache of kernels; None to compile everything.
        overrides: flags for single graphs.
        search: chooses a plan for each graph; None uses the default plan.
        verifier: runs each kernel for an AMD GPU on the emulator before it is used; a kernel whose
            results differ from those of the CPU counts as failed. None to skip verification.
        statistics: statistics of all requests so far.
    """

    def __init__(
        self,
        workers: Workers | None = None,
        cache: Cache | None = None,
        overrides: Sequence[Override] = (),
        search: Search | None = None,
        *,
        verify: bool = False,
    ):
        self.workers = workers or InProcess()
        self.cache = cache
        self.overrides = tuple(overrides)
        self.search = search
        self.statistics = Statistics()
        self.verifier = _open_verifier() if verify else None
        self._total = 0
        self._done = 0

    def close(self) -> None:
        """Ends the worker processes."""
        self.workers.close()

    def compile(self, requests: Sequence[Request]) -> list[Outcome]:
        """Returns the outcome of each request, in order; each is cached as soon as it is done.

        Raises:
            HipgraftError: an error that does not depend on the graph, such as an unknown flag.
        """
        if self.search is None:
            return self.compile_each(requests)
        return self.search.compile(requests, self.compile_each)

    def compile_each(self, requests: Sequence[Request]) -> list[Outcome]:
        """Returns the outcome of each request, in order, without a search."""
        self._total += len(requests)
        batch = _Batch(self, requests)
        batch.look_up()
        batch.prepare_verification()
        batch.compile()
        return batch.outcomes()

    def tell(self, request: Request, outcome: Outcome) -> None:
        """Counts an outcome and reports it as progress."""
        self.statistics.add(outcome)
        self._done += 1
        show = PROGRESS.get()
        if show is not None:
            name, target, ending = request.name, request.target.name, _ending(outcome)
            show(Progress(name, target, ending, self._done, self._total, outcome.seconds))


class _Batch:
    """The state of the requests of one call."""

    def __init__(self, service: CompileService, requests: Sequence[Request]):
        self._service = service
        self._requests = requests
        self._flags = [self._effective_flags(request) for request in requests]
        self._keys: list[str] = []
        self._found: dict[int, Outcome] = {}
        self._unverified: dict[int, Outcome] = {}
        self._references: dict[int, Outcome] = {}

    def look_up(self) -> None:
        cache = self._service.cache
        if cache is None:
            return
        started = time.perf_counter()
        for index, request in enumerate(self._requests):
            self._keys.append(cache_key(request.container, request.target, self._flags[index]))
            entry = cache.get(self._keys[index])
            if entry is None or not self._fits(request, entry):
                continue
            if self._is_to_be_verified(request, entry.outcome):
                self._unverified[index] = entry.outcome
            else:
                self._end(index, entry.outcome)
        self._service.statistics.lookup_seconds += time.perf_counter() - started

    def _fits(self, request: Request, entry: Entry) -> bool:
        kernel, error = entry.outcome.kernel, entry.outcome.error
        reason = "it is a program's" if kernel is None and error is None else ""
        reason = reason if kernel is None else request.misfit(kernel)
        if reason and self._service.cache is not None:
            self._service.cache.drop(entry.key, reason)
        return not reason

    def prepare_verification(self) -> None:
        """Compiles the reference kernels for the verification."""
        verifier = self._service.verifier
        if verifier is None:
            return
        references = {
            index: reference
            for index, request in enumerate(self._requests)
            if index not in self._found and (reference := verifier.reference(request)) is not None
        }
        if not references:
            return
        # A graph has the same reference for all GPUs.
        distinct = {each.container: each for each in references.values()}
        outcomes = dict(
            zip(distinct, self._service.compile_each(list(distinct.values())), strict=True)
        )
        self._references = {index: outcomes[each.container] for index, each in references.items()}
        for index, outcome in self._unverified.items():
            self._finish(index, outcome)

    def compile(self) -> None:
        jobs = {index: self._job(index) for index in self._missing()}
        # `_unit` has ended the requests without a lowering.
        indices = [index for index, job in jobs.items() if job is not None]
        compiled = self._service.workers.run(
            [job for job in jobs.values() if job is not None],
            lambda position, worker: self._tell_start(indices[position], worker),
        )
        for position, outcome in compiled:
            if outcome.error is not None and not isinstance(outcome.error, CodegenError):
                raise outcome.error
            self._finish(indices[position], outcome)
        if indices and self._service.cache is not None:
            self._service.cache.prune()

    def outcomes(self) -> list[Outcome]:
        return [self._found[index] for index in range(len(self._requests))]

    def _effective_flags(self, request: Request) -> tuple[str, ...]:
        own = flags_for(self._service.overrides, request.name, request.digest, request.target.name)
        return request.flags + own

    def _missing(self) -> list[int]:
        return [index for index in range(len(self._requests)) if index not in self._found]

    def _job(self, index: int) -> Job | None:
        request = self._requests[index]
        try:
            text = request.lower()
        except CodegenError as error:
            self._end(index, Outcome(error=error))
            return None
        return Job(request.name, request.target.name, self._flags[index], text, _cost(text))

    def _is_to_be_verified(self, request: Request, outcome: Outcome) -> bool:
        verifier = self._service.verifier
        if verifier is None or outcome.kernel is None or outcome.verdict is not None:
            return False
        return verifier.reference(request) is not None

    def _finish(self, index: int, outcome: Outcome) -> None:
        """Verifies, caches and reports an outcome."""
        verifier, reference = self._service.verifier, self._references.get(index)
        if verifier is not None and reference is not None:
            outcome = verifier.verify(self._requests[index], outcome, reference)
        self._keep(index, outcome)
        self._end(index, outcome)

    def _keep(self, index: int, outcome: Outcome) -> None:
        cache = self._service.cache
        if cache is None or not outcome.permanent:
            return
        request = self._requests[index]
        metadata: dict[str, Any] = {
            "name": request.name,
            "graph": request.digest,
            "target": request.target.name,
            "flags": [*request.target.device_flags, *self._flags[index]],
            "compiler": compiler_version(),
            "generator": generator_version(),
            "seconds": outcome.seconds,
            "kernels": [asdict(f) for f in kernel_resources(outcome.kernel)]
            if outcome.kernel
            else [],
        }
        if outcome.verdict is not None:
            metadata["verdict"] = asdict(outcome.verdict)
        cache.put(Entry(self._keys[index], metadata, outcome))

    def _end(self, index: int, outcome: Outcome) -> None:
        self._found[index] = outcome
        self._service.tell(self._requests[index], outcome)

    def _tell_start(self, index: int, worker: int) -> None:
        show = PROGRESS.get()
        if show is not None:
            request = self._requests[index]
            show(Started(request.name, request.target.name, worker))


_SERVICE: ContextVar[CompileService | None] = ContextVar("SERVICE", default=None)


def current_service() -> CompileService:
    """Returns the service that `use_service` set; by default an uncached one in this process.

    With this default, `hipgraft-opt`, its tests and reproducers compile in their own process.
    """
    return _SERVICE.get() or CompileService()


def is_service_used() -> bool:
    """Whether `use_service` set a service."""
    return _SERVICE.get() is not None


@contextmanager
def use_service(service: CompileService) -> Generator[CompileService, None, None]:
    """Makes passes compile with `service`, and does not close it."""
    token = _SERVICE.set(service)
    try:
        yield service
    finally:
        _SERVICE.reset(token)


def _open_verifier() -> Verifier:
    # Imported here because it loads devices and the lowerings.
    from hipgraft.service.verification import Verifier

    return Verifier()


def _cost(text: str) -> int:
    return sum(cost * text.count(name) for name, cost in _COSTS.items())


def _ending(outcome: Outcome) -> Ending:
    if outcome.kernel is None:
        return "failed"
    return "cached" if outcome.cached else "compiled"
