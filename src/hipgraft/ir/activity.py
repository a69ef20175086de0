"""What a process is doing, for the process that watches over it: a crash cannot tell any more."""

from __future__ import annotations

import mmap

_PAGE = mmap.PAGESIZE
_shared: mmap.mmap | None = None


def share() -> mmap.mmap:
    """Returns memory in which this process and those forked from it note what they do."""
    global _shared
    _shared = mmap.mmap(-1, _PAGE)
    return _shared


def doing(what: str) -> None:
    """Notes what begins now, for instance `pass 'cse'`; costs nothing where nobody watches."""
    if _shared is not None:
        _shared[:] = what.encode(errors="backslashreplace")[:_PAGE].ljust(_PAGE, b"\0")


def noted(memory: mmap.mmap) -> str:
    """Returns what was noted last; empty if nothing was."""
    return memory[:].rstrip(b"\0").decode(errors="replace")
