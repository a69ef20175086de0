"""Inputs that searches have found stay harmless, and a short search finds no new ones.

`python -m fuzz TARGET` reduces a harmful input and stores it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.engine import Search, Target, minimised
from fuzz.targets import TARGETS
from hipgraft.ir.diagnostics import HipgraftError

ROOT = Path(__file__).resolve().parents[2]
FRESH = int(os.environ.get("HIPGRAFT_FUZZ_INPUTS", "500")) // len(TARGETS)
SEED = int(os.environ.get("HIPGRAFT_FUZZ_SEED", "0"))


def search(*flags: str) -> None:
    """Searches in a separate process, because a process with threads should not fork."""
    command = [sys.executable, "-m", "fuzz", "--no-keep", *flags]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_inputs_that_did_harm() -> None:
    search("--replay")


@pytest.mark.slow
def test_fresh_inputs() -> None:
    search(f"--inputs={FRESH}", f"--seed={SEED}")


def target(run: Callable[[Path], object]) -> Target:
    return Target("x", ".txt", lambda: [b"ab"], lambda data, *_: data, run)


def harm(path: Path) -> None:
    match path.read_bytes():
        case b"good":
            return
        case b"error":
            raise HipgraftError("expected")
        case b"bug":
            raise KeyError("x")
        case b"crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case b"write":
            (path.parents[1] / "elsewhere").write_text("x")
        case b"exit":
            os._exit(3)


def test_each_kind_of_harm_is_found_and_costs_one_input() -> None:
    inputs = [b"good", b"error", b"bug", b"crash", b"good", b"exit", b"write"]
    search = Search(target(harm), inputs)
    found = {each.data: each.key for each in search}
    assert found == {
        b"bug": "KeyError",
        b"crash": "SIGSEGV ",
        b"exit": "exit ",
        b"write": "wrote ['elsewhere']",
    }
    assert search.ran == len(inputs)


@pytest.mark.slow
def test_no_input_is_lost_between_children() -> None:
    search = Search(target(harm), [b"good"] * 205)
    assert list(search) == []
    assert search.ran == 205


@pytest.mark.slow
def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.engine.MOST_SECONDS", 0.5)
    (found,) = Search(target(lambda path: time.sleep(30)), [b"x"])
    assert found.key.startswith("hang")


@pytest.mark.slow
def test_what_is_found_is_made_smaller() -> None:
    def run(path: Path) -> None:
        if b"!" in path.read_bytes():
            raise KeyError("x")

    (found,) = Search(target(run), [b"some words ! and more"])
    assert minimised(found, target(run)).data == b"!"


_REDUCES = """
import test_reduction
from fuzz.engine import Search, Target, minimised
from hipgraft import frontends
from hipgraft.ir.bindings import make_context

def run(path):
    frontends.read(path, make_context())  # most text that loses bytes does not parse
    if "tanh_fwd" in path.read_text():
        raise KeyError("x")

target = Target("x", ".mlir", lambda: [], lambda data, *_: data, run)
(found,) = Search(target, [b"// RUN: x\\n" + test_reduction.module_text().encode()])
reduced = minimised(found, target, seconds=60).data
assert b"tanh_fwd" in reduced and len(reduced) < 500, reduced
"""


@pytest.mark.slow
def test_modules_lose_ops_before_bytes() -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "test" / "unit")])
    done = subprocess.run(
        [sys.executable, "-c", _REDUCES],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_inputs_are_the_same_each_time() -> None:
    one = TARGETS["hipdnn-json"]
    assert one.fresh(1, 5) == one.fresh(1, 5)
    assert one.fresh(1, 5) != one.fresh(2, 5)
