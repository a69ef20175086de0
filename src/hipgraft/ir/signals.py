"""Signals wait while native libraries load."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def deferred() -> Generator[None, None, None]:
    """Defers signals: an exception that one raises would pass through C++, which aborts.

    The C code of numpy prints a traceback instead.
    """
    waiting = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
