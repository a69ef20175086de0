"""Compiles what is on standard input for an architecture, into the user's cache.

`plan ARCHITECTURE` reads a graph of hipDNN, `session ARCHITECTURE` the path of a request.
"""

import ctypes
import signal
import sys

from hipgraft.helper.plans import Plan
from hipgraft.helper.sessions import Session
from hipgraft.ir.diagnostics import HipgraftError

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Runs the compiler and returns its exit status."""
    # Nobody waits for the result once the server has ended.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        what, architecture = sys.argv[1:]
        data = sys.stdin.buffer.read()
        job = Session.read(data, architecture) if what == "session" else Plan(data, architecture)
        job.compile()
    except HipgraftError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
