"""Runs code that may crash the process in a forked copy first.

MLIR's bytecode reader trusts its input, and the bindings abort the process at a location or an
attribute name that is not UTF-8. Python cannot catch either crash, but a forked process may crash
without harm.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import NoReturn

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.signals import ENDING, deferred

_MOST_SECONDS = 60.0
_MOST_CHARACTERS = 1000  # limit of a reason's length
_MOST_BYTES = 1 << 16  # bytes per read
_RETURNED, _RAISED = b"=", b"!"


class LostError(Exception):
    """A forked process did not end normally; the message is the reason."""


def why_lost(
    body: Callable[[], object], seconds: float = _MOST_SECONDS, busy_seconds: int | None = None
) -> str:
    """Runs `body` in a forked process; this process sees none of its effects.

    Args:
        body: function that may crash; any exception that it raises becomes the reason.
        seconds: limit of the wall time.
        busy_seconds: limit of the processor time, which does not depend on other load.

    Returns:
        The reason why the process did not end normally, empty if it did.
    """

    def run() -> str:
        body()
        return ""

    try:
        made_by(run, seconds, busy_seconds)
    except LostError as error:
        return str(error)
    return ""


def made_by(
    body: Callable[[], str], seconds: float = _MOST_SECONDS, busy_seconds: int | None = None
) -> str:
    """Runs `body` in a forked process and returns the text that it produces.

    Args:
        body: function that may crash.
        seconds: limit of the wall time.
        busy_seconds: limit of the processor time.

    Raises:
        LostError: the process crashed, raised an exception, or took longer.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings(), deferred():
        # The child only calls MLIR, and exits without ending the work of other threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            _run(body, writer, busy_seconds)
    os.close(writer)
    said: bytes | None = None
    try:
        said = _read(reader, time.monotonic() + seconds)
    finally:
        os.close(reader)
        if said is None:
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if said is None:
        raise LostError(f"reading takes more than {seconds:g} seconds")
    ended = os.waitstatus_to_exitcode(status)
    if ended == -signal.SIGXCPU:
        raise LostError(f"reading takes more than {busy_seconds} seconds")
    if ended < 0:
        raise LostError(f"the reader was ended by {signal.Signals(-ended).name}")
    text = said[1:].decode(errors="replace")
    if not said.startswith(_RETURNED):
        raise LostError(text)
    return text


def _run(body: Callable[[], str], writer: int, busy_seconds: int | None) -> NoReturn:
    """Runs `body` and ends the process."""
    try:
        faulthandler.disable()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):  # hides MLIR's output when it crashes
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if busy_seconds is not None:
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (busy_seconds, busy_seconds + 1))
        for number in ENDING:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        _write(writer, _RETURNED, body())
    except HipgraftError as error:
        _write(writer, _RAISED, error.message[:_MOST_CHARACTERS])
    except BaseException as error:
        _write(writer, _RAISED, (str(error) or type(error).__name__)[:_MOST_CHARACTERS])
    finally:
        os._exit(0)


def _write(writer: int, kind: bytes, text: str) -> None:
    with open(writer, "wb", closefd=False) as file:
        file.write(kind + text.encode(errors="replace"))


def _read(reader: int, until: float) -> bytes | None:
    """Reads to the end; None if that takes longer than `until`."""
    said = b""
    while select.select([reader], [], [], max(until - time.monotonic(), 0.0))[0]:
        more = os.read(reader, _MOST_BYTES)
        if not more:
            return said
        said += more
    return None
