"""Defers signals where an exception of their handlers would cause a crash."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end."""


@contextmanager
def deferred() -> Generator[None, None, None]:
    """Defers the signals in `ENDING`, whose handlers may raise exceptions at a harmful time.

    An exception that passes through C++ aborts the process, numpy's C code prints a traceback
    instead of passing it on, Python loses an exception that is raised while it forks, and a
    process or folder is left behind if the exception is raised before anything refers to it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
