"""Units that go wrong in a worker process, told by their text."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

from hipgraft.codegen.kernel import Kernel
from hipgraft.ir.diagnostics import CodegenError
from hipgraft.service import Outcome, Unit


def misbehave(unit: Unit) -> Outcome:
    """Does what the unit's text says: `<fault> [<file>]`; with a file, only the first time."""
    fault, _, path = unit.text.partition(" ")
    if path and Path(path).exists():
        fault = "fine"
    elif path:
        Path(path).touch()
    return _FAULTS[fault](unit)


def _fine(unit: Unit) -> Outcome:
    return Outcome(kernel=Kernel(unit.target, "hsaco", (unit.name.encode(),)))


def _reject(unit: Unit) -> Outcome:
    return Outcome(error=CodegenError(f"'{unit.name}' is not supported"))


def _kill(unit: Unit) -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    return _fine(unit)


def _abort(unit: Unit) -> Outcome:
    os.write(2, b"LLVM ERROR: cannot select\n")
    os.abort()


def _exhaust(unit: Unit) -> Outcome:
    raise MemoryError("cannot allocate 9 GiB")


def _hang(unit: Unit) -> Outcome:
    time.sleep(600)
    return _fine(unit)


def _swallow(unit: Unit) -> Outcome:
    """Takes memory until it is ended for it."""
    held: list[ctypes.Array[ctypes.c_char]] = []
    while True:
        held.append(ctypes.create_string_buffer(b"x" * (16 << 20)))
        time.sleep(0.01)


_FAULTS = {
    "fine": _fine,
    "reject": _reject,
    "kill": _kill,
    "abort": _abort,
    "exhaust": _exhaust,
    "hang": _hang,
    "swallow": _swallow,
}
