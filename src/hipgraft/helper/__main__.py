"""Compiles jobs from standard input into the user's cache; see `hipgraft.helper.compilers`.

A job `plan` has a graph of hipDNN, a job `session` the path of a request. The status in an answer
is `DOES_NOT_COMPILE` if the compiler rejects the input, and 1 after other errors (full disk).
"""

import ctypes
import os
import signal
import sys

from hipgraft.helper import DOES_NOT_COMPILE
from hipgraft.helper.plans import Plan
from hipgraft.helper.sessions import Session
from hipgraft.ir.diagnostics import HipgraftError

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Compiles until standard input ends."""
    prctl = ctypes.CDLL(None).prctl
    # The output of compilers must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    while line := sys.stdin.buffer.readline():
        what, target, size = line.decode().split()
        data = sys.stdin.buffer.read(int(size))
        # The result is useless once the server has ended.
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        status, reason = _compile(what, target, data)
        prctl(_PR_SET_PDEATHSIG, 0)
        print(status, reason, file=answers, flush=True)


def _compile(what: str, target: str, data: bytes) -> tuple[int, str]:
    """Compiles a job; returns its status, and the first line of its error."""
    try:
        job = Session.read(data, target) if what == "session" else Plan(data, target)
        job.compile()
    except HipgraftError as error:
        return DOES_NOT_COMPILE, str(error).splitlines()[0]
    except OSError as error:
        return 1, f"error: {error}"
    return 0, ""


if __name__ == "__main__":
    main()
