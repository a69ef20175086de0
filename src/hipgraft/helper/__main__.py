"""Compiles standard input for a target into the user's cache.

`plan TARGET` reads a graph of hipDNN, `session ARCHITECTURE` the path of a request. The exit
status is `DOES_NOT_COMPILE` if the compiler rejects the input, and 1 after other errors (full
disk).
"""

import ctypes
import signal
import sys

from hipgraft.helper import DOES_NOT_COMPILE
from hipgraft.helper.plans import Plan
from hipgraft.helper.sessions import Session
from hipgraft.ir.diagnostics import HipgraftError

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Runs the compiler and returns its exit status."""
    # The result is useless once the server has ended.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        what, target = sys.argv[1:]
        data = sys.stdin.buffer.read()
        job = Session.read(data, target) if what == "session" else Plan(data, target)
        job.compile()
    except HipgraftError as error:
        print(error, file=sys.stderr)
        return DOES_NOT_COMPILE
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
