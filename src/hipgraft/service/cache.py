"""The cache on disk: a folder of entries, one file each, found by key.

A file appears whole by a rename, so any number of processes can share a folder without locks: the
worst that can happen is that two of them compile the same graph and write the same entry.
"""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

from hipgraft.diagnostics import HipgraftError
from hipgraft.service.entry import DamagedEntryError, Entry

DEFAULT_MAX_BYTES = 4 << 30
"""Size at which entries are evicted."""

_SUFFIX = ".zip"
_TEMPORARY = ".tmp"

# Of a process that was killed while it wrote.
_STALE_SECONDS = 3600.0


def default_cache_directory() -> Path:
    """Returns `$HIPGRAFT_CACHE_DIR`, or hipgraft's folder among the user's caches."""
    given = os.environ.get("HIPGRAFT_CACHE_DIR", "")
    return Path(given) if given else Path(platformdirs.user_cache_dir("hipgraft"))


@dataclass(frozen=True)
class StoredEntry:
    """A file of the cache.

    Attributes:
        key: of the entry.
        path: the file.
        size: in bytes.
        used: when it was last read or written, in seconds of the epoch.
    """

    key: str
    path: Path
    size: int
    used: float


@dataclass
class Cache:
    """A folder of entries, and others below it that are only read.

    Attributes:
        directory: where entries are read and written; made at the first write.
        sources: folders that are searched after it.
        max_bytes: entries used longest ago are evicted above this size.
        problems: what went wrong, for the user: the cache itself never fails a compilation.
    """

    directory: Path
    sources: Sequence[Path] = ()
    max_bytes: int = DEFAULT_MAX_BYTES
    problems: list[str] = field(default_factory=list[str])
    _writable: bool = True

    def get(self, key: str) -> Entry | None:
        """Returns the entry of a key; a damaged one is discarded."""
        for directory in (self.directory, *self.sources):
            path = _path(directory, key)
            entry = self._read(path, key, discard=directory == self.directory)
            if entry is not None:
                # The file's time is when it was last used, which eviction goes by.
                with suppress(OSError):
                    os.utime(path)
                return entry
        return None

    def put(self, entry: Entry) -> None:
        """Writes an entry; a folder that cannot be written is told once and then left alone."""
        if not self._writable:
            return
        try:
            _write_whole(_path(self.directory, entry.key), entry.to_bytes())
        except OSError as error:
            self._writable = False
            reason = error.strerror or str(error)
            self.problems.append(f"kernels are not cached in '{self.directory}': {reason}")

    def entries(self) -> list[StoredEntry]:
        """Returns the files of the cache's own folder, used longest ago first."""
        return sorted(_stored(self.directory), key=lambda entry: entry.used)

    def find(self, prefix: str) -> StoredEntry:
        """Returns the only entry whose key starts with `prefix`.

        Raises:
            HipgraftError: there is none, or there are several.
        """
        found = [entry for entry in self.entries() if entry.key.startswith(prefix)]
        if len(found) != 1:
            raise HipgraftError(f"{len(found)} entries have keys that start with '{prefix}'")
        return found[0]

    def load(self, stored: StoredEntry) -> Entry:
        """Reads an entry that `entries` listed.

        Raises:
            DamagedEntryError: it is damaged.
            FileNotFoundError: it is gone.
        """
        return Entry.from_bytes(stored.path.read_bytes(), stored.key)

    def prune(self, max_bytes: int | None = None) -> list[StoredEntry]:
        """Evicts entries used longest ago until the rest fits, and returns them.

        Args:
            max_bytes: the size to keep to; None takes the cache's own limit.
        """
        limit = self.max_bytes if max_bytes is None else max_bytes
        stored = self.entries()
        excess = sum(entry.size for entry in stored) - limit
        evicted: list[StoredEntry] = []
        for entry in stored:
            if excess <= 0:
                break
            _unlink(entry.path)
            excess -= entry.size
            evicted.append(entry)
        _remove_stale(self.directory)
        return evicted

    def _read(self, path: Path, key: str, *, discard: bool) -> Entry | None:
        try:
            return Entry.from_bytes(path.read_bytes(), key)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self.problems.append(f"cannot read cache entry '{path}': {error.strerror}")
        except DamagedEntryError as error:
            self.problems.append(f"cache entry '{path}' is damaged: {error}")
            if discard:
                _unlink(path)
        return None


def _path(directory: Path, key: str) -> Path:
    return directory / key[:2] / f"{key}{_SUFFIX}"


def _write_whole(path: Path, data: bytes) -> None:
    """Writes a file that others see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        _unlink(Path(temporary))
        raise


def _stored(directory: Path) -> Iterator[StoredEntry]:
    for path in directory.glob(f"??/*{_SUFFIX}"):
        # Another process may evict it meanwhile.
        with suppress(FileNotFoundError):
            status = path.stat()
            yield StoredEntry(path.stem, path, status.st_size, status.st_mtime)


def _remove_stale(directory: Path) -> None:
    for path in directory.glob(f"??/*{_TEMPORARY}"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                path.unlink()


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
