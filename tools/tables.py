"""Prints tables of any width: numbers stay whole, text wraps, columns move to additional tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH_OFF_TERMINAL = 120
_GAP = 3  # characters between columns
_NARROWEST = 16  # least width of a column of text


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        name: heading of the column.
        is_text: whether the column may wrap; other columns are right-aligned.
        is_key: whether the column is repeated in additional tables.
    """

    name: str
    is_text: bool = False
    is_key: bool = False


def open_console(*, stderr: bool = False) -> Console:
    """Returns a console of the width of the terminal or of `COLUMNS`, else of 120 characters."""
    console = Console(stderr=stderr, highlight=False)
    if console.is_terminal or os.environ.get("COLUMNS", "").isdigit():
        return console
    return Console(stderr=stderr, highlight=False, width=_WIDTH_OFF_TERMINAL)


def print_title(console: Console, text: str) -> None:
    """Prints a line above tables."""
    console.print(Text(text, style="bold"))


def print_table(
    console: Console, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]
) -> None:
    """Prints rows, in several tables if the columns do not fit side by side.

    Args:
        console: output console.
        columns: columns, the keys first.
        rows: a cell for each column; lines of a cell are separated by line feeds.
    """
    cells = [[one if isinstance(one, Text) else Text(one) for one in row] for row in rows]
    naturals = [
        max(_width(Text(column.name)), *(_width(row[number]) for row in cells), 1)
        for number, column in enumerate(columns)
    ]
    for numbers in _split(console.width, columns, naturals):
        widths = _widths(
            console.width, [columns[n] for n in numbers], [naturals[n] for n in numbers]
        )
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for number, width in zip(numbers, widths, strict=True):
            side = "left" if columns[number].is_text else "right"
            table.add_column(Text(columns[number].name), justify=side, width=width, overflow="fold")
        for row in cells:
            table.add_row(*(row[number] for number in numbers))
        console.print(table)


def _width(text: Text) -> int:
    return max((line.cell_len for line in text.split("\n")), default=0)


def _least(column: Column, natural: int) -> int:
    return min(natural, _NARROWEST) if column.is_text else natural


def _split(width: int, columns: Sequence[Column], naturals: Sequence[int]) -> list[list[int]]:
    """Returns the columns of each table: the keys, and as many others as fit."""
    keys = [number for number, column in enumerate(columns) if column.is_key]
    others = [number for number, column in enumerate(columns) if not column.is_key]
    tables = [list(keys)]
    for number in others:
        taken = [*tables[-1], number]
        least = sum(_least(columns[n], naturals[n]) + _GAP for n in taken) - _GAP
        if least > width and len(tables[-1]) > len(keys):
            tables.append(list(keys))
        tables[-1].append(number)
    return tables


def _widths(width: int, columns: Sequence[Column], naturals: Sequence[int]) -> list[int]:
    """Returns the width of each column; text columns share the width that the others leave."""
    widths = [_least(column, natural) for column, natural in zip(columns, naturals, strict=True)]
    left = width - sum(widths) - _GAP * (len(widths) - 1)
    while left > 0:
        short = [n for n, one in enumerate(widths) if one < naturals[n] and columns[n].is_text]
        if not short:
            break
        share = max(left // len(short), 1)
        for number in short[:left]:
            more = min(share, naturals[number] - widths[number])
            widths[number] += more
            left -= more
    return widths
