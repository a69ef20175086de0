"""A worker process: `python -m hipgraft.service.worker FD`.

It gets a function, flags of the process, and then units over a socket, and answers each unit with
an outcome. It ends when
the other side closes the socket, even in the middle of a compilation: then nobody waits for it.
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

from hipgraft.codegen.iree_session import compile_unattended, set_process_flags
from hipgraft.service.unit import Task, Unit


def main() -> None:
    """Serves until the socket closes."""
    # Ctrl-C goes to the whole terminal: the parent decides what becomes of the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compile_unattended()
    connection: Connection[Any, Any] = Connection(int(sys.argv[1]))
    task: Task
    flags: tuple[str, ...]
    task, flags = connection.recv()
    if flags:
        set_process_flags(flags)
    units: queue.SimpleQueue[Unit] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, units), daemon=True).start()
    # The greeting: what follows is time of units.
    connection.send(None)
    while True:
        connection.send(replace(task(units.get()), process=os.getpid()))


def _receive(connection: Connection[Any, Any], units: queue.SimpleQueue[Unit]) -> None:
    try:
        while True:
            units.put(connection.recv())
    except (EOFError, OSError):
        # Not `sys.exit`: the other thread may be deep in the compiler.
        os._exit(0)


if __name__ == "__main__":
    main()
