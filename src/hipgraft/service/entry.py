"""One entry of the cache: a zip archive that anybody can open.

It holds the files that `--save-temps` would write (the compiler's input, the schedule, the code
objects), `kernel.json` with the launches, and `entry.json` with flags, versions and resource usage.
The archive's comment is the SHA-256 of all bytes before it, which detects damage. It does not
authenticate the writer: whoever changes an entry can recompute the hash.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from dataclasses import dataclass, field, replace
from typing import Any

from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.kernel_json import kernel_from_json, kernel_to_json
from hipgraft.ir.diagnostics import CodegenError, HipgraftError
from hipgraft.ir.foreign_data import convert, decode_json, malformed
from hipgraft.service.job import Outcome, Verdict

MOST_BYTES = 256 << 20
"""The limit on an entry's uncompressed bytes; compression may shrink them a thousandfold."""

_FORMAT = 1
_DIGEST_SIZE = 64
_MOST_FILES = 4096

# The date of all files is fixed, so that equal contents give equal bytes.
_DATE = (1980, 1, 1, 0, 0, 0)

_KEY = re.compile(r"[0-9a-f]{64}")
# File names that `--save-temps` may write; none of them leads out of its folder.
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,200}")
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class DamagedEntryError(Exception):
    """The bytes of an entry are damaged, or are not an entry."""


@dataclass(frozen=True)
class _Error:
    message: str
    notes: list[str]


@dataclass(frozen=True)
class _Metadata:
    """The required fields of `entry.json`; other fields are for human readers."""

    format: int
    key: str
    seconds: float
    name: str = ""
    target: str = ""
    error: _Error | None = None
    verdict: Verdict | None = None
    flags: list[str] = field(default_factory=list[str])


def is_key(text: str) -> bool:
    """Returns whether a text is a key: the hexadecimal digits of a SHA-256."""
    return _KEY.fullmatch(text) is not None


@dataclass(frozen=True)
class Entry:
    """The cached outcome of a key: a kernel, the compiler's error, or a whole program.

    Attributes:
        key: key of the entry.
        metadata: for human readers: name, target, flags, versions, seconds, resource usage.
        outcome: outcome of the compilation; a program has only artifacts.
    """

    key: str
    metadata: dict[str, Any]
    outcome: Outcome

    def to_bytes(self) -> bytes:
        """Returns the archive."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for name, data in self._files().items():
                archive.writestr(zipfile.ZipInfo(name, _DATE), data, zipfile.ZIP_DEFLATED)
            archive.comment = b"0" * _DIGEST_SIZE
        body = buffer.getvalue()[:-_DIGEST_SIZE]
        return body + _digest(body)

    @classmethod
    def from_bytes(cls, data: bytes, key: str) -> Entry:
        """Reads what `to_bytes` wrote.

        Raises:
            DamagedEntryError: the bytes are damaged, or the entry has another key.
        """
        if data[-_DIGEST_SIZE:] != _digest(data[:-_DIGEST_SIZE]):
            raise DamagedEntryError("its checksum does not match")
        try:
            return cls._parse(data, key)
        except HipgraftError as error:
            # The checksum is right, so another program wrote this archive.
            raise DamagedEntryError(error.message) from None

    @classmethod
    def _parse(cls, data: bytes, key: str) -> Entry:
        with malformed("archive", ""):
            files = _read_archive(data)
            text = files.pop("entry.json")
        fields = decode_json(text, dict[str, Any], "'entry.json'", "")
        metadata = convert(fields, _Metadata, "'entry.json'", "")
        if metadata.format != _FORMAT or metadata.key != key:
            raise HipgraftError("it belongs to another key or format")
        return cls(key=key, metadata=fields, outcome=_outcome(metadata, files))

    def _files(self) -> dict[str, bytes]:
        files = dict(self.outcome.artifacts)
        metadata: dict[str, Any] = {"format": _FORMAT, "key": self.key, **self.metadata}
        if self.outcome.kernel is not None:
            files["kernel.json"] = _json(kernel_to_json(self.outcome.kernel))
        if self.outcome.error is not None:
            error = self.outcome.error
            metadata["error"] = {"message": error.message, "notes": list(error.notes)}
        return {"entry.json": _json(metadata), **files}


def _outcome(metadata: _Metadata, files: dict[str, bytes]) -> Outcome:
    outcome = Outcome(
        seconds=metadata.seconds, artifacts=files, cached=True, verdict=metadata.verdict
    )
    if metadata.error is not None:
        error = CodegenError(metadata.error.message, notes=tuple(metadata.error.notes))
        return replace(outcome, error=error)
    return replace(outcome, kernel=_kernel(files)) if "kernel.json" in files else outcome


def _kernel(files: dict[str, bytes]) -> Kernel:
    fields = decode_json(files.pop("kernel.json"), dict[str, Any], "'kernel.json'", "")
    with malformed("kernel", ""):
        return kernel_from_json(fields, files)


def _read_archive(data: bytes) -> dict[str, bytes]:
    """Reads the files of an archive without trusting its table of contents.

    It checks file names, and inflates no more bytes than an entry may have.
    """
    files: dict[str, bytes] = {}
    left = MOST_BYTES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > _MOST_FILES:
            raise HipgraftError(f"it has {len(members)} files")
        for member in members:
            _check_member(member, files)
            with archive.open(member) as file:
                # The read is limited because the size in the table may be wrong.
                files[member.filename] = file.read(left + 1)
            left -= len(files[member.filename])
            if left < 0:
                raise HipgraftError(f"it inflates to more than {MOST_BYTES} bytes")
    return files


def _check_member(member: zipfile.ZipInfo, files: dict[str, bytes]) -> None:
    name = member.filename
    if _FILE_NAME.fullmatch(name) is None or name in files:
        raise HipgraftError(f"it may not hold a file {name[:200]!r}")
    if member.compress_type not in _COMPRESSIONS:
        raise HipgraftError(f"file '{name}' is compressed in an unknown way")


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
