"""Reads the requests of ONNX Runtime's provider: a graph, an architecture, and options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.directories import default_cache_directory
from hipgraft.ir.foreign_data import decode_json

_KEY = re.compile(r"[0-9a-f]{64}")
_DIM = re.compile(r"([^=;,][^;,]*)=([0-9]+(?:,[0-9]+)*)")
_CHOICES = {
    "dynamic": ("error", "compile"),
    "fallback": ("node", "error"),
    "search": ("none", "default", "full"),
}
_DEFAULTS = {"dynamic": "error", "fallback": "node", "search": "default"}


@dataclass(frozen=True)
class _Fields:
    """The JSON object that the provider writes."""

    version: int
    key: str
    model: str = ""
    options: dict[str, str] = field(default_factory=dict[str, str])
    nested: bool = False
    group: int = -1
    shapes: list[list[int]] = field(default_factory=list[list[int]])


@dataclass(frozen=True)
class Request:
    """A request about a graph of a session, or about a group of an answered graph.

    Attributes:
        model: the graph's ONNX file, whose nodes are in a topological order.
        architecture: architecture such as `gfx942`, or `cpu`.
        key: digest of all inputs that determine the answer about the graph.
        options: the provider's options.
        is_nested: whether the graph is the body of a node.
        group: number of the group in the answer; None asks about the graph.
        shapes: shapes of the group's inputs.
    """

    model: Path
    architecture: str
    key: str
    options: Mapping[str, str]
    is_nested: bool = False
    group: int | None = None
    shapes: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def read(cls, path: Path, architecture: str) -> Request:
        """Reads a request.

        Args:
            path: the file that the provider wrote, beside the model.
            architecture: architecture to compile for.

        Raises:
            HipgraftError: the request is malformed.
        """
        try:
            data = path.read_bytes()
        except OSError as error:
            raise HipgraftError(f"cannot read: {error.strerror}", location=str(path)) from None
        fields = decode_json(data, _Fields, "request", str(path))
        if fields.version != 1 or not _KEY.fullmatch(fields.key):
            raise HipgraftError("malformed request", location=str(path))
        for name, choices in _CHOICES.items():
            given = fields.options.get(name, _DEFAULTS[name])
            if given not in choices:
                known = ", ".join(f"'{one}'" for one in choices)
                raise HipgraftError(f"option '{name}' is one of {known}, not '{given}'")
        return cls(
            path.parent / fields.model,
            architecture,
            fields.key,
            fields.options,
            fields.nested,
            None if fields.group < 0 else fields.group,
            tuple(map(tuple, fields.shapes)),
        )

    @property
    def answer(self) -> Path:
        """The file of the answer about the graph."""
        return self.file(".json")

    @property
    def kept(self) -> Path:
        """The graph's file after the answer, if more shapes may occur."""
        return self.file("") / "model.onnx"

    @property
    def bundle(self) -> Path:
        """The program's file of a group for certain shapes."""
        # `ask_for_shapes` in `native/onnxruntime/answers.cpp` names it, too.
        digest = sha256(str(list(map(list, self.shapes))).encode()).hexdigest()
        return self.file("") / f"{self.group}-{digest[:32]}.hgb"

    @property
    def is_open(self) -> bool:
        """Whether runs may request more shapes."""
        return self.options.get("dynamic") == "compile"

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
    """Returns the answer to an earlier request if all of its files still exist.

    For a group it is the program's bundle.
    """
    if request.group is not None:
        return request.bundle if request.bundle.is_file() else None
    with suppress(OSError, ValueError, KeyError, TypeError):
        answer = json.loads(request.answer.read_bytes())
        is_kept = not request.is_open or not answer["groups"] or request.kept.is_file()
        if is_kept and all(Path(group["bundle"]).is_file() for group in answer["groups"]):
            return request.answer
    return None


def _dims(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        # Names may contain `=`, which separates dimensions that are always equal.
        match = _DIM.fullmatch(part)
        if match is None:
            raise HipgraftError(
                f"option 'dims' is of the form 'batch=1,4;seq=128', not '{text}': '{part}'"
            )
        found[match[1]] = [int(one) for one in match[2].split(",")]
    return found
