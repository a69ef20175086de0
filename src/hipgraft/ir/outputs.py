"""Writes output files atomically: each file completely or not at all, a run's files together."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError

TEMPORARY = ".tmp"
"""The suffix of a file that is being written."""
_NUMBERS = count()


@dataclass(frozen=True)
class _Replacement:
    """A written file under its temporary name."""

    name: str
    temporary: Path
    target: Path
    saved: Path


class Outputs:
    """Written files under temporary names."""

    def __init__(self) -> None:
        self._files: list[_Replacement] = []

    def add(self, file: _Replacement) -> None:
        """Adds a file; it replaces an earlier one of the same name."""
        for earlier in [one for one in self._files if one.target == file.target]:
            earlier.temporary.unlink(missing_ok=True)
            self._files.remove(earlier)
        self._files.append(file)

    def rename(self) -> None:
        """Renames all files in order, or none."""
        done: list[_Replacement] = []
        try:
            for one in self._files:
                with output_errors(one.name):
                    _save(one)
                    done.append(one)
                    one.temporary.replace(one.target)
        except BaseException:
            for one in reversed(done):
                _restore(one)
            raise

    def abandon(self) -> None:
        """Removes the files that are not renamed yet."""
        for one in self._files:
            one.temporary.unlink(missing_ok=True)
            one.saved.unlink(missing_ok=True)
        self._files.clear()


# Files that `together` will rename; None outside of it.
_PENDING: ContextVar[Outputs | None] = ContextVar("PENDING", default=None)


@contextmanager
def output_errors(path: str | Path) -> Generator[None, None, None]:
    """Converts failures to write below `path` to user errors.

    Raises:
        HipgraftError: the output cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise HipgraftError(f"cannot open output file '{path}': {error.strerror}") from None
    except ValueError as error:
        # A path with a null byte raises a `ValueError`; other such errors are not the path's fault.
        if "\0" not in str(path):
            raise
        raise HipgraftError(f"cannot open output file {str(path)!r}: {error}") from None


@contextmanager
def standard_output_errors() -> Generator[None, None, None]:
    """Converts failures to write standard output to user errors.

    Raises:
        HipgraftError: it cannot be written, for instance because the disk is full.
        BrokenPipeError: the reader closed the pipe.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise HipgraftError(f"cannot write standard output: {error.strerror}") from None


@contextmanager
def replacing(path: str) -> Generator[Path, None, None]:
    """Yields a temporary path, which is renamed to `path` if the body succeeds, else removed.

    Inside of `together`, it is renamed when `together` ends. Symbolic links are followed.

    Raises:
        HipgraftError: the output cannot be written.
    """
    with output_errors(path):
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            # A device or pipe cannot be replaced.
            yield target
            return
        end = f"{os.getpid()}.{next(_NUMBERS)}{TEMPORARY}"
        temporary, saved = (target.with_name(f".{target.name}.{x}{end}") for x in ("", "old."))
        replacement = _Replacement(path, temporary, target, saved)
        pending = _PENDING.get()
        try:
            yield temporary
            if pending is None:
                temporary.replace(target)
            else:
                pending.add(replacement)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file of a cache atomically, and creates its folders.

    Raises:
        OSError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(suffix=TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def together() -> Generator[Outputs, None, None]:
    """Makes all outputs of the body appear together when it ends, or none of them.

    They are renamed in the order in which they were written, so a file that refers to another file
    is written after that file. After `abandon`, no file that was written before appears.

    Raises:
        HipgraftError: an output cannot be written; the other files stay unchanged.
    """
    outer = _PENDING.get()
    if outer is not None:
        yield outer  # nested: the outer block renames the files
        return
    outputs = Outputs()
    token = _PENDING.set(outputs)
    try:
        yield outputs
        outputs.rename()
    finally:
        _PENDING.reset(token)
        outputs.abandon()


def _save(one: _Replacement) -> None:
    # Some file systems have no links; on those, only a crash while renaming cannot be undone.
    with suppress(FileNotFoundError, PermissionError, NotImplementedError):
        os.link(one.target, one.saved)


def _restore(one: _Replacement) -> None:
    with suppress(OSError):
        if one.saved.exists():
            one.saved.replace(one.target)
        elif not one.temporary.exists():
            one.target.unlink()
