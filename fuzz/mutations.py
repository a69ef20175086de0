"""Changes JSON documents and bytes as an attacker would."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**60,
    2**63,
    2**64,
    10**300,
    0.5,
    "",
    "x",
    "../../x",
    "\0",
    "\ud800",
    "9" * 5000,
    [],
    [0],
    {},
    {"": 0},
    [[]],
)
"""Replacement values; a lone surrogate cannot be written as UTF-8."""


def changed_document(document: Any, generator: random.Random) -> Any:
    """Returns a copy with one value replaced, removed, repeated or moved."""
    changed = copy.deepcopy(document)
    places = [place for place in _places(changed) if place]
    if not places:
        return generator.choice(VALUES)
    *way, last = generator.choice(places)
    parent = changed
    for step in way:
        parent = parent[step]
    generator.choice(_CHANGES)(parent, last, generator)
    return changed


def changed_bytes(data: bytes, generator: random.Random) -> bytes:
    """Returns a copy with bytes flipped, cut out, repeated or cut off."""
    place = generator.randrange(len(data) + 1)
    length = generator.choice((1, 2, 4, 8, 64))
    middle = data[place : place + length]
    kind = generator.randrange(5)
    if kind == 0:
        middle = bytes(byte ^ 1 << generator.randrange(8) for byte in middle)
    elif kind == 1:
        middle = b""
    elif kind == 2:
        middle *= generator.choice((2, 100))
    elif kind == 3:
        middle = generator.choice((b"\xff", b"\0", b"\x7f")) * len(middle)
    else:
        return data[:place]
    return data[:place] + middle + data[place + length :]


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from _places(item, (*way, key))


def _replace(parent: Any, key: Any, generator: random.Random) -> None:
    parent[key] = generator.choice(VALUES)


def _shift(parent: Any, key: Any, generator: random.Random) -> None:
    if isinstance(parent[key], int):
        parent[key] += generator.choice((-(2**40), -1, 1, 7, 2**20, 2**40))
    else:
        parent[key] = [parent[key]]


def _remove(parent: Any, key: Any, generator: random.Random) -> None:
    del parent[key]


def _add(parent: Any, key: Any, generator: random.Random) -> None:
    value = copy.deepcopy(parent[key])
    if isinstance(parent, list):
        parent.insert(key, value)
    else:
        parent[f"{key}2"] = value


_CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (_replace, _shift, _remove, _add)


def change_json(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes a document, or rarely its bytes."""
    if generator.random() < 0.1:
        return changed_bytes(data, generator)
    with suppress(ValueError):
        document = json.loads(data)
        changed = changed_document(document, generator)
        return json.dumps(changed, ensure_ascii=False).encode(errors="surrogatepass")
    return data


def change_any(data: bytes, seeds: Sequence[bytes], generator: random.Random) -> bytes:
    """Changes bytes."""
    return changed_bytes(data, generator) if data else b"\0"
