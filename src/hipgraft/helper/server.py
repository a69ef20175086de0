"""Implements `hipgraft-serve`: a socket, a thread per request, children that compile.

A request is a line `hipgraft 1 WHAT TARGET SIZE` and SIZE bytes. WHAT is `check` or `compile` for a
graph of hipDNN: the bytes are its FlatBuffer, and TARGET is an architecture with the settings of
`hipgraft.helper.settings`. WHAT is `session` for a graph of ONNX Runtime and an architecture: the
bytes are the absolute path of a request (`hipgraft.onnxruntime.request`). The answer is a line:
`yes PATH`, with the path of the bundle, or of a session's answer, which is empty until it is
compiled; `no REASON`; or `error TEXT`. When all clients that asked have disconnected, the child is
killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import select
import selectors
import socket
import stat
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from hipgraft import __version__
from hipgraft.helper import DOES_NOT_COMPILE
from hipgraft.helper.compilers import Compilers
from hipgraft.helper.plans import Plan
from hipgraft.helper.sessions import Session
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory

MOST_GRAPH = 64 << 20
"""The size limit of a request's bytes after its line."""
SECONDS = 120.0
"""The default time limit for compiling a graph of hipDNN, in seconds."""
SESSION_SECONDS = 1800.0
"""The time limit for compiling a session's graph, which may be a whole model, in seconds."""

_SETTING = rb"(?:;[a-z_]+=[a-zA-Z0-9_.,=-]+)"
_REQUEST = re.compile(
    rb"hipgraft 1 (check|compile|session) ([a-z0-9_]{3,32}" + _SETTING + rb"*) ([0-9]{1,9})\n"
)
_MOST_LINE = 256
_CREDENTIALS = struct.Struct("3i")  # `ucred`: process, user, group
_TRIES = 2  # attempts to compile a graph that crashes the compiler
_PATIENCE = 0.1  # seconds between checks whether a client still waits


class Job(Protocol):
    """The subject of one request."""

    @property
    def target(self) -> str:
        """The target to compile for."""
        ...

    @property
    def key(self) -> str:
        """The name in the cache."""
        ...

    @property
    def data(self) -> bytes:
        """The input of the child process that compiles."""
        ...

    def known(self) -> str | None:
        """Returns the answer in the cache, if there is one."""
        ...

    def check(self) -> str | None:
        """Returns why the input would not compile, or None; does not compile it."""
        ...

    def refuse(self, reason: str) -> str:
        """Returns the answer for an input that does not compile; may store the reason."""
        ...


class _Flight:
    """A request in progress, which all clients with equal requests share."""

    def __init__(self) -> None:
        self.future: Future[str] = Future()
        self.waiting = 0
        self.abandoned = threading.Event()


