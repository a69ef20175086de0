"""The cache on disk: a folder with one file per entry, named by its key.

Files are renamed into place when they are complete, so any number of processes can share a folder
without locks. At worst, two of them compile the same graph and write the same entry.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.outputs import TEMPORARY, write_whole
from hipgraft.service.entry import MOST_BYTES, DamagedEntryError, Entry, is_key

DEFAULT_MAX_BYTES = 4 << 30
"""Default size of the cache in bytes above which entries are evicted."""

_SUFFIX = ".zip"
_ASK = "without --trust (in Python: trust=True)"

# Temporary files older than this are removed: killed processes left them behind.
_STALE_SECONDS = 3600.0


@dataclass(frozen=True)
class StoredEntry:
    """A file of the cache.

    Attributes:
        key: key of the entry.
        path: the file.
        size: size in bytes.
        used: time of the last read or write, in seconds since the epoch.
    """

    key: str
    path: Path
    size: int
    used: float


@dataclass
class Cache:
    """A folder of entries, and read-only folders that are searched after it.

    Attributes:
        directory: folder that entries are read from and written to; created at the first write.
        sources: read-only folders that are searched after `directory`.
        max_bytes: size in bytes above which the least recently used entries are evicted.
        trust: whether to read entries that other users wrote; their kernels run with this user's
            permissions.
        problems: messages for the user about failed reads and writes; these never fail a
            compilation.
    """

    directory: Path
    sources: Sequence[Path] = ()
    max_bytes: int = DEFAULT_MAX_BYTES
    trust: bool = False
    problems: list[str] = field(default_factory=list[str])
    _writable: bool = True

    def get(self, key: str) -> Entry | None:
        """Returns the entry of a key; a damaged one is discarded."""
        for directory in (self.directory, *self.sources):
            path = _path(directory, key)
            entry = self._read(path, key, discard=directory == self.directory)
            if entry is not None:
                # Eviction reads the time of the last use from the file's modification time.
                with suppress(OSError):
                    os.utime(path)
                return entry
        return None

    def put(self, entry: Entry) -> None:
        """Writes an entry; if the folder is not writable, reports that once and writes no more."""
        if not self._writable or sum(map(len, entry.outcome.artifacts.values())) > MOST_BYTES:
            return
        try:
            write_whole(_path(self.directory, entry.key), entry.to_bytes())
        except OSError as error:
            self._writable = False
            reason = error.strerror or str(error)
            self.problems.append(f"kernels are not cached in '{self.directory}': {reason}")

    def entries(self) -> list[StoredEntry]:
        """Returns the files of the cache's own folder, least recently used first."""
        return sorted(_stored(self.directory), key=lambda entry: entry.used)

    def find(self, prefix: str) -> StoredEntry:
        """Returns the only entry whose key starts with `prefix`.

        Raises:
            HipgraftError: there is no such entry, or there are several.
        """
        found = [entry for entry in self.entries() if entry.key.startswith(prefix)]
        if len(found) != 1:
            raise HipgraftError(f"{len(found)} entries have keys that start with '{prefix}'")
        return found[0]

    def load(self, stored: StoredEntry) -> Entry:
        """Reads an entry that `entries` listed.

        Raises:
            DamagedEntryError: the entry is damaged.
            OSError: the file no longer exists, or cannot be read.
        """
        return Entry.from_bytes(_contents(stored.path), stored.key)

    def drop(self, key: str, reason: str) -> None:
        """Discards an entry whose contents do not match its key, and reports `reason`."""
        path = _path(self.directory, key)
        self.problems.append(f"cache entry '{path}' is damaged: {reason}")
        _unlink(path)

    def prune(self, max_bytes: int | None = None) -> list[StoredEntry]:
        """Evicts the least recently used entries until the rest fits, and returns them.

        Args:
            max_bytes: size limit in bytes; None for the cache's own limit.
        """
        limit = self.max_bytes if max_bytes is None else max_bytes
        stored = self.entries()
        excess = sum(entry.size for entry in stored) - limit
        evicted: list[StoredEntry] = []
        for entry in stored:
            if excess <= 0:
                break
            if self.remove(entry):
                excess -= entry.size
                evicted.append(entry)
        _remove_stale(self.directory)
        return evicted

    def remove(self, stored: StoredEntry) -> bool:
        """Removes an entry and returns whether that worked; reports a failure once per folder."""
        try:
            stored.path.unlink(missing_ok=True)
        except OSError as error:
            self._tell_once(f"entries of '{self.directory}' cannot be removed: {error.strerror}")
            return False
        return True

    def _tell_once(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _read(self, path: Path, key: str, *, discard: bool) -> Entry | None:
        try:
            if not self.trust and not _is_own(path):
                self._tell_once(
                    f"entries of other users in '{path.parents[1]}' are not used {_ASK}"
                )
                return None
            return Entry.from_bytes(_contents(path), key)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self.problems.append(f"cannot read cache entry '{path}': {error.strerror}")
        except DamagedEntryError as error:
            self.problems.append(f"cache entry '{path}' is damaged: {error}")
            if discard:
                _unlink(path)
        return None


def _is_own(path: Path) -> bool:
    """Returns whether only this user, or the administrator, can have written a file."""
    status = path.stat()
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & stat.S_IWOTH


def _contents(path: Path) -> bytes:
    status = path.stat()
    # Reading a pipe would block.
    if stat.S_ISFIFO(status.st_mode) or status.st_size > MOST_BYTES:
        raise DamagedEntryError(f"it is no file of at most {MOST_BYTES} bytes")
    return path.read_bytes()


def _path(directory: Path, key: str) -> Path:
    if not is_key(key):
        raise ValueError(f"'{key}' is no key")
    return directory / key[:2] / f"{key}{_SUFFIX}"


def _stored(directory: Path) -> Iterator[StoredEntry]:
    for path in directory.glob(f"??/*{_SUFFIX}"):
        # Another process may evict the file in the meantime.
        with suppress(FileNotFoundError):
            status = path.stat()
            # The cache must not evict files that are not entries.
            if is_key(path.stem) and stat.S_ISREG(status.st_mode):
                yield StoredEntry(path.stem, path, status.st_size, status.st_mtime)


def _remove_stale(directory: Path) -> None:
    for path in directory.glob(f"??/*{TEMPORARY}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
