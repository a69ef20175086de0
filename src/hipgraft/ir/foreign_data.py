"""Parses data from outside, and converts every exception of a parser to a located error.

Libraries document few of the exceptions that they raise on broken input. So `malformed` treats
every exception of its body as the input's fault; the body should therefore only parse. No other
code treats exceptions this way.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

from hipgraft.ir.diagnostics import HipgraftError

MOST_BYTES = 256 << 20
"""The size limit, in bytes, of a file that is read as a whole and is not a model."""

_MOST_YAML = 16 << 20
_LONGEST_REASON = 300
_BYTE = re.compile(r" \(byte (\d+)\)$")

T = TypeVar("T")


@contextmanager
def malformed(what: str, location: str) -> Generator[None, None, None]:
    """Converts any exception of the body to a located error about its input.

    Args:
        what: name of the parsed data, for the message.
        location: location of the input.

    Raises:
        HipgraftError: the body raised; a `HipgraftError` from the body only gets the location.
    """
    try:
        yield
    except HipgraftError as error:
        if error.location or not location:
            raise
        message = (
            error.message
            if error.message.startswith("malformed ")
            else f"malformed {what}: {error.message}"
        )
        raise HipgraftError(message, location=location, notes=error.notes) from None
    except Exception as error:
        raise HipgraftError(f"malformed {what}: {reason(error)}", location=location) from None


def reason(error: Exception) -> str:
    """Returns the message of a library's exception on one line."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, KeyError):
        return f"it has no {str(error)[:_LONGEST_REASON]}"
    text = " ".join(str(error).replace("`", "'").split()) or type(error).__name__
    text = text.removeprefix("JSON is malformed: ")
    return f"{text[:1].lower()}{text[1:_LONGEST_REASON]}"


def read_file(path: str | Path, what: str, most: int = MOST_BYTES) -> bytes:
    """Reads a regular file as a whole.

    Args:
        path: the file.
        what: description of its content, for messages.
        most: size limit in bytes.

    Raises:
        HipgraftError: the file cannot be read, or is larger.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size > most:
                raise HipgraftError(
                    f"{what} has {status.st_size} bytes; at most {most} are read",
                    location=str(path),
                )
            data = file.read(most + 1) or b""
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        raise HipgraftError(f"cannot open {what} '{path}': {os_reason(error)}") from None
    if len(data) > most:
        raise HipgraftError(f"{what} has more than {most} bytes", location=str(path))
    return data


def os_reason(error: OSError | ValueError) -> str:
    """Returns the reason why a file cannot be opened."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def decode_json(data: bytes | str, kind: type[T], what: str, location: str) -> T:
    """Reads JSON and checks it against a type: a msgspec structure, a dataclass, or `Any`.

    Raises:
        HipgraftError: the text is not JSON, which is located at its line, or does not fit.
    """
    # Imported here because it costs 20 ms, which tools that read no JSON need not pay.
    import msgspec

    try:
        with malformed(what, location):
            return msgspec.json.decode(data, type=kind)
    except HipgraftError as error:
        raise _at_line(error, data, location) from None


def parse_json(data: bytes | str, what: str, location: str) -> Any:
    """Reads any JSON; see `decode_json`."""
    return decode_json(data, cast("type[Any]", Any), what, location)


def convert(value: Any, kind: type[T], what: str, location: str) -> T:
    """Checks values of plain types against a type, as `decode_json` does.

    Raises:
        HipgraftError: the values do not fit.
    """
    import msgspec

    with malformed(what, location):
        return msgspec.convert(value, type=kind)


def read_yaml(path: str | Path, kind: type[T], what: str) -> T:
    """Reads YAML of JSON's types and checks it against a type, as `decode_json` does.

    Raises:
        HipgraftError: the file cannot be read, is not YAML, has aliases, or does not fit.
    """
    # Imported here because few users have such a file.
    import msgspec

    from hipgraft.ir.plain_yaml import load_plain

    data = read_file(path, what, _MOST_YAML)
    with malformed(what, str(path)):
        # Settings have values that JSON can express: no dates, sets or lone surrogates.
        document = msgspec.json.encode(load_plain(data.decode()))
    return decode_json(document, kind, what, str(path))


def _open_at_once(path: str, flags: int) -> int:
    # Opening a pipe without a writer would block.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _at_line(error: HipgraftError, data: bytes | str, location: str) -> HipgraftError:
    offset = _BYTE.search(error.message)
    if offset is None:
        return error
    before = (data.encode() if isinstance(data, str) else data)[: int(offset[1])]
    line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
    message = error.message[: offset.start()]
    return HipgraftError(message, location=f"{location}:{line}:{column}")
