"""Prints the results of a run as a table on standard output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.text import Text

from hipgraft.runtime.comparison import Comparison
from hipgraft.tools.arrays import Array, describe
from hipgraft.tools.tables import Column, open_console, print_table


def print_results(
    names: Sequence[str], outputs: Sequence[Array], comparisons: Sequence[Comparison] | None
) -> None:
    """Prints a row per result.

    Args:
        names: names of the results; an empty one is replaced by its index.
        outputs: results in order.
        comparisons: one per result; None shows ranges of values instead.
    """
    columns = ("min", "max") if comparisons is None else ("max abs error", "max rel error", "")
    rows: list[list[str | Text]] = []
    for index, output in enumerate(outputs):
        cells = _range(output) if comparisons is None else _errors(comparisons[index])
        name, kind = names[index] or str(index), describe(output.shape, output.dtype)
        rows.append([name, kind, *cells])
    numbers = map(Column, columns)
    texts = (Column("result", is_text=True, is_key=True), Column("type", is_text=True))
    print_table(open_console(), [*texts, *numbers], rows)


def _range(output: Array) -> tuple[str, str]:
    if output.size == 0:
        return "", ""
    values = output.astype(np.float64)
    return f"{np.min(values):.6g}", f"{np.max(values):.6g}"


def _errors(comparison: Comparison) -> tuple[str, str, Text]:
    word = Text("ok") if comparison.ok else Text("differs", style="bold red")
    return f"{comparison.max_absolute:.2e}", f"{comparison.max_relative:.2e}", word
