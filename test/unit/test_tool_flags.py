"""Odd values of flags end no tool in a traceback; the benchmark draws thousands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "tool_flags.py"
MODEL = ROOT / "test" / "lit" / "tools" / "Inputs" / "conv_relu.mlir"


@pytest.mark.slow
def test_odd_values() -> None:
    command = [sys.executable, SCRIPT, "--runs=8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_all_tools_have_flags() -> None:
    sys.path.append(str(SCRIPT.parent))
    from tool_flags import TOOLS, flags_of

    assert set(TOOLS) == {path.name for path in Path(sys.executable).parent.glob("hipgraft-*")}
    assert {"--target", "-o"} <= set(flags_of("hipgraft-compile"))
    assert len(flags_of("hipgraft-opt")) > 50


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["hipgraft-compile", "--target=gfx942", "--iree-flags=--\udcff"], r"flag '--\udcff'"),
        (["hipgraft-compile", "--target=gfx942", "--no-cache", "--iree-flags=\udcff"], r"'\udcff'"),
        (["hipgraft-tune", "-q", "--iree-flags=--\udcff"], r"flag '--\udcff' is not UTF-8"),
        (["hipgraft-opt", "--hipdnn-compile=target=\udcff"], r"unknown target '\udcff'"),
    ],
)
def test_options_that_are_not_utf_8(command: list[str], error: str, tmp_path: Path) -> None:
    """Once, encoding them in a key, a reproducer or a flag caused an internal error."""
    tool, *flags = command
    done = subprocess.run(
        [Path(sys.executable).parent / tool, MODEL, *flags],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert error in done.stderr
    assert "internal error" not in done.stderr
