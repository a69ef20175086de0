"""Reads matrix products and convolutions in dispatches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from hipgraft.codegen.iree.linalg_loops import extents_of, iterators, loops_of, tensor
from hipgraft.ir.bindings import indexing_maps, ir
from hipgraft.ir.builders import defining_op

LOADS = "iree_codegen.load_from_buffer"
"""The op that loads a dispatch's operand."""

_BODY = {"arith.extf", "arith.mulf", "arith.addf", "linalg.yield"}
_TERM = re.compile(r"d(\d+)(?: \* (\d+))?")
_TERMS = re.compile(rf"{_TERM.pattern}(?: \+ {_TERM.pattern})*")


@dataclass(frozen=True)
class Factor:
    """A factor, and how loops index it.

    Attributes:
        value: the tensor, loaded from a buffer.
        loops: loops that index it, in the order of its dims.
        strides: elements between consecutive indices of each of these loops; None if each loop
            indexes a dim of its own.
    """

    value: ir.Value
    loops: tuple[int, ...]
    strides: tuple[int, ...] | None


@dataclass(frozen=True)
class Product:
    """Products of the matrix `a` with each matrix of `b`.

    Attributes:
        extents: extents of the loops, those over results first.
        outer: number of the loops over results.
        k: the loop along K whose parts wavefronts share; the other loops along K are the window's.
        m: the innermost loop along the rows of `a`.
        n: the innermost loop along the columns of `b`.
        a: the first factor.
        b: the other factors.
        c: loops that index each result.
        element: type of the factors.
    """

    extents: tuple[int, ...]
    outer: int
    k: int
    m: int
    n: int
    a: Factor
    b: tuple[Factor, ...]
    c: tuple[tuple[int, ...], ...]
    element: str

    @property
    def taps(self) -> list[int]:
        """The loops over a window."""
        return [loop for loop in range(self.outer, len(self.extents)) if loop != self.k]

    @property
    def has_contiguous_windows(self) -> bool:
        """Whether the filters of a convolution, if this is one, store K contiguously."""
        filters = [one for one in (self.a, *self.b) if one.strides is None]
        return not self.taps or any(one.loops[-1] == self.k for one in filters)

    @property
    def in_order(self) -> Product:
        """The same product; the innermost loop over a convolution's results is that of filters.

        Consecutive workgroups run on different dies, each of which then reads a part of the filters
        only.
        """
        is_window = [factor.strides is not None for factor in (self.a, self.b[0])]
        if is_window[0] == is_window[1]:
            return self
        inner = self.n if is_window[0] else self.m
        outer = [*(loop for loop in range(self.outer) if loop != inner), inner]
        places = {loop: place for place, loop in enumerate(outer)}

        def moved(loops: Sequence[int]) -> tuple[int, ...]:
            return tuple(places.get(loop, loop) for loop in loops)

        return replace(
            self,
            extents=(*(self.extents[loop] for loop in outer), *self.extents[self.outer :]),
            m=places[self.m],
            n=places[self.n],
            a=replace(self.a, loops=moved(self.a.loops)),
            b=tuple(replace(one, loops=moved(one.loops)) for one in self.b),
            c=tuple(map(moved, self.c)),
        )

    def workgroups(self, rows: int, columns: int) -> int:
        """The number of tiles of that size."""
        tiles = {self.m: rows, self.n: columns}
        extents = self.extents[: self.outer]
        return prod(-(-extent // tiles.get(loop, 1)) for loop, extent in enumerate(extents))


def read_product(op: ir.Operation) -> Product | None:
    """Returns the loops of products of static operands; None for another op."""
    kinds, results = iterators(op), len(op.results)
    body = [one.operation.name for one in op.regions[0].blocks[0].operations]
    outer = kinds.count("parallel")
    if (
        kinds != ["parallel"] * outer + ["reduction"] * (len(kinds) - outer)
        or set(body) | {"arith.extf"} != _BODY
        or body.count("arith.mulf") != results
        or len(op.operands) != 2 * results + 1
        or not all(tensor(value).has_static_shape for value in op.operands)
    ):
        return None
    read = (_factor(op, number) for number in range(results + 1))
    factors = [factor for factor in read if factor is not None]
    if len(factors) <= results:
        return None
    a, *others = factors
    c = loops_of(op)[results + 1 :]
    one = {str(tensor(factor.value).element_type) for factor in (a, *others)}
    wide = {str(tensor(value).element_type) for value in op.results}
    rows = [loop for loop in range(outer) if loop in a.loops and loop not in others[0].loops]
    columns = [loop for loop in range(outer) if loop in others[0].loops and loop not in a.loops]
    shared = [loop for loop in a.loops if loop in others[0].loops]
    is_whole = all(sorted(each.loops) == sorted([*columns, *shared]) for each in others)
    is_whole &= sorted(a.loops) == sorted([*rows, *shared])
    is_whole &= all(loop in shared for loop in range(outer, len(kinds)))
    is_whole &= all(sorted(each) == list(range(outer)) for each in c)
    inner = range(outer, len(kinds))
    if not rows or not columns or not inner or not is_whole or len(one) > 1 or wide != {"f32"}:
        return None
    found = extents_of(op)
    extents = tuple(found[loop] for loop in range(len(kinds)))
    return Product(
        extents=extents,
        outer=outer,
        k=max(inner, key=lambda loop: extents[loop]),
        m=rows[-1],
        n=columns[-1],
        a=a,
        b=tuple(others),
        c=tuple(map(tuple, c)),
        element=one.pop(),
    )


def _factor(op: ir.Operation, number: int) -> Factor | None:
    """Returns a factor that the dispatch loads; None if it computes it."""
    value = op.operands[number]
    maker = defining_op(value)
    if maker is None or maker.name != LOADS:
        return None
    loops: list[int] = []
    strides: list[int] = []
    results = ir.AffineMapAttr(indexing_maps(op)[number]).value.results
    shape = tensor(value).shape
    for dim, expression in enumerate(results):
        text = str(expression)
        if not _TERMS.fullmatch(text):
            return None
        for loop, factor in _TERM.findall(text):
            loops.append(int(loop))
            strides.append(int(factor or 1) * prod(shape[dim + 1 :]))
    is_window = len(loops) > len(results) or any(" " in str(each) for each in results)
    buffer = ir.MemRefType(maker.operands[0].type)
    if is_window and buffer.affine_map != ir.AffineMap.get_identity(len(shape)):
        return None
    return Factor(value, tuple(loops), tuple(strides) if is_window else None)
