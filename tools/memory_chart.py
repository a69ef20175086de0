"""Prints the plan of a host program's arena as a table and as a drawing over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters, digits

from rich.console import Console

from hipgraft.ir.diagnostics import Remark
from hipgraft.tools.tables import Column, print_table, print_title

_ROWS = 16
_LABEL = 13  # characters before the drawing
_NAMES = ascii_letters + digits
_CROWD = 20
"""The most buffers in a table; with more, only the drawing shows them."""


@dataclass(frozen=True)
class _Block:
    """A buffer: its size in bytes, the steps of its life, and its offset."""

    size: int
    first: int
    last: int
    offset: int


def print_plans(console: Console, remarks: Sequence[Remark]) -> None:
    """Prints each plan of `hipdnn-plan-memory`.

    Args:
        console: output console.
        remarks: remarks of a compilation.
    """
    for remark in remarks:
        if remark.pass_name == "hipdnn-plan-memory" and "buffers" in remark.args:
            _print_plan(console, remark)


def _print_plan(console: Console, remark: Remark) -> None:
    texts = remark.args["buffers"].split()
    buffers = [_Block(*map(int, text.split(","))) for text in texts]
    planned, bound, unplanned = (
        int(remark.args[key]) for key in ("planned", "lower_bound", "unplanned")
    )
    print_title(
        console,
        f"arena of @{remark.function}: {planned} bytes planned, {bound} live at once at most, "
        f"{unplanned} without sharing",
    )
    if len(buffers) <= _CROWD:
        _print_table(console, buffers)
    for line in draw(buffers, planned, console.width - _LABEL):
        console.print(line, highlight=False, markup=False)


def _print_table(console: Console, buffers: Sequence[_Block]) -> None:
    rows = [
        [_NAMES[number % len(_NAMES)], *map(str, (one.size, one.offset, one.first, one.last))]
        for number, one in enumerate(buffers)
    ]
    numbers = map(Column, ("bytes", "offset", "first step", "last step"))
    print_table(console, [Column("buffer", is_text=True, is_key=True), *numbers], rows)


def draw(buffers: Sequence[_Block], size: int, width: int) -> list[str]:
    """Returns lines of the arena, high addresses first; time goes to the right in `width` steps.

    Each character is the buffer that holds the middle of its bytes at its step, a dot is free.
    """
    steps = sorted({step for one in buffers for step in (one.first, one.last)})
    shown = steps[:: max(1, -(-len(steps) // max(width, 1)))]
    lines: list[str] = []
    for row in reversed(range(min(_ROWS, max(size, 1)))):
        offset = (2 * row + 1) * size // (2 * min(_ROWS, max(size, 1)))
        cells = "".join(_at(buffers, offset, step) for step in shown)
        lines.append(f"{offset:>12} {cells}")
    return lines


def _at(buffers: Sequence[_Block], offset: int, step: int) -> str:
    for number, one in enumerate(buffers):
        if one.first <= step <= one.last and one.offset <= offset < one.offset + one.size:
            return _NAMES[number % len(_NAMES)]
    return "."
