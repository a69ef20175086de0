"""A worker process: `python -m hipgraft.service.worker FD`.

It receives a function, process-wide flags, and then jobs over a socket, and answers each job with
an outcome. It ends when the parent closes the socket, even during a compilation, because nobody
waits for the outcome then.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from hipgraft.codegen.iree.session import compile_unattended, set_process_flags
from hipgraft.ir.signals import ENDING
from hipgraft.service.job import Job, Task


def main() -> None:
    """Serves jobs until the socket closes."""
    # Ctrl-C reaches all processes of the terminal, but the parent decides when workers end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # the parent blocked these signals
    compile_unattended()
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    task: Task
    flags: tuple[str, ...]
    task, flags = connection.recv()
    if flags:
        set_process_flags(flags)
    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, jobs), daemon=True).start()
    # The greeting reports the end of start-up; the time of jobs begins here.
    connection.send(None)
    while True:
        connection.send(replace(task(jobs.get()), process=os.getpid()))


def _receive(connection: Connection[Any, Any], jobs: queue.SimpleQueue[Job]) -> None:
    try:
        while True:
            jobs.put(connection.recv())
    except (EOFError, OSError):
        # `sys.exit` would not end the main thread, which may be in the compiler.
        os._exit(0)


if __name__ == "__main__":
    main()
