"""Starts child Python processes that cannot import from the working directory.

Models are downloaded to folders that other people can write to; a `queue.py` beside a model must
not run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def python_command(*arguments: str) -> list[str]:
    """Returns a command that runs this interpreter without the working directory on its path."""
    return [sys.executable, "-P", *arguments]


def child_environment(needed: Any = None) -> dict[str, str]:
    """Returns the environment of a child that can import the modules of this process.

    Args:
        needed: a function or class whose module the child imports; its folder stays on the path
            even if it is the working directory.
    """
    entries = [entry for entry in sys.path if _is_inherited(entry, needed)]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(entries),
        # This also applies to processes that the child starts.
        "PYTHONSAFEPATH": "1",
    }


def _is_inherited(entry: str, needed: Any) -> bool:
    # A relative entry would mean another folder in the child's working directory.
    if not os.path.isabs(entry):
        return False
    return not _is_working_directory(entry) or _is_home(entry, needed)


def _is_working_directory(entry: str) -> bool:
    try:
        return os.path.samefile(entry, os.curdir)
    except OSError:
        return False


def _is_home(entry: str, needed: Any) -> bool:
    """Returns whether the package of `needed`, or hipgraft itself, was imported from `entry`."""
    modules = {__name__, getattr(needed, "__module__", __name__)}
    tops = [sys.modules.get(name.partition(".")[0]) for name in modules]
    homes = [_home(top) for top in tops if top is not None and getattr(top, "__file__", None)]
    return Path(entry).resolve() in homes


def _home(top: ModuleType) -> Path:
    file = Path(top.__file__ or "").resolve()
    return file.parent.parent if hasattr(top, "__path__") else file.parent
