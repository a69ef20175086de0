"""Reports the progress of compilation to a tool."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

Ending: TypeAlias = Literal["compiled", "cached", "failed"]


@dataclass(frozen=True)
class Started:
    """A worker started to compile a container for a target.

    Attributes:
        name: name of the executable.
        target: architecture.
        worker: number of the worker.
    """

    name: str
    target: str
    worker: int


@dataclass(frozen=True)
class Progress:
    """The compilation of a container for one target ended.

    Attributes:
        name: name of the executable.
        target: architecture.
        ending: whether it was compiled, found in the cache, or failed.
        done: number of compilations that ended, including this one.
        total: number of compilations known so far; grows when a container is split.
        seconds: wall time of this compilation.
    """

    name: str
    target: str
    ending: Ending
    done: int
    total: int
    seconds: float


PROGRESS: ContextVar[Callable[[Started | Progress], None] | None] = ContextVar(
    "PROGRESS", default=None
)
"""A callback that tools set; called at the start and at the end of each compilation."""
