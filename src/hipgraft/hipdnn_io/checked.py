"""Reading JSON values with checks: an error names the field and what was found."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from hipgraft.hipdnn_io.document import Json
from hipgraft.ir.diagnostics import HipgraftError

T = TypeVar("T")

_WORDS: dict[type, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
_ABSENT = object()


@dataclass
class Fields:
    """The members of one JSON object, taken out one by one; what is left is unknown.

    Attributes:
        members: what has not been taken yet.
        where: how messages call the object, e.g. `nodes[2]`.
        source: name of the file.
    """

    members: dict[str, Json]
    where: str
    source: str

    @classmethod
    def of(cls, value: Json, where: str, source: str) -> Fields:
        """Returns the members of `value`.

        Raises:
            HipgraftError: it is no object.
        """
        if not isinstance(value, dict):
            message = f"{where}: expected an object, but found {shortened(value)}"
            raise HipgraftError(message, location=source)
        return cls(dict(cast(dict[str, Json], value)), where, source)

    def take(self, key: str, kind: type[T], default: Any = _ABSENT) -> T:
        """Takes a member out.

        Args:
            key: its name.
            kind: what it has to be.
            default: what an absent one or null is; without one it has to be there.

        Raises:
            HipgraftError: it is missing or something else.
        """
        value = self.members.pop(key, None)
        if value is None and default is not _ABSENT:
            return default
        if value is None:
            raise self.error(f"requires field '{key}'")
        if not _is(value, kind):
            raise self.error(
                f"expected field '{key}' to be {_WORDS[kind]}, but found {shortened(value)}"
            )
        return value

    def take_list(self, key: str, default: Any = _ABSENT) -> list[Json]:
        """Takes an array out; arguments and errors are as of `take`."""
        return cast(list[Json], self.take(key, list, default))

    def take_integers(self, key: str) -> list[int]:
        """Takes a list of integers out, empty if it is absent.

        Raises:
            HipgraftError: it is something else.
        """
        values = self.take_list(key, [])
        if not all(_is(value, int) for value in values):
            raise self.error(
                f"expected field '{key}' to hold integers, but found {shortened(values)}"
            )
        return values

    def error(self, message: str) -> HipgraftError:
        """Returns an error of this object."""
        return HipgraftError(f"{self.where}: {message}", location=self.source)


def shortened(value: Json) -> str:
    """Returns a JSON value as messages show it."""
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _is(value: Json, kind: type) -> bool:
    # Python's bool is an int, and an integer will do as a number.
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)
