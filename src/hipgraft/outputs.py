"""Output files: written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from hipgraft.diagnostics import HipgraftError


@contextmanager
def output_errors(path: str | Path) -> Generator[None, None, None]:
    """Makes failures to write below `path` the user's errors.

    Raises:
        HipgraftError: the output cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise HipgraftError(f"cannot open output file '{path}': {error.strerror}") from None


@contextmanager
def replacing(path: str) -> Generator[Path, None, None]:
    """Gives a temporary path that becomes `path` if the body succeeds, and vanishes if not.

    Raises:
        HipgraftError: the output cannot be written.
    """
    target = Path(path)
    with output_errors(path):
        if target.exists() and not target.is_file():
            # A device or pipe cannot be replaced.
            yield target
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
