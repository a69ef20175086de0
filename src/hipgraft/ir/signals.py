"""Signals wait while native libraries load, and while Python forks."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end."""


@contextmanager
def deferred() -> Generator[None, None, None]:
    """Defers `ENDING`, of which a handler may raise an exception where it does harm or is lost.

    An exception that passes through C++ aborts the process, the C code of numpy prints a traceback
    instead, and Python loses what is raised while it forks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
