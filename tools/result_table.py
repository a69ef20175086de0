"""Results of a run as a table on standard output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from hipgraft.runtime.comparison import Comparison
from hipgraft.tools.arrays import Array, describe

_WIDTH_OFF_TERMINAL = 120


def print_results(
    names: Sequence[str], outputs: Sequence[Array], comparisons: Sequence[Comparison] | None
) -> None:
    """Prints a row per result.

    Args:
        names: of the results; one without is told by its number.
        outputs: results in order.
        comparisons: one per result; None shows ranges of values instead.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OFF_TERMINAL)
    columns = ("min", "max") if comparisons is None else ("max abs error", "max rel error", "")
    table = Table("result", "type", *columns)
    for index, output in enumerate(outputs):
        cells = _range(output) if comparisons is None else _errors(comparisons[index])
        table.add_row(names[index] or str(index), describe(output.shape, output.dtype), *cells)
    console.print(table)


def _range(output: Array) -> tuple[str, str]:
    if output.size == 0:
        return "", ""
    values = output.astype(np.float64)
    return f"{np.min(values):.6g}", f"{np.max(values):.6g}"


def _errors(comparison: Comparison) -> tuple[str, str, str]:
    word = "ok" if comparison.ok else "[bold red]differs[/]"
    return f"{comparison.max_absolute:.2e}", f"{comparison.max_relative:.2e}", word
