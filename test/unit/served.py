"""The helpers that compile, of a user whose XDG_RUNTIME_DIR is `home / "run"`."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def user_in(home: Path) -> Generator[Path]:
    """Makes the folder `run` of a user, and ends the user's helpers afterwards."""
    home.mkdir(exist_ok=True)
    (home / "run").mkdir(mode=0o700)
    yield home
    kill_helpers(home)


def helpers(home: Path) -> list[int]:
    """Process ids of the user's helpers."""
    found: list[int] = []
    wanted = f"XDG_RUNTIME_DIR={home / 'run'}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (folder / "cmdline").read_bytes()
            if b"hipgraft-serve" in command and wanted in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def kill_helpers(home: Path) -> None:
    """Kills the user's helpers."""
    for process in helpers(home):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
