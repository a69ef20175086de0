"""Analyzes the loops of linalg's ops."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipgraft.ir.bindings import indexing_maps, ir
from hipgraft.ir.io import walk


def generics_of(module: ir.Module) -> Iterator[list[ir.Operation]]:
    """Yields the generic ops of each function in a module, including functions in executables."""
    for function in [op for op in walk(module.operation) if op.name == "func.func"]:
        yield [op for op in walk(function) if op.name == "linalg.generic"]


def iterators(op: ir.Operation) -> list[str]:
    """Returns `parallel` or `reduction` for each loop."""
    kinds = [str(kind) for kind in ir.ArrayAttr(op.attributes["iterator_types"])]
    return ["reduction" if "reduction" in kind else "parallel" for kind in kinds]


def loops_of(op: ir.Operation) -> list[list[int]]:
    """Returns the loops that index each operand, dim by dim; -1 for other expressions.

    Empty for an op without loops.
    """
    maps = [ir.AffineMapAttr(attribute).value for attribute in indexing_maps(op)]
    return [list(map(_position, each.results)) for each in maps]


def loops_in(expression: ir.AffineExpr) -> list[int]:
    """Returns the loops that an expression of an indexing map mentions, in order."""
    return [int(loop) for loop in re.findall(r"\bd(\d+)", str(expression))]


def _position(expression: ir.AffineExpr) -> int:
    return expression.position if isinstance(expression, ir.AffineDimExpr) else -1


def extents_of(op: ir.Operation) -> dict[int, int]:
    """Returns the extent of each loop that alone indexes a dim of an operand."""
    pairs: Iterator[tuple[int, int]] = (
        pair
        for dims, value in zip(loops_of(op), op.operands, strict=True)
        for pair in zip(dims, tensor(value).shape, strict=True)
    )
    return {loop: extent for loop, extent in pairs if loop >= 0}


def tensor(value: ir.Value) -> ir.ShapedType:
    """Returns the type of a tensor."""
    return ir.ShapedType(value.type)