def folder() -> Path:
    """Returns the folder of the socket, which only this user can access.

    Raises:
        HipgraftError: other users can access it.
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


def socket_name(cache: Path) -> str:
    """Returns the file name of the socket of the helper that compiles into a cache.

    Each cache has a helper of its own, because a client trusts the content of its cache.

    Args:
        cache: an existing folder.
    """
    status = cache.stat()
    form = f"{__version__} {status.st_dev} {status.st_ino}"
    # Paths of sockets have at most 107 characters.
    return f"{hashlib.sha256(form.encode()).hexdigest()[:8]}.sock"


def socket_path() -> Path:
    """Returns the path of the socket, and creates its folder and the cache if necessary.

    Raises:
        HipgraftError: other users can access the folder.
    """
    cache = default_cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    return folder() / socket_name(cache)


class Server:
    """Answers requests until none has arrived for some time.

    Args:
        idle: number of seconds without a request after which the server ends.
        log: receives a line for each request and answer.
        seconds: time limit for compiling a graph of hipDNN.
    """

    def __init__(self, idle: float, log: Callable[[str], None], seconds: float = SECONDS):
        self._idle = idle
        self._seconds = seconds
        self._late: dict[str, str] = {}  # answers for graphs that took too long, by key
        self._log = log
        self._lock = threading.Lock()
        self._checking = threading.Lock()
        self._compiling = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1)))
        self._compilers = Compilers()
        self._flights: dict[tuple[str, str], _Flight] = {}
        self._active = 0
        self._last = time.monotonic()
        self._held: BinaryIO | None = None
        self._socket: socket.socket | None = None

    def bind(self) -> bool:
        """Creates the socket, and returns whether this is the cache's only server."""
        path = socket_path()
        # The lock is released with the process, even if it is killed; the socket's file remains.
        self._held = path.with_suffix(".lock").open("wb")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
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
        """Serves until the server has been idle for long enough."""
        assert self._socket is not None
        self._socket.setblocking(False)
        threading.Thread(target=_warm, daemon=True).start()
        with selectors.DefaultSelector() as selector, self._socket:
            selector.register(self._socket, selectors.EVENT_READ)
            while not self._is_idle():
                self._compilers.end_idle()
                if not selector.select(timeout=min(self._idle, 1.0)):
                    continue
                with suppress(BlockingIOError):
                    connection, _ = self._socket.accept()
                    with self._lock:
                        self._active += 1
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        self._compilers.end_idle(0)

    def _is_idle(self) -> bool:
        with self._lock:
            return not self._active and time.monotonic() - self._last > self._idle

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, suppress(OSError):  # the host may have disconnected
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
            data = stream.read(int(request[3]))
        if len(data) != int(request[3]):
            return "error the request is truncated"
        what, target = request[1].decode(), request[2].decode()
        try:
            job = _job(what, data, target)
        except HipgraftError as error:
            return f"error {' '.join(str(error).split())}"
        answer = self._merged(what, job, connection)
        self._log(f"{what} {job.target} {job.key[:12]}: {answer}")
        return answer

    def _merged(self, what: str, job: Job, connection: socket.socket) -> str:
        """Answers a request together with equal requests."""
        place = (what, job.key)
        with self._lock:
            flight = self._flights.get(place)
            if flight is None:
                flight = self._flights[place] = _Flight()
                arguments = (place, job, flight)
                threading.Thread(target=self._fly, args=arguments, daemon=True).start()
            flight.waiting += 1
        while not _is_done(flight.future) and not _is_closed(connection):
            pass
        with self._lock:
            flight.waiting -= 1
            if not flight.waiting and not flight.future.done():
                flight.abandoned.set()
                self._flights.pop(place, None)
        return flight.future.result() if flight.future.done() else "error nobody waits"

    def _fly(self, place: tuple[str, str], job: Job, flight: _Flight) -> None:
        try:
            if place[0] == "check":
                flight.future.set_result(self._check(job))
            else:
                flight.future.set_result(self._compile(job, flight.abandoned))
        except Exception as error:  # every waiting client gets the message
            flight.future.set_result(f"error {' '.join(str(error).split())}")
        finally:
            with self._lock:
                if self._flights.get(place) is flight:
                    del self._flights[place]

    def _check(self, job: Job) -> str:
        known = job.known() or self._late.get(job.key)
        if known is not None:
            return known
        with self._checking:
            reason = job.check()
        return "yes " if reason is None else job.refuse(reason)

    def _compile(self, job: Job, abandoned: threading.Event) -> str:
        answer = self._check(job)
        if answer != "yes ":
            return answer
        status, reason = 0, ""
        for _ in range(_TRIES):
            seconds = self._seconds if isinstance(job, Plan) else SESSION_SECONDS
            with self._compiling:
                try:
                    status, reason = self._compilers.run(job, abandoned, seconds)
                except TimeoutError as error:
                    return self._gave_up(job, str(error))
            if abandoned.is_set():
                return "error nobody waits"
            known = job.known()
            if known is not None:
                return known
            if status >= 0:
                break
        # Inputs that the compiler rejects, or that crash it each time, are remembered.
        if status < 0 or status == DOES_NOT_COMPILE:
            return job.refuse(reason)
        return f"error {' '.join(reason.split())}"

    def _gave_up(self, job: Job, reason: str) -> str:
        """Returns the answer for a compilation that took too long.

        This server remembers it; the cache does not, because another limit or a less busy machine
        may be enough.
        """
        if not isinstance(job, Plan):
            return job.refuse(reason)
        answer = f"no {reason}; HIPGRAFT_SERVE_SECONDS sets this limit"
        self._late[job.key] = answer
        return answer


def _job(what: str, data: bytes, target: str) -> Job:
    if what == "session":
        return Session.read(data, target)
    return Plan(data, target)


def _is_done(future: Future[str]) -> bool:
    """Waits briefly for an answer, and returns whether it is available."""
    with suppress(TimeoutError):
        future.exception(_PATIENCE)
        return True
    return False


def _is_closed(connection: socket.socket) -> bool:
    """Returns whether the peer has closed the connection, not only the half that it sends on."""
    poll = select.poll()
    poll.register(connection, 0)
    return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))


def _warm() -> None:
    """Imports the modules that checks need, so that the first check is as fast as later ones."""
    import hipgraft.compiler.plan_interface
    import hipgraft.engines
    import hipgraft.hipdnn_io

    assert hipgraft.compiler.plan_interface
    assert hipgraft.engines
    assert hipgraft.hipdnn_io
