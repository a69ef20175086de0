"""Faults of the system while tools run; the benchmark has 200 on all tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "tool_faults.py"
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="preloads a library")


def search(*flags: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, SCRIPT, *flags]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
@needs_compiler
@pytest.mark.slow
def test_no_half_output_and_nothing_left() -> None:
    said = search("--faults=18", "--tools", "opt", "translate", "reduce")
    faults = re.search(r"^faults: (.*)", said, re.MULTILINE)
    assert faults is not None
    for kind in ("ENOSPC", "SIG", "clock", "read-only", "vanish"):
        assert kind in faults[1]


@needs_compiler
@pytest.mark.thorough
def test_no_result_of_the_compiler_lost() -> None:
    search("--faults=12", "--seed=1")


def with_shim(tmp_path: Path, faults: dict[str, str], *command: str) -> tuple[int, str]:
    sys.path.append(str(SCRIPT.parent))
    from tool_faults import build_shim

    folder = tmp_path / "temporary"
    folder.mkdir()
    environment = {"LD_PRELOAD": str(build_shim(tmp_path)), "TMPDIR": str(folder), **faults}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert not list(folder.iterdir())
    return done.returncode, done.stderr


@pytest.mark.slow
@needs_compiler
def test_what_the_system_refuses_is_no_defect_of_hipgraft(tmp_path: Path) -> None:
    """A full disk once ended in `internal error: OSError`, and in an empty reproducer."""
    model = ROOT / "test" / "lit" / "tools" / "Inputs" / "conv_relu.mlir"
    status, said = with_shim(
        tmp_path,
        {"FAULT_WRITE": "1"},
        *("hipgraft.tools.hipgraft_reduce", str(model), "--test=grep -q relu", "-q"),
    )
    assert status == 1
    assert "No space left on device" in said or "No usable temporary directory" in said
    assert "internal error" not in said


@pytest.mark.slow
@needs_compiler
def test_a_reproducer_that_cannot_be_written_is_not_left(tmp_path: Path) -> None:
    path = tmp_path / "x.mlir"
    path.write_text("func.func @f() { return }")
    command = ("hipgraft.tools.hipgraft_opt", str(path), "--test-fail")
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        status, said = with_shim(tmp_path / number, {"FAULT_WRITE": number}, *command)
        assert status == 1
        assert "no reproducer left" in said
        assert "internal error" not in said
