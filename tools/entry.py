"""Starts the command-line tools: one process works, and one watches over it.

MLIR, LLVM and their bindings abort the process if an input breaks a rule that they only assume. The
watching process has done nothing but fork, so it survives to report what happened. It forwards
signals, and ends like the other process.
"""

from __future__ import annotations

import os
import signal
import sys

_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ASKED_FOR = (*_FORWARDED, signal.SIGPIPE, signal.SIGQUIT)
_PR_SET_PDEATHSIG = 1
_ONLY_TELL = ("--help", "-h", "--version")
_INTERRUPT = signal.getsignal(signal.SIGINT)


def _leave(number: int, _: object) -> None:
    os._exit(128 + number)


if _INTERRUPT is signal.default_int_handler and "hipgraft-" in sys.argv[0]:
    # Until the tool itself handles one, an interrupt ends the process without a traceback.
    signal.signal(signal.SIGINT, _leave)


def cache() -> int:
    """Runs hipgraft-cache and returns its exit status, like the functions below."""
    return watched("hipgraft_cache")


def compile() -> int:
    """Runs hipgraft-compile."""
    return watched("hipgraft_compile")


def config() -> int:
    """Runs hipgraft-config."""
    return watched("hipgraft_config")


def emulate() -> int:
    """Runs hipgraft-emulate."""
    return watched("hipgraft_emulate")


def opt() -> int:
    """Runs hipgraft-opt."""
    return watched("hipgraft_opt")


def reduce() -> int:
    """Runs hipgraft-reduce."""
    return watched("hipgraft_reduce")


def run() -> int:
    """Runs hipgraft-run."""
    return watched("hipgraft_run")


def serve() -> int:
    """Runs hipgraft-serve, which is not watched because it outlives the process that started it."""
    from hipgraft.tools import hipgraft_serve

    return hipgraft_serve.main()


def translate() -> int:
    """Runs hipgraft-translate."""
    return watched("hipgraft_translate")


def tune() -> int:
    """Runs hipgraft-tune."""
    return watched("hipgraft_tune")


def watched(tool: str) -> int:
    """Runs `main` of a module of `hipgraft.tools` in a child process; returns its exit status."""
    only_tells = len(sys.argv) == 2 and sys.argv[1].startswith(_ONLY_TELL)
    if only_tells or sys.platform != "linux":
        return _work(tool)
    # Nothing is imported before interrupts end the tool as they should.
    from hipgraft.ir import activity

    waited_for = {*_FORWARDED, signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored children cannot be waited for
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    notes, parent = activity.share(), os.getpid()
    child = os.fork()
    if child == 0:
        _end_with(parent)
        if _INTERRUPT is signal.default_int_handler:
            # Imports that are interrupted end at once, also in C++.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return _work(tool)
    return _exit_status(_wait(child, waited_for), tool, activity.noted(notes))


def _work(tool: str) -> int:
    from importlib import import_module

    main = import_module(f"hipgraft.tools.{tool}").main
    try:
        if _INTERRUPT is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return main()
    except KeyboardInterrupt:  # before the tool itself handles one
        return 128 + signal.SIGINT


def _end_with(parent: int) -> None:
    """Ends this process when its parent has been killed."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGTERM)


def _wait(child: int, waited_for: set[signal.Signals]) -> int:
    """Waits until the child has ended, forwards signals meanwhile, and returns its status."""
    while True:
        info = signal.sigwaitinfo(waited_for)
        if info.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif info.si_pid:  # a terminal has sent its signal to both
            os.kill(child, info.si_signo)


def _exit_status(ended: int, tool: str, doing: str) -> int:
    """Returns the exit status for a child's status, and reports a crash."""
    if ended >= 0:
        return ended
    number = signal.Signals(-ended)
    if number in _ASKED_FOR:
        return 128 + number
    name, where = tool.replace("_", "-"), f" in {doing}" if doing else ""
    why = "; was there too little memory?" if number is signal.SIGKILL else ""
    print(f"error: {name} was ended by {number.name}{where}{why}", file=sys.stderr)
    if tool == "hipgraft_opt" and doing.startswith("pass "):
        print(
            "note: --mlir-pass-pipeline-crash-reproducer=FILE keeps the module before each pass",
            file=sys.stderr,
        )
    return 1
