"""Remembers the code that this user wrote to files; such code runs without confirmation.

Bundles and compiled programs contain code: running a file runs the code of its author. For each
file that it writes for this user, hipgraft creates an empty file, named by the file's digest, in a
folder that nobody else can write to. Any other file runs only if the user allows it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory

_PIECE = 1 << 20


def digest(pieces: Iterable[bytes | memoryview]) -> str:
    """Returns the digest of pieces of code in order, each hashed with its length."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(len(piece).to_bytes(8, "little"))
        whole.update(piece)
    return whole.hexdigest()


def file_digest(path: str | Path) -> str:
    """Returns the digest of a file.

    Raises:
        OSError: the file cannot be read.
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remember(digest: str) -> None:
    """Remembers that this user wrote the code, if the folder is writable."""
    folder = _folder()
    with suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        (folder / digest).touch()


def remember_file(path: str | Path) -> None:
    """Remembers that this user wrote a file."""
    with suppress(OSError):
        remember(file_digest(path))


def is_known(digest: str) -> bool:
    """Returns whether this user wrote the code; the folder must be writable by them only."""
    folder = _folder()
    with suppress(OSError):
        status = folder.lstat()
        is_own = status.st_uid == os.geteuid() and not status.st_mode & (
            stat.S_IWGRP | stat.S_IWOTH
        )
        return stat.S_ISDIR(status.st_mode) and is_own and (folder / digest).exists()
    return False


def check_known(what: str, digest: str, path: str) -> None:
    """Checks that code was written by this user.

    Args:
        what: name of the object that holds the code, for the error message.
        digest: digest of the code.
        path: path of the file.

    Raises:
        HipgraftError: this user did not write the code.
    """
    if not is_known(digest):
        raise HipgraftError(
            f"{what} holds code, which would run as you, and was not written by hipgraft for you "
            "here; run it with --trust (in Python: trust=True) if you trust its author",
            location=path,
        )


def executes(device: Any) -> bool:
    """Returns whether a device executes kernels; a device that only traces does not."""
    return getattr(device, "executes", True)


def _folder() -> Path:
    return default_cache_directory() / "known-code"
