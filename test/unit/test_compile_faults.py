"""Faults from outside while compilations share a cache; the benchmark has 200 graphs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "compile_faults.py"


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="finds and limits processes as on Linux")
def test_no_wrong_result_nothing_lost_every_failure_reported_once() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, SCRIPT, "--graphs=6", "--pause=0.4", "--timeout=10"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    faults = re.search(r"^faults: (.*)", done.stdout, re.MULTILINE)
    assert faults is not None
    assert "kill" in faults[1]
    assert done.stdout.endswith("no wrong result, nothing lost, every failure reported once\n")
