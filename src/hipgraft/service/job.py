"""Defines a compilation job (one graph for one target) and its outcome.

Both are sent between processes, so they hold text and bytes instead of IR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from hipgraft.codegen.iree.session import process_flags
from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.target import Target
from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from hipgraft.service.tuning.decision import Decision


@dataclass(frozen=True)
class Job:
    """One graph to compile for one target.

    Attributes:
        name: name of the executable, for progress and messages.
        target: architecture.
        flags: compiler flags besides those that select the target.
        text: the compiler's input.
        cost: estimated compilation cost, comparable only with the costs of other jobs.
    """

    name: str
    target: str
    flags: tuple[str, ...]
    text: str
    cost: int = 0

    @property
    def process_flags(self) -> tuple[str, ...]:
        """All flags of the job if some are process-wide; otherwise none."""
        flags = (*Target.parse(self.target).device_flags, *self.flags)
        return flags if process_flags(flags) else ()


@dataclass(frozen=True)
class Verdict:
    """The result of a verification.

    Attributes:
        status: `unknown` if the kernel or its reference cannot be run.
        reason: why the kernel is wrong or its correctness unknown; for a right kernel that ran only
            in part, the part that ran.
    """

    status: Literal["right", "wrong", "unknown"]
    reason: str = ""


@dataclass(frozen=True)
class Outcome:
    """A kernel, or the error that prevented it.

    Attributes:
        kernel: None if compilation failed.
        error: None if compilation succeeded.
        artifacts: intermediate files of the compilation, by name: `input.mlir`, `0.hsaco`, ...
        seconds: wall time of the compilation in the process that compiled.
        permanent: whether the same input gives the same outcome again; False after a crash or
            timeout.
        cached: whether the outcome comes from the cache.
        peak_memory: peak resident bytes of the compiling process up to this job; 0 if unknown.
        process: ID of the compiling process; 0 if no process compiled.
        decision: the choice among the compilation plans, if there were several.
        verdict: whether the kernel is right; None if it was not verified.
    """

    kernel: Kernel | None = None
    error: HipgraftError | None = None
    artifacts: dict[str, bytes] = field(default_factory=dict[str, bytes])
    seconds: float = 0.0
    permanent: bool = True
    cached: bool = False
    peak_memory: int = 0
    process: int = 0
    decision: Decision | None = None
    verdict: Verdict | None = None


Task = Callable[[Job], Outcome]
"""The function that a worker process applies to each job."""

OnStart = Callable[[int, int], None]
"""Called with the index of a job and the number of the worker that starts it."""


class Workers(Protocol):
    """Compiles jobs in any order, in this process or elsewhere."""

    def prepare(self) -> None:
        """Starts resources that `run` will need, without waiting for them."""
        ...

    def run(self, jobs: Sequence[Job], on_start: OnStart) -> Iterator[tuple[int, Outcome]]:
        """Yields each job's index and outcome as soon as it is done."""
        ...

    def close(self) -> None:
        """Releases all resources."""
        ...
