"""The server behind `hipgraft-serve`: a socket, a thread per request, a child per compilation.

A request is a line `hipgraft 1 WHAT ARCHITECTURE SIZE` and SIZE bytes, a graph of hipDNN as a
FlatBuffer. WHAT is `check` or `compile`. The answer is a line: `yes PATH`, where the path of the
bundle is empty as long as nothing is compiled, `no REASON`, or `error TEXT`.
"""

from __future__ import annotations

import fcntl
import os
import re
import selectors
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from hipgraft import __version__
from hipgraft.helper.plans import Plan
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory
from hipgraft.service.child_python import child_environment, python_command

MOST_GRAPH = 64 << 20
"""Bytes of a graph."""
SECONDS = 1800.0
"""How long a compilation may take."""

_REQUEST = re.compile(rb"hipgraft 1 (check|compile) ([a-z0-9_]{3,32}) ([0-9]{1,9})\n")
_MOST_LINE = 256
_CREDENTIALS = struct.Struct("3i")  # `ucred`: process, user, group
_TRIES = 2  # to compile a graph on which the compiler crashes


def folder() -> Path:
    """Returns the folder of the socket, made for this user alone.

    Raises:
        HipgraftError: somebody else can reach it.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(runtime, "hipgraft") if runtime else default_cache_directory() / "run"
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise HipgraftError("the folder is not this user's alone", location=str(path))
    return path


class Server:
    """Answers requests until nobody asks any more.

    Args:
        idle: seconds without a request after which it ends.
        log: gets a line for each request and answer.
    """

    def __init__(self, idle: float, log: Callable[[str], None]):
        self._idle = idle
        self._log = log
        self._lock = threading.Lock()
        self._checking = threading.Lock()
        self._compiling = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1)))
        self._flights: dict[tuple[str, str], Future[str]] = {}
        self._active = 0
        self._last = time.monotonic()
        self._held: BinaryIO | None = None
        self._socket: socket.socket | None = None

    def bind(self) -> bool:
        """Makes the socket; returns whether this is the only server of the user."""
        place = folder()
        # The lock goes with the process, also where that is killed; the socket's file stays.
        self._held = (place / f"serve-{__version__}.lock").open("wb")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        path = place / f"serve-{__version__}.sock"
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(path))
        except OSError as error:
            raise HipgraftError(str(error), location=str(path)) from None
        path.chmod(0o600)
        self._socket.listen(128)
        return True

    def run(self) -> None:
        """Serves; returns when the server was idle for long enough."""
        assert self._socket is not None
        self._socket.setblocking(False)
        threading.Thread(target=_warm, daemon=True).start()
        with selectors.DefaultSelector() as selector, self._socket:
            selector.register(self._socket, selectors.EVENT_READ)
            while not self._is_idle():
                if not selector.select(timeout=min(self._idle, 1.0)):
                    continue
                with suppress(BlockingIOError):
                    connection, _ = self._socket.accept()
                    with self._lock:
                        self._active += 1
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _is_idle(self) -> bool:
        with self._lock:
            return not self._active and time.monotonic() - self._last > self._idle

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):  # the host may have gone
                connection.setblocking(True)
                connection.sendall(f"{self._answer(connection)}\n".encode())
        finally:
            with self._lock:
                self._active -= 1
                self._last = time.monotonic()

    def _answer(self, connection: socket.socket) -> str:
        *_, user, _ = _CREDENTIALS.unpack(
            connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        )
        if user != os.getuid():
            return "error the request is another user's"
        with connection.makefile("rb") as stream:
            request = _REQUEST.fullmatch(stream.readline(_MOST_LINE))
            if request is None or int(request[3]) > MOST_GRAPH:
                return "error the request is malformed"
            graph = stream.read(int(request[3]))
        if len(graph) != int(request[3]):
            return "error the request is truncated"
        plan = Plan(graph, request[2].decode())
        answer = self._merged(request[1].decode(), plan)
        self._log(f"{request[1].decode()} {plan.architecture} {plan.key[:12]}: {answer}")
        return answer

    def _merged(self, what: str, plan: Plan) -> str:
        """Answers a request, together with those that ask for the same."""
        with self._lock:
            flight = self._flights.get((what, plan.key))
            is_first = flight is None
            if flight is None:
                flight = self._flights[what, plan.key] = Future()
        if is_first:
            try:
                flight.set_result(self._check(plan) if what == "check" else self._compile(plan))
            except Exception as error:  # told to all who wait
                flight.set_result(f"error {' '.join(str(error).split())}")
            finally:
                with self._lock:
                    del self._flights[what, plan.key]
        return flight.result()

    def _known(self, plan: Plan) -> str | None:
        if plan.bundle.exists():
            return f"yes {plan.bundle}"
        refusal = plan.refusal()
        return None if refusal is None else f"no {refusal}"

    def _check(self, plan: Plan) -> str:
        known = self._known(plan)
        if known is not None:
            return known
        with self._checking:
            reason = plan.check()
        return "yes " if reason is None else f"no {plan.refuse(reason)}"

    def _compile(self, plan: Plan) -> str:
        answer = self._check(plan)
        if answer != "yes ":
            return answer
        reason = ""
        for _ in range(_TRIES):
            with self._compiling:
                status, reason = _run_compiler(plan)
            if plan.bundle.exists():
                return f"yes {plan.bundle}"
            if status >= 0:
                break
        return f"no {plan.refuse(reason)}"


def _run_compiler(plan: Plan) -> tuple[int, str]:
    """Compiles in a child process; returns its exit status and what it said was wrong."""
    command = python_command("-m", "hipgraft.helper", plan.architecture)
    try:
        done = subprocess.run(
            command,
            input=plan.graph,
            env=child_environment(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, f"the graph did not compile in {SECONDS:.0f} s"
    said = done.stderr.decode(errors="backslashreplace")
    errors = [line for line in said.splitlines() if "error: " in line]
    return done.returncode, (errors or [f"the compiler ended with status {done.returncode}"])[0]


def _warm() -> None:
    """Imports what checks need, so that the first one is as quick as others."""
    import hipgraft.engines
    import hipgraft.hipdnn_io

    assert hipgraft.engines
    assert hipgraft.hipdnn_io
