"""Compiles many graphs while workers die, hang and starve and the cache is damaged.

    python benchmarks/compile_faults.py [--graphs 200] [-j 2] [--pause 0.5] [--timeout 10]

First, the graphs are compiled without faults and without a cache, which gives the expected kernels.
Then two compilations of all graphs share a new cache, while processes are killed, stopped and
denied memory from outside, and cache entries are changed and truncated. A third compilation uses
the resulting cache on a full disk; a fourth one has free disk space again. The status is 1 if a
kernel is wrong, a graph has neither a kernel nor a reason, or a fault is not reported exactly once.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import resource
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hipgraft.codegen.canonical import container_key, container_text, find_containers
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.lowering.all_ops import lower_container
from hipgraft.codegen.progress import PROGRESS, Progress, Started
from hipgraft.codegen.target import Target
from hipgraft.ir.bindings import ir, make_context
from hipgraft.service import Cache, CompileService, Outcome, ProcessWorkers, Request

_TARGET = Target.parse("gfx942")
_FULL = 16  # size limit of files on the full disk, in bytes


def make_requests(count: int) -> list[Request]:
    """Returns different graphs of one op each."""
    with make_context() as context:
        text = "".join(_function(f"g{number}", 8 + number) for number in range(count))
        module = ir.Module.parse(text, context)
        return [_request(op, f"g{number}") for number, op in enumerate(find_containers(module))]


def _function(name: str, size: int) -> str:
    kind = f"tensor<{size}xf32>"
    return f"""
    func.func @{name}(%a: {kind}) -> {kind} {{
      %0 = "hipdnn.graph"(%a) ({{
      ^bb0(%x: {kind}):
        %y = "hipdnn.pointwise"(%x) {{
          mode = "relu_fwd", operandSegmentSizes = array<i32: 1, 0, 0>}} : ({kind}) -> {kind}
        "hipdnn.yield"(%y) : ({kind}) -> ()
      }}) {{name = "{name}"}} : ({kind}) -> {kind}
      return %0 : {kind}
    }}"""


def _request(op: ir.Operation, name: str) -> Request:
    text = lower_container(op, _TARGET)
    flags = _TARGET.default_flags
    return Request(name, container_text(op), container_key(op), _TARGET, flags, lambda: text)


@dataclass
class Run:
    """One compilation of all graphs and its reports.

    Attributes:
        outcomes: outcomes in the order of the graphs.
        endings: reported endings of each graph, by its name.
        problems: problems that the cache reported.
    """

    outcomes: list[Outcome]
    endings: list[tuple[str, str]]
    problems: list[str]

    def faults(self, right: Sequence[Kernel | None]) -> list[str]:
        """Describes violations of the expected behaviour."""
        found: list[str] = []
        for number, outcome in enumerate(self.outcomes):
            heard = [ending for name, ending in self.endings if name == f"g{number}"]
            failed = outcome.kernel is None
            if not failed and outcome.kernel != right[number]:
                found.append(f"g{number} has a wrong kernel")
            if failed and outcome.error is None:
                found.append(f"g{number} is lost")
            if len(heard) != 1 or (heard[0] == "failed") != failed:
                found.append(f"g{number} was reported as {heard}")
        found += [
            f"told {times} times: {told}"
            for told, times in Counter(self.problems).items()
            if times > 1
        ]
        return found


def compile_all(
    requests: Sequence[Request],
    workers: ProcessWorkers,
    cache: Cache | None = None,
    *,
    is_full: bool = False,
) -> Run:
    """Compiles all graphs, on a full disk if `is_full`."""
    endings: list[tuple[str, str]] = []

    def show(event: Progress | Started) -> None:
        if isinstance(event, Progress):
            endings.append((event.name, event.ending))

    PROGRESS.set(show)
    # The cache's disk is full, not the compiler's: workers must not inherit the limit.
    workers.prepare()
    with CompileService(workers, cache) as service, full_disk() if is_full else nullcontext():
        outcomes = service.compile(requests)
    return Run(outcomes, endings, [] if cache is None else cache.problems)


@dataclass
class Saboteur:
    """Injects one fault after the other while compilations run.

    Attributes:
        directory: folder of the cache.
        pause: seconds between faults.
        done: number of faults of each kind.
        damaged: contents of damaged entries.
    """

    directory: Path
    pause: float
    done: Counter[str] = field(default_factory=Counter[str])
    damaged: dict[Path, bytes] = field(default_factory=dict[Path, bytes])

    @contextmanager
    def working(self) -> Iterator[None]:
        """Injects faults until the context exits."""
        over = threading.Event()
        thread = threading.Thread(target=self._work, args=(over,))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def left_damaged(self) -> set[str]:
        """Returns the keys of damaged entries that were not rewritten."""
        return {p.stem for p, data in self.damaged.items() if p.read_bytes() == data}

    def _work(self, over: threading.Event) -> None:
        faults = (self._kill, self._change, self._stop, self._cut, self._starve)
        for fault in itertools.cycle(faults):
            if over.wait(self.pause):
                return
            # The subject of the fault may be gone.
            with suppress(ProcessLookupError, FileNotFoundError, IndexError):
                fault()
                self.done[fault.__name__.lstrip("_")] += 1

    def _kill(self) -> None:
        os.kill(random.choice(_processes()), signal.SIGKILL)

    def _stop(self) -> None:
        os.kill(random.choice(_processes()), signal.SIGSTOP)

    def _starve(self) -> None:
        resource.prlimit(random.choice(_processes()), resource.RLIMIT_AS, (1, 1))

    def _change(self) -> None:
        path, data = self._entry()
        place = random.randrange(len(data))
        self._damage(path, data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])

    def _cut(self) -> None:
        path, data = self._entry()
        self._damage(path, data[: len(data) // 2])

    def _entry(self) -> tuple[Path, bytes]:
        path = random.choice([p for p in self.directory.glob("*/*.zip") if p not in self.damaged])
        return path, path.read_bytes()

    def _damage(self, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        self.damaged[path] = data


def _processes() -> list[int]:
    """Returns the worker processes."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


