"""Expands determinants of small matrices, because torch-mlir's elimination does not pivot."""

from __future__ import annotations

from functools import cache

from hipgraft.frontends.onnx.legalization.writer import Refused, Rewrite, Writer

# The expansion has a product for each set of columns.
_MOST_ROWS = 6


def _determinant(writer: Writer) -> None:
    """Expands along the rows: `x` is [..., N, N]."""
    (x,) = writer.node.input
    shape = writer.needed_shape(x, "a determinant")
    rows, rank = shape[-1], len(shape)
    if not 1 <= rows <= _MOST_ROWS:
        raise Refused(f"of {rows}x{rows} matrices is not supported, up to {_MOST_ROWS} rows are")

    @cache
    def element(row: int, column: int) -> str:
        line = writer.op("Gather", x, writer.like_int(row), axis=rank - 2)
        return writer.op("Gather", line, writer.like_int(column), axis=rank - 2)

    @cache
    def minor(row: int, columns: tuple[int, ...]) -> str:
        """Writes the determinant of the rows from `row` on, in these columns."""
        if len(columns) == 1:
            return element(row, columns[0])
        total = ""
        for position, column in enumerate(columns):
            others = columns[:position] + columns[position + 1 :]
            term = writer.op("Mul", element(row, column), minor(row + 1, others))
            if total:
                term = writer.op("Sub" if position % 2 else "Add", total, term)
            total = term
        return total

    writer.result(minor(0, tuple(range(rows))))


DETERMINANTS: dict[str, Rewrite] = {"Det": _determinant}
"""The rewrites, by operator."""
