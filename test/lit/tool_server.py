"""Runs the commands of the lit tests in children of a process that has imported them.

Most of a command's time goes into imports: those of `hipgraft-compile` take longer than compiling a
small kernel. `lit.cfg.py` starts this program, which imports all tools once. A command of a test is
`tool_client.py`, which sends its arguments, folder, environment and open files. The tool runs in a
process that is forked for it.
"""

from __future__ import annotations

import array
import gc
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from hipgraft.passmanager.registry import entries

_TOOLS = Path(__file__).resolve().parents[2] / "tools"
_MODULES = (
    "filecheck.main",
    "hipgraft.compiler.program",
    "hipgraft.frontends.onnx",
    "onnx",
    *(f"hipgraft.tools.{one.stem}" for one in _TOOLS.glob("hipgraft_*.py")),
)


def main(listener: socket.socket) -> None:
    """Serves commands until lit ends and so closes standard input.

    Args:
        listener: the socket to which commands are sent.
    """
    for name in (*_MODULES, *(one.module for one in entries().values())):
        import_module(name)
    gc.freeze()  # else a collection copies the pages of all objects
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for those who attend
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        client, _ = listener.accept()
        with client:
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                attend(client)


def attend(client: socket.socket) -> NoReturn:
    """Forks the process of a client's command, and sends its exit status."""
    text, control, _, _ = client.recvmsg(1 << 16, socket.CMSG_SPACE(12))
    while not text.endswith(b"\n"):
        text += client.recv(1 << 16)
    child = os.fork()
    if child == 0:
        client.close()
        sys.exit(run(json.loads(text), array.array("i", control[0][2])))
    _, status = os.waitpid(child, 0)
    client.sendall(b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def run(command: dict[str, Any], files: Sequence[int]) -> int:
    """Runs a command, as if this process had been started for it; returns the exit status.

    Args:
        command: what `tool_client.py` sends.
        files: the command's standard input, output and errors.
    """
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    module = import_module(command["module"])
    sys.argv = [str(module.__file__), *command["arguments"]]
    return module.main()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