@contextmanager
def full_disk() -> Iterator[None]:
    """Prevents files of this process from growing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FULL, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def judge(
    requests: Sequence[Request], start: Callable[[], ProcessWorkers], saboteur: Saboteur
) -> list[str]:
    """Runs everything, prints what happened, and returns the violations."""
    directory = saboteur.directory
    right = [outcome.kernel for outcome in compile_all(requests, start()).outcomes]
    if None in right:
        return ["in peace a graph does not compile"]
    with saboteur.working(), ThreadPoolExecutor(2) as threads:
        both = [threads.submit(compile_all, requests, start(), Cache(directory)) for _ in range(2)]
        runs = {f"together {number}": each.result() for number, each in enumerate(both)}
    damaged = saboteur.left_damaged()
    runs["full disk"] = compile_all(requests, start(), Cache(directory), is_full=True)
    runs["in peace"] = compile_all(requests, start(), Cache(directory))
    print("faults:", ", ".join(f"{name} {count}" for name, count in saboteur.done.items()))
    for name, run in runs.items():
        _print_run(name, run)
    found = [f"{name}: {what}" for name, run in runs.items() for what in run.faults(right)]
    return found + _unheard(damaged, runs["full disk"], runs["in peace"])


def _unheard(damaged: set[str], full: Run, last: Run) -> list[str]:
    """Describes damage and a full disk that the cache did not report, or reported too often."""
    problems = full.problems
    found = [
        f"damaged entry {key} was reported {times} times"
        for key in damaged
        if (times := sum(key in problem for problem in problems)) != 1
    ]
    is_written = any(ending == "compiled" for _, ending in full.endings)
    expected = len(damaged) + is_written
    if len(problems) != expected:
        found.append(f"the cache told {len(problems)} problems, expected {expected}")
    if last.problems or any(outcome.kernel is None for outcome in last.outcomes):
        found.append("in peace again, something still fails")
    return found


def _print_run(name: str, run: Run) -> None:
    counts = Counter(ending for _, ending in run.endings)
    counted = ", ".join(f"{ending} {count}" for ending, count in sorted(counts.items()))
    print(f"{name:12} {counted}; the cache told {len(run.problems)} problems")
    reasons = {str(each.error) for each in run.outcomes if each.error is not None}
    for reason in sorted(reasons):
        print(f"  {reason}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between faults")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds until one hangs")
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        found = judge(
            make_requests(flags.graphs),
            partial(ProcessWorkers, flags.jobs, timeout=flags.timeout),
            Saboteur(Path(name), flags.pause),
        )
    for each in found:
        print(f"WRONG: {each}")
    print("no wrong result, nothing lost, every failure reported once" if not found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
