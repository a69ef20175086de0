"""What ONNX Runtime's provider asks for: a graph, an architecture, and the user's options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory
from hipgraft.ir.foreign_data import decode_json

_KEY = re.compile(r"[0-9a-f]{64}")
_DIM = re.compile(r"([^=;,][^;,]*)=([0-9]+(?:,[0-9]+)*)")
_CHOICES = {"search": ("none", "default", "full"), "fallback": ("node", "error")}


@dataclass(frozen=True)
class _Fields:
    """The JSON object that the provider writes."""

    version: int
    model: str
    key: str
    options: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Request:
    """A graph of a session.

    Attributes:
        model: its ONNX file, whose nodes are in a topological order.
        architecture: as `gfx942`, or `cpu`.
        key: digest of all that the answer depends on.
        options: the provider's options.
    """

    model: Path
    architecture: str
    key: str
    options: Mapping[str, str]

    @classmethod
    def read(cls, path: Path, architecture: str) -> Request:
        """Reads a request.

        Args:
            path: the file that the provider wrote, beside the model.
            architecture: what to compile for.

        Raises:
            HipgraftError: it is malformed.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise HipgraftError(f"cannot read: {error.strerror}", location=str(path)) from None
        fields = decode_json(data, _Fields, "request", str(path))
        if fields.version != 1 or not _KEY.fullmatch(fields.key):
            raise HipgraftError("malformed request", location=str(path))
        for name, choices in _CHOICES.items():
            given = fields.options.get(name, choices[0])
            if given not in choices:
                known = ", ".join(f"'{one}'" for one in choices)
                raise HipgraftError(f"option '{name}' is one of {known}, not '{given}'")
        return cls(path.parent / fields.model, architecture, fields.key, fields.options)

    @property
    def answer(self) -> Path:
        """The file of the answer."""
        return self.file(".json")

    @property
    def is_strict(self) -> bool:
        """Whether an unsupported node is an error."""
        return self.options.get("fallback") == "error"

    @cached_property
    def dims(self) -> Mapping[str, Sequence[int]]:
        """The extents of symbolic dimensions by name; `a=b` names dimensions that are equal.

        Raises:
            HipgraftError: the option is malformed.
        """
        return _dims(self.options.get("dims", ""))

    def file(self, suffix: str) -> Path:
        """Returns a file of this request in the user's cache."""
        folder = default_cache_directory() / "onnxruntime" / self.key[:2]
        return folder / f"{self.key}{suffix}"


def find_answer(request: Request) -> Path | None:
    """Returns the answer to an earlier request if all of its bundles are still there."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        answer = json.loads(request.answer.read_bytes())
        if all(Path(group["bundle"]).is_file() for group in answer["groups"]):
            return request.answer
    return None


def _dims(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        # Names may have a `=`, between dimensions that are always equal.
        match = _DIM.fullmatch(part)
        if match is None:
            raise HipgraftError(
                f"option 'dims' is of the form 'batch=1,4;seq=128', not '{text}': '{part}'"
            )
        found[match[1]] = [int(one) for one in match[2].split(",")]
    return found
