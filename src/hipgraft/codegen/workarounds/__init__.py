"""Registers workarounds for faults of the compilers, one file each.

A file declares a fault as a `Workaround`, next to the predicate that detects the IR that triggers
the fault and the rewrite that avoids the fault. `docs/workarounds.md` is generated from the
declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T", bool, int)


class Effect(StrEnum):
    """The effect of the fault without the workaround."""

    WRONG = "wrong results"
    FAILS = "does not compile"
    CRASH = "the compiler crashes"
    HANGS = "the compiler does not finish"
    ENDS = "the process that runs the program ends"


@dataclass(frozen=True)
class Workaround:
    """A fault of a compiler and how it is avoided.

    Attributes:
        name: subject of the fault, as in the name of the file.
        fault: error of the compiler, and the IR that triggers it.
        effect: effect of the error.
        targets: targets that have the fault.
        remedy: how the workaround avoids the fault.
        compiler: releases that were observed to have the fault.
    """

    name: str
    fault: str
    effect: Effect
    targets: str
    remedy: str
    compiler: str = "IREE 3.13.0"

    @property
    def is_on(self) -> bool:
        """Whether the workaround is active; only `without` switches it off."""
        return self.name not in _off

    def avoids(self, predicate: Callable[_P, _T]) -> Callable[_P, _T]:
        """Decorates the function that detects the form that has the fault.

        The function returns a bool, or the number of elements to add. It detects nothing while the
        workaround is off.
        """

        def found(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            result = predicate(*args, **kwargs)
            return result if self.is_on else type(result)()

        found.__doc__ = predicate.__doc__
        return found


_off: set[str] = set()


@contextmanager
def without(workaround: Workaround) -> Generator[None]:
    """Switches a workaround off in this process, so that the fault shows."""
    _off.add(workaround.name)
    try:
        yield
    finally:
        _off.remove(workaround.name)


def workarounds() -> list[Workaround]:
    """Returns all workarounds in the order of their names."""
    modules = [import_module(f"{__name__}.{one.name}") for one in iter_modules(__path__)]
    found = [each for one in modules for each in vars(one).values() if isinstance(each, Workaround)]
    return sorted(set(found), key=lambda one: one.name)
