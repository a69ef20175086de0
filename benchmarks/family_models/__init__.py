"""Small models of many families, with random weights, for `benchmarks/families.py`.

Each function marked `family` returns a module of PyTorch and its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FAMILIES: dict[str, Callable[[], tuple[Any, tuple[Any, ...]]]] = {}
"""The functions that build a module and its inputs, by name."""


def family(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Any:
    """Registers a function under its name."""
    FAMILIES[make.__name__] = make
    return make
