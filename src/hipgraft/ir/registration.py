"""Defines registries that reject duplicate names, and finds the entries of other packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from hipgraft.ir.diagnostics import HipgraftError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class RegisteredTwiceError(HipgraftError, ValueError):
    """A registry already has an entry of this name."""


class Registry(dict[str, T]):
    """Entries by name, in the order of their registration by `add`.

    Args:
        kind: noun for the entries in error messages, e.g. `lowering`.
        tables: tables whose entries are registered first.
        provider: describes who provides an entry, for error messages.

    Raises:
        RegisteredTwiceError: two tables have an entry of the same name.
    """

    def __init__(
        self, kind: str, *tables: Mapping[str, T], provider: Callable[[T], str] | None = None
    ):
        self.kind = kind
        super().__init__()
        self._provider = provider
        for table in tables:
            for name, entry in table.items():
                self.add(name, entry)

    def add(self, name: str, entry: T) -> None:
        """Registers an entry.

        Raises:
            RegisteredTwiceError: there already is an entry of this name.
        """
        if name in self:
            raise RegisteredTwiceError(
                f"{self.kind} '{name}' is registered twice{self._both(self[name], entry)}"
            )
        self[name] = entry

    def _both(self, first: T, second: T) -> str:
        if self._provider is None:
            return ""
        return f": by {self._provider(first)} and by {self._provider(second)}"

    def remove(self, name: str) -> None:
        """Removes an entry, for example one that a test registered.

        Raises:
            KeyError: there is no entry of this name.
        """
        del self[name]


def plugins(group: str) -> Iterable[EntryPoint]:
    """Returns the entry points of a group, such as `hipgraft.passes`."""
    if not _may_have_plugins(tuple(sys.path)):
        return ()
    # Imported here, because it takes as long as all other imports of a tool before it reads input.
    from importlib.metadata import entry_points

    return entry_points(group=group)


@cache
def _may_have_plugins(path: tuple[str, ...]) -> bool:
    """Returns whether a package on the path has a group of hipgraft's in its metadata."""
    return any(_names_group(folder or ".") for folder in path)


def _names_group(folder: str) -> bool:
    try:
        names = os.listdir(folder)
    except NotADirectoryError:
        return True  # the entry is an archive, which may hold packages
    except OSError:
        return False
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            try:
                with open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                    if b"[hipgraft." in file.read():
                        return True
            except OSError:
                continue  # most packages have no entry points
    return False
