"""The children of the helper: reused while they live, replaced when they crash or take too long."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from hipgraft.helper import DOES_NOT_COMPILE, compilers
from hipgraft.helper.compilers import Compilers

CHILD = """
import os, sys, time
while line := sys.stdin.buffer.readline():
    exec(sys.stdin.buffer.read(int(line.split()[2])))
"""
TELL = b"print(0, os.getpid(), flush=True)"


@dataclass
class Code:
    """A job that the child executes."""

    data: bytes
    target: str = "cpu"


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Generator[Compilers]:
    monkeypatch.setattr(compilers, "python_command", lambda *_: [sys.executable, "-c", CHILD])
    made = Compilers()
    yield made
    made.end_idle(0)


def run(children: Compilers, code: bytes, seconds: float = 60) -> tuple[int, str]:
    return children.run(Code(code), threading.Event(), seconds)


def wait_for_the_end(process: int) -> None:
    end = time.monotonic() + 20
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.kill(process, 0)
            time.sleep(0.01)
        raise AssertionError("the process lives")


def test_jobs_share_a_child_until_it_was_idle(children: Compilers) -> None:
    status, first = run(children, TELL)
    assert status == 0
    children.end_idle()
    assert run(children, TELL) == (0, first)
    children.end_idle(0)
    wait_for_the_end(int(first))
    assert run(children, TELL)[1] != first


def test_crashes_are_told_and_the_child_replaced(children: Compilers) -> None:
    _, first = run(children, TELL)
    assert run(children, b"os.abort()") == (-6, "the compiler ended with status -6")
    assert run(children, b"raise OSError('error: no disk')")[1].endswith("error: no disk")
    assert run(children, b"next(iter([]))") == (
        1,
        "the compiler ended with status 1: StopIteration",
    )
    _, second = run(children, TELL)
    assert second != first
    os.kill(int(second), signal.SIGKILL)  # while it is idle
    time.sleep(0.1)
    assert run(children, TELL)[0] == 0


@pytest.mark.slow
def test_nobody_waits_for_what_is_late_or_abandoned(children: Compilers) -> None:
    _, first = run(children, TELL)
    with pytest.raises(TimeoutError, match=r"did not end in 0.2 s"):
        run(children, b"time.sleep(60)", 0.2)
    wait_for_the_end(int(first))
    abandoned = threading.Event()
    abandoned.set()
    answer = children.run(Code(b"time.sleep(60)"), abandoned, 60)
    assert answer == (DOES_NOT_COMPILE, "nobody waits")
