"""Finds the commands in the code blocks of a page, and runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from emulator import missing_reason

_COMMAND = re.compile(r"(hipgraft-\w+ |python3? |make |pip |complete )")


def commands(page: str) -> list[str]:
    """Returns the commands in the code blocks of a page's text, each as one line."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    shell = "".join(text for language, text in blocks if language in ("", "sh"))
    lines = [line.strip() for line in shell.replace("\\\n", " ").splitlines()]
    return [line for line in lines if _COMMAND.match(line)]


def run(line: str, folder: Path) -> bool:
    """Runs a command in a folder; returns whether its device exists. If so, it must succeed."""
    if "emulat" in line and missing_reason() is not None:
        return False
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return True
