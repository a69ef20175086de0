"""Progress on a terminal, in plain lines and switched off; Ctrl-C on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from test_service import graph

from hipgraft.service import Cache

TOOL = [sys.executable, "-m", "hipgraft.tools.hipgraft_compile"]


def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "PYTHONPATH": path, "TERM": "xterm-256color", "COLUMNS": "100"}


def model(folder: Path, count: int) -> Path:
    path = folder / "graphs.mlir"
    path.write_text("".join(graph(f"g{number}", 8 + number) for number in range(count)))
    return path


def on_terminal(
    command: list[str | Path], watch: Callable[[str], bytes] = lambda shown: b""
) -> tuple[int, str]:
    """Runs a command on a separate terminal; `watch` returns the input to type."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(),
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as process:
        os.close(theirs)
        shown = ""
        while data := _read(ours):
            shown += data.decode(errors="replace")
            os.write(ours, watch(shown))
    os.close(ours)
    return process.returncode, shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # no process has it open any more
        return b""


@pytest.mark.slow
def test_terminal_shows_a_bar_and_a_line_for_each_worker(tmp_path: Path) -> None:
    command = [*TOOL, model(tmp_path, 6), "--no-cache", "-j2", "-o", tmp_path / "out.mlir"]
    status, shown = on_terminal(command)
    assert status == 0
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    for worker in (0, 1):
        assert re.search(rf"^  worker {worker}: g\d_1 for gfx942 +0:00:\d\d\b", plain, re.MULTILINE)
    assert re.search(r"compiling graphs +[━╸╺]+ [1-6]/6 0:00:\d\d", plain)
    # Nothing of it is left on the screen: cursor up and lines erased.
    assert shown.rstrip().endswith("\x1b[2K")


@pytest.mark.slow
def test_quiet_says_nothing_on_a_terminal(tmp_path: Path) -> None:
    command = [*TOOL, model(tmp_path, 1), "--no-cache", "-q", "-o", tmp_path / "out.mlir"]
    assert on_terminal(command) == (0, "")


@pytest.mark.slow
def test_lines_elsewhere(tmp_path: Path) -> None:
    command = [*TOOL, model(tmp_path, 2), f"--cache-dir={tmp_path / 'c'}", "-o", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    lines = said.stderr.splitlines()
    for number, line in enumerate(sorted(lines), start=1):
        assert re.fullmatch(rf"\[{number}/2\] compiled g\d_1 for gfx942, \d+\.\d\d s", line)
    assert len(lines) == 2
    again = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert (again.stderr, again.stdout) == ("", "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_interrupt_on_a_terminal(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    typed = False

    def interrupt(shown: str) -> bytes:
        nonlocal typed
        if typed or not cache.entries():
            return b""
        typed = True
        return b"\x03"

    command = [*TOOL, model(tmp_path, 60), "-j2", f"--cache-dir={cache.directory}"]
    status, shown = on_terminal([*command, "-o", tmp_path / "out.mlir"], interrupt)
    assert status == 130
    assert "Traceback" not in shown
    assert not (tmp_path / "out.mlir").exists()
    stored = cache.entries()
    assert 1 <= len(stored) < 60
    assert all(cache.get(each.key) for each in stored)
    assert not workers_of(tmp_path)


def workers_of(folder: Path) -> list[str]:
    """Returns the processes that still have the folder in their environment or command line."""
    time.sleep(0.5)
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # processes end meanwhile
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found
