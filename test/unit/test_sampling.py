"""The cases that `make test` leaves out, and `make thorough` runs."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import mark_thorough


class _Item(SimpleNamespace):
    """The part of a pytest item that `mark_thorough` reads."""

    is_left = False

    def get_closest_marker(self, name: str) -> Any:
        return getattr(self, name, None)

    def add_marker(self, mark: Any) -> None:
        assert mark.name == "thorough"
        self.is_left = True


def kept(values: dict[str, list[Any]], step: int = 1) -> list[tuple[Any, ...]]:
    """The cases of a test that are not left out; of each parameter's values, all combinations."""
    sampled = pytest.mark.sampled(step).mark if step > 1 else None
    items = [
        _Item(
            path="f",
            cls=None,
            originalname="t",
            callspec=SimpleNamespace(params=dict(zip(values, params, strict=True))),
            sampled=sampled,
        )
        for params in itertools.product(*values.values())
    ]
    mark_thorough(items)
    return [tuple(item.callspec.params.values()) for item in items if not item.is_left]


def test_all_cases_of_a_test_without_architectures_run() -> None:
    assert kept({"case": ["a", "b"], "size": [1, 2]}) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_architectures_alternate() -> None:
    values = {"case": ["a", "b", "c"], "architecture": ["gfx942", "gfx1100"]}
    assert kept(values) == [("a", "gfx942"), ("b", "gfx1100"), ("c", "gfx942")]


def test_each_nth_case_of_a_sampled_test_runs() -> None:
    assert kept({"case": list("abcde")}, 2) == [("a",), ("c",), ("e",)]


def test_architectures_of_sampled_cases_alternate() -> None:
    values = {"case": list("abcde"), "architecture": ["gfx942", "gfx1100"]}
    assert kept(values, 2) == [("a", "gfx942"), ("c", "gfx1100"), ("e", "gfx942")]


@pytest.mark.slow
def test_each_case_that_pytest_collects_runs_for_one_architecture() -> None:
    file = Path(__file__).parent / "test_migraphx.py"
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not thorough", file]
    done = subprocess.run([*command, "-o", "addopts="], capture_output=True, text=True, check=True)
    found = re.findall(r"::test_dropped_in_kernels_run\[(\w+)-(gfx\w+)\]", done.stdout)
    modules = sorted(path.stem for path in (file.parent / "migraphx").glob("*.mlir"))
    assert [name for name, _ in found] == modules
    assert [one for _, one in found[:3]] == ["gfx942", "gfx1100", "gfx942"]
