"""Formats values and choices for messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast


def shown_value(value: Any) -> str:
    """Returns a value as messages show it: `true`, `[1, 1]`, `relu_fwd`, `none`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown_value, cast(list[Any], value)))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


def one_of(values: Sequence[Any]) -> str:
    """Returns alternatives as a text: `f16, bf16 or f32`."""
    *first, last = [shown_value(value) for value in values] or ["nothing"]
    return f"{', '.join(first)} or {last}" if first else last
