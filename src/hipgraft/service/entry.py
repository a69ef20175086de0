"""One entry of the cache: a zip archive that anybody can open.

It holds what `--save-temps` would write (the compiler's input, the schedule, the code objects),
`kernel.json` with the launches, and `entry.json` with flags, versions and static figures. Its
comment is the SHA-256 of all bytes before, so that any damage shows.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass, replace
from typing import Any

from hipgraft.codegen.kernel import Kernel
from hipgraft.codegen.kernel_json import kernel_from_json, kernel_to_json, object_name
from hipgraft.diagnostics import CodegenError
from hipgraft.service.unit import Outcome

_FORMAT = 1
_DIGEST_SIZE = 64

# Equal content makes equal bytes: a zip archive has no other use for a date.
_DATE = (1980, 1, 1, 0, 0, 0)


class DamagedEntryError(Exception):
    """The bytes are not what was once written."""


@dataclass(frozen=True)
class Entry:
    """A kernel, the compiler's error, or a whole program, under a key.

    Attributes:
        key: what it is found by.
        facts: for readers: name, target, flags, versions, seconds, static figures.
        outcome: what compiling gave; of a program, only artifacts.
    """

    key: str
    facts: dict[str, Any]
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
            DamagedEntryError: the bytes are damaged, or the entry is for another key.
        """
        if data[-_DIGEST_SIZE:] != _digest(data[:-_DIGEST_SIZE]):
            raise DamagedEntryError("its checksum does not match")
        try:
            files = _read_archive(data)
            facts = json.loads(files.pop("entry.json"))
            if facts["format"] != _FORMAT or facts["key"] != key:
                raise DamagedEntryError("it belongs to another key or format")
            return cls(key=key, facts=facts, outcome=_outcome(facts, files))
        except (zipfile.BadZipFile, ValueError, KeyError, TypeError) as error:
            # Its checksum is right: somebody else's archive.
            raise DamagedEntryError(f"it is malformed: {error}") from None

    def _files(self) -> dict[str, bytes]:
        files = dict(self.outcome.artifacts)
        facts: dict[str, Any] = {"format": _FORMAT, "key": self.key, **self.facts}
        if self.outcome.kernel is not None:
            files["kernel.json"] = _json(kernel_to_json(self.outcome.kernel))
        if self.outcome.error is not None:
            error = self.outcome.error
            facts["error"] = {"message": error.message, "notes": list(error.notes)}
        return {"entry.json": _json(facts), **files}


def _outcome(facts: dict[str, Any], files: dict[str, bytes]) -> Outcome:
    outcome = Outcome(seconds=facts["seconds"], artifacts=files, cached=True)
    if "error" in facts:
        error = facts["error"]
        return replace(outcome, error=CodegenError(error["message"], notes=tuple(error["notes"])))
    return replace(outcome, kernel=_kernel(files)) if "kernel.json" in files else outcome


def _kernel(files: dict[str, bytes]) -> Kernel:
    fields = json.loads(files.pop("kernel.json"))
    count = fields["objects"]
    objects = tuple(files[object_name(fields["format"], index)] for index in range(count))
    return kernel_from_json(fields, objects)


def _read_archive(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()
