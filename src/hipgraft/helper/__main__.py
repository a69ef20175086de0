"""Compiles the graph on standard input for an architecture, into the user's cache."""

import ctypes
import signal
import sys

from hipgraft.helper.plans import Plan
from hipgraft.ir.diagnostics import HipgraftError

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Runs the compiler and returns its exit status."""
    # Nobody waits for the result once the server has ended.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    try:
        Plan(sys.stdin.buffer.read(), sys.argv[1]).compile()
    except HipgraftError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
