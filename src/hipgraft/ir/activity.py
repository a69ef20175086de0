"""Reports the current activity of a child process to its parent, for messages after a crash."""

from __future__ import annotations

import mmap

_PAGE = mmap.PAGESIZE
_shared: mmap.mmap | None = None


def share() -> mmap.mmap:
    """Returns memory in which this process and its forks record their activity."""
    global _shared
    _shared = mmap.mmap(-1, _PAGE)
    return _shared


def doing(what: str) -> None:
    """Records the start of an activity, e.g. `pass 'cse'`; does nothing if no memory is shared."""
    if _shared is not None:
        _shared[:] = what.encode(errors="backslashreplace")[:_PAGE].ljust(_PAGE, b"\0")


def noted(memory: mmap.mmap) -> str:
    """Returns the last recorded activity; empty if there is none."""
    return memory[:].rstrip(b"\0").decode(errors="replace")
