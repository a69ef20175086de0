"""Tells a tool how far compilation has come."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

Ending: TypeAlias = Literal["compiled", "cached", "failed"]


@dataclass(frozen=True)
class Started:
    """A worker began to compile a container for a target.

    Attributes:
        name: of the executable.
        target: architecture.
        worker: number of the worker.
    """

    name: str
    target: str
    worker: int


@dataclass(frozen=True)
class Progress:
    """One container was compiled for one target, or found in the cache, or given up.

    Attributes:
        name: of the executable.
        target: architecture.
        ending: what became of it.
        done: compilations that ended, this one included.
        total: compilations known of; grows when a container is split.
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
"""Set by a tool; called at the start and at the end of each compilation."""
