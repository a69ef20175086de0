"""What searches have found stays mended, and a short search finds nothing new.

`python -m fuzz TARGET` makes an input that does harm smaller and keeps it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fuzz.__main__ import REGRESSIONS
from fuzz.engine import Finding, Search, Target, minimised
from fuzz.targets import TARGETS
from hipgraft.ir.diagnostics import HipgraftError

FRESH = int(os.environ.get("HIPGRAFT_FUZZ_INPUTS", "2000")) // len(TARGETS)
SEED = int(os.environ.get("HIPGRAFT_FUZZ_SEED", "0"))


def findings(target: Target, inputs: list[bytes]) -> list[Finding]:
    return [each for each in Search(target, inputs) if not each.is_native]


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_that_did_harm(name: str) -> None:
    kept = [path.read_bytes() for path in sorted((REGRESSIONS / name).glob("*"))]
    for finding in findings(TARGETS[name], kept):
        raise AssertionError(finding.text)


@pytest.mark.parametrize("name", TARGETS)
def test_fresh_inputs(name: str) -> None:
    target = TARGETS[name]
    for finding in findings(target, [target.fresh(SEED, number) for number in range(FRESH)]):
        raise AssertionError(f"{finding.text}\nthe input: {finding.data[:2000]!r}")


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


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fuzz.engine.MOST_SECONDS", 0.5)
    (found,) = Search(target(lambda path: time.sleep(30)), [b"x"])
    assert found.key.startswith("hang")


def test_what_is_found_is_made_smaller() -> None:
    def run(path: Path) -> None:
        if b"!" in path.read_bytes():
            raise KeyError("x")

    (found,) = Search(target(run), [b"some words ! and more"])
    assert minimised(found, target(run)).data == b"!"


def test_inputs_are_the_same_each_time() -> None:
    one = TARGETS["hipdnn-json"]
    assert one.fresh(1, 5) == one.fresh(1, 5)
    assert one.fresh(1, 5) != one.fresh(2, 5)
