"""Runs tools: errors, signals and closed streams all end a tool without leaving files behind."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError

_SIGNALS = ("SIGTERM", "SIGHUP")
_FRAMES = 8
_LONGEST_REASON = 500


def run_tool(body: Callable[[], int]) -> int:
    """Runs a tool's body and returns its exit status; prints an error as MLIR does."""
    received: list[int] = []
    try:
        with _closed_streams(), _signals_end(received):
            status = body()
            _flush()
            return status
    except HipgraftError as error:
        return _told(error)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except _Ended as ended:
        return 128 + ended.number
    except BrokenPipeError:
        # The reader closed the pipe.
        _drop_output()
        return 1
    except OSError as error:
        return _told(_system_error(error))
    except Exception as error:
        if received:  # a library treated it as an error, as NumPy does while it is imported
            return 128 + received[0]
        return _told(_internal_error(error))


def _told(error: HipgraftError) -> int:
    # Imported here because most runs end without an error.
    from hipgraft.passmanager.diagnostic_printer import DiagnosticPrinter

    with suppress(OSError, ValueError):
        DiagnosticPrinter(sys.stderr).print_error(error)
    _drop_unwritten()
    return 1


def _system_error(error: OSError) -> HipgraftError:
    """Converts an error of the system, such as a full disk, to a user error."""
    names = ", ".join(repr(name) for name in (error.filename, error.filename2) if name is not None)
    reason = error.strerror or str(error)
    return HipgraftError(f"{reason}: {names}" if names else reason, notes=_notes(error))


def _notes(error: Exception) -> tuple[str, ...]:
    return tuple(getattr(error, "__notes__", ()))


def _internal_error(error: Exception) -> HipgraftError:
    """Converts an exception that is our bug to an error with all data for a bug report."""
    # Imported here because it takes milliseconds.
    import traceback

    words = " ".join(str(error).split())[:_LONGEST_REASON]
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    called = [f"in {frame.name}, {frame.filename}:{frame.lineno}" for frame in reversed(frames)]
    notes = (*_notes(error), *called, "this is a defect of hipgraft: report it")
    return HipgraftError(f"internal error: {type(error).__name__}: {words}", notes=notes)


class _Ended(BaseException):
    """A signal asks the process to end; open resources are closed while this propagates."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@contextmanager
def _signals_end(received: list[int]) -> Generator[None, None, None]:
    """Makes SIGTERM and SIGHUP end workers and remove their folders, as errors do.

    Args:
        received: gets each of these signals, and each SIGINT, which raises `KeyboardInterrupt`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: Any) -> None:
        for each in previous:
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        raise _Ended(number)

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    previous: dict[int, Any] = {}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        previous[signal.SIGINT] = signal.signal(signal.SIGINT, interrupt)
    for number in [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]:
        # A signal that the parent ignores, as `nohup` does, stays ignored.
        if signal.getsignal(number) is signal.SIG_DFL:
            previous[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _closed_streams() -> Generator[None, None, None]:
    """Opens empty streams if the process was started with closed ones."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (as long as the process)
    yield


def _flush() -> None:
    """Writes all buffered output.

    Raises:
        HipgraftError: the output cannot be written, for instance because the disk is full.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _drop_output()
        raise HipgraftError(f"cannot write standard output: {error.strerror}") from None


def _drop_unwritten() -> None:
    """Discards buffered output, which Python would write, or complain about, at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _drop_output()


def _drop_output() -> None:
    """Discards standard output, about which Python would complain again when it closes it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
