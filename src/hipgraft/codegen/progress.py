"""Tells a tool how far compilation has come."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """One container was compiled for one target.

    Attributes:
        name: of the executable.
        target: architecture.
        done: compilations that ended, this one included.
        total: compilations known of; grows when a container is split.
        seconds: wall time of this compilation.
    """

    name: str
    target: str
    done: int
    total: int
    seconds: float


PROGRESS: ContextVar[Callable[[Progress], None] | None] = ContextVar("PROGRESS", default=None)
"""Set by a tool; called after each compilation."""
