"""Requests to the compile service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.target import Target
from hipgraft.service.keys import check_flag

if TYPE_CHECKING:
    from hipgraft.service.tuning.plans import Choices


@dataclass(frozen=True)
class Request:
    """A request to compile a graph for a target.

    Attributes:
        name: name of the executable.
        container: the graph's canonical text, which determines its kernel.
        digest: digest of that text.
        target: target to compile for.
        flags: compiler flags besides those that select the target.
        lower: function that returns the compiler's input; not called on a cache hit.
        choices: alternative plans for the graph; None if there are none.
        buffers: number of the graph's operands and results; None if unknown.

    Raises:
        HipgraftError: a flag cannot be passed to the compiler.
    """

    name: str
    container: str
    digest: str
    target: Target
    flags: tuple[str, ...]
    lower: Callable[[], str]
    choices: Choices | None = None
    buffers: int | None = None

    def __post_init__(self) -> None:
        for flag in self.flags:
            check_flag(flag)

    def misfit(self, kernel: Kernel) -> str:
        """Returns the reason why a kernel cannot belong to the graph; empty if it can."""
        if kernel.target != self.target.name:
            return f"its kernel is for '{kernel.target}'"
        # The workspace's number follows those of the operands and results.
        if self.buffers is not None and kernel.last_buffer > self.buffers:
            return f"its kernel has a buffer {kernel.last_buffer}"
        return ""
