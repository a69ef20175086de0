"""Reads the text of an engine file, and locates errors in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from hipgraft.engines.fields import EngineFields
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.foreign_data import malformed, read_file

_WHAT = "engine file"
_MOST_BYTES = 1 << 20
_AT = re.compile(r" - at '\$(.*)'$")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")

Step = str | int
Path = tuple[Step, ...]
"""The keys and indices that lead to a value of the file."""


@dataclass(frozen=True)
class Source:
    """An engine file.

    Attributes:
        path: path of the file, for messages.
        text: its content.
    """

    path: str
    text: str

    def error(self, path: Path, message: str) -> HipgraftError:
        """Returns an error at the value that `path` leads to."""
        from hipgraft.ir.plain_yaml import position

        line, column = position(self.text, path)
        return HipgraftError(message, location=f"{self.path}:{line}:{column}")

    def check(self, path: Path, what: str, names: Iterable[str], known: Iterable[str]) -> None:
        """Checks that all names are known.

        Raises:
            HipgraftError: a name is unknown; the message lists the known ones.
        """
        allowed = sorted(set(known))
        for name in names:
            if name not in allowed:
                expected = ", ".join(allowed) or "none"
                raise self.error(path, f"'{name}' is no {what}: expected one of {expected}")


def read_engine(path: str) -> tuple[Source, EngineFields]:
    """Reads an engine file.

    Raises:
        HipgraftError: the file cannot be read, is not YAML, or has unknown fields; located.
    """
    import msgspec

    data = read_file(path, _WHAT, _MOST_BYTES)
    with malformed(_WHAT, path):
        text = data.decode()
    loaded = _load(path, text)
    try:
        return Source(path, text), msgspec.convert(loaded, EngineFields)
    except msgspec.ValidationError as error:
        message = str(error).replace("`", "'")
        place = _AT.search(message)
        steps = _STEP.findall(place[1]) if place else []
        where: Path = tuple(name or int(index) for name, index in steps)
        reason = message[: place.start()] if place else message
        raise Source(path, text).error(where, f"{reason[:1].lower()}{reason[1:]}") from None


def _load(path: str, text: str) -> object:
    import yaml

    from hipgraft.ir.plain_yaml import load_plain

    with malformed(_WHAT, path):
        try:
            return load_plain(text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = "" if mark is None else f":{mark.line + 1}:{mark.column + 1}"
            message = f"malformed {_WHAT}: {error.problem}"
            raise HipgraftError(message, location=f"{path}{where}") from None
