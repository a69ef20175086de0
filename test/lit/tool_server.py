"""Runs the commands of the lit tests in children of a process that has imported them.

Most of a command's time goes into imports: those of `hipgraft-compile` take longer than compiling a
small kernel. `lit.cfg.py` starts this program, which imports all tools once. A command of a test is
`tool_client.py`, which sends its arguments, folder, environment and open files. The tool runs in a
process that is forked for it. If that process sends no status, it has crashed, and the client does,
too.
"""

from __future__ import annotations

import array
import ast
import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

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
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing waits for the children
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
    """Runs a client's command, sends its exit status, and ends this process."""
    text, control, _, _ = client.recvmsg(1 << 16, socket.CMSG_SPACE(12))
    while not text.endswith(b"\n"):
        text += client.recv(1 << 16)
    try:
        status = run(*ast.literal_eval(text.decode()), array.array("i", control[0][2]))
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    client.sendall(b"%d" % status)
    os._exit(status)  # the interpreter's own end would copy the pages of all modules


def run(
    module: str,
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    files: Sequence[int],
) -> int:
    """Runs a command, as if this process had been started for it; returns the exit status.

    Args:
        module: the module whose `main` is the tool.
        arguments: what follows its name.
        folder: the working directory.
        environment: the environment variables.
        files: the command's standard input, output and errors.
    """
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    tool = import_module(module)
    sys.argv = [str(tool.__file__), *arguments]
    return tool.main()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
