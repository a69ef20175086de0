"""Lowers the index of a row's largest or smallest element, the first one of several.

IREE lets one work item compare the elements of a row one after the other: of a vocabulary of 50,000
in 3 ms on gfx942, by estimate. As one integer whose upper half orders the elements, and whose lower
half orders their indices, lanes share the row as for any other maximum.
"""

from __future__ import annotations

import math

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Body, Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.extremes import bits_of_key, ordered_key
from hipgraft.codegen.lowering.verbatim import VerbatimCopier
from hipgraft.codegen.target import TargetKind
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.torch_dialect import shape_and_element

# Work items compare the elements of shorter rows in less time.
_SHORTEST = 32

# The parts of all rows, at most, and the fewest elements of each.
_MOST_PARTS, _SHORTEST_PART = 128, 1 << 10

# The most work items, each for a part of a row whose elements are apart.
_MOST_ITEMS = 1 << 18

_LAST = (1 << 32) - 1

ARG_EXTREMES = {
    "torch.aten.argmax": False,
    "torch.aten.argmin": True,
    "torch.aten.max.dim": False,
    "torch.aten.min.dim": True,
}
"""Whether ops look for the smallest element, by name."""


def lower_arg_extreme(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> list[Tensor] | None:
    """Returns the results of one of `ARG_EXTREMES`; None for forms left to IREE."""
    if lowering.target.kind is TargetKind.CPU:
        return None
    found, result = copier.operand_along(op, lowering), shape_and_element(op.results[0].type)
    if found is None or result is None:
        return None
    x, dim = found
    if not 8 <= (bit_width(x.element) or 64) <= 32 or x.shape[dim] < _SHORTEST:
        return None
    emitter, is_least = lowering.emitter, ARG_EXTREMES[op.name]
    keys = _largest_keys(emitter, x, dim, is_least)

    def index_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        every = scalars.constant(_LAST, "i64")
        lower = scalars.op("arith.andi", arguments[0], every)
        return [scalars.op("arith.subi", every, lower)]

    def element_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        upper = scalars.op("arith.shrui", arguments[0], scalars.constant(32, "i64"))
        return [
            _element(scalars, scalars.convert("arith.trunci", upper, "i32"), x.element, is_least)
        ]

    results = [emitter.pointwise("index", [keys], keys.shape, "i64", index_of)]
    if len(op.results) > 1:
        results.insert(0, emitter.pointwise("extreme", [keys], keys.shape, x.element, element_of))
    return [emitter.viewed(one, result[0]) for one in results]


def _largest_keys(emitter: Emitter, x: Tensor, dim: int, is_least: bool) -> Tensor:
    """Emits the keys and the reversed indices of the extreme elements along `dim`, as rows."""
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
    parts = _parts(outer, x.shape[dim], inner)
    length = x.shape[dim] // parts
    axes = {"outer": outer, "part": parts, "item": length, "inner": inner}
    # IREE does not share a row of several loops, one of extent 1 included.
    axes = {axis: extent for axis, extent in axes.items() if extent > 1 or axis == "item"}
    names, loops = list(axes), [*(axis for axis in axes if axis != "item"), "item"]

    def keyed(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        key = scalars.convert("arith.extui", _key(scalars, arguments[0], is_least), "i64")
        upper = scalars.op("arith.shli", key, scalars.constant(32, "i64"))
        index = scalars.index(loops.index("item"))
        if parts > 1:
            part, extent = scalars.index(loops.index("part")), scalars.constant(length, "index")
            index = scalars.op("arith.addi", scalars.op("arith.muli", part, extent), index)
        lower = scalars.op("arith.subi", scalars.constant(_LAST, "i64"), scalars.cast(index, "i64"))
        return [scalars.op("arith.maxui", arguments[1], scalars.op("arith.ori", upper, lower))]

    def largest(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [scalars.op("arith.maxui", *arguments)]

    emitter.whole_reductions = True  # IREE lets one lane reduce each of its parts
    found = _reduced(emitter, emitter.viewed(x, tuple(axes.values())), names.index("item"), keyed)
    return found if parts == 1 else _reduced(emitter, found, names.index("part"), largest)


def _reduced(emitter: Emitter, x: Tensor, dim: int, body: Body) -> Tensor:
    """Emits the reduction of a dim, without which the result is an `i64`."""
    others = [each for each in range(x.rank) if each != dim]
    shape = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
    start = emitter.filled(Tensor("", shape, "i64", tuple(others)), 0)
    (found,) = emitter.generic(
        "largest", [x], [start], body, shape=x.shape, order=[*others, dim], reduced=[dim]
    )
    return Tensor.logical(found.name, found.extents, "i64")


def _parts(outer: int, count: int, inner: int) -> int:
    """Returns how many work items share a row, or workgroups one of contiguous elements."""
    most, shortest = (_MOST_PARTS, _SHORTEST_PART) if inner == 1 else (_MOST_ITEMS, _SHORTEST)
    most = min(most // (outer * inner), count // shortest)
    return next((parts for parts in range(most, 1, -1) if count % parts == 0), 1)


def _element(scalars: ScalarEmitter, key: Scalar, element: str, is_least: bool) -> Scalar:
    """Emits the element with this key: the inverse of `_key`."""
    if not is_float(element):
        return scalars.cast(_flipped(scalars, key, is_least), element)
    value = scalars.bitcast(bits_of_key(scalars, key), "f32")
    value = Arithmetic(scalars, "f32").negate(value) if is_least else value
    return scalars.cast(value, element)


def _flipped(scalars: ScalarEmitter, bits: Scalar, is_least: bool) -> Scalar:
    flipped = (1 << 31) - 1 if is_least else -(1 << 31)
    return scalars.op("arith.xori", bits, scalars.constant(flipped, "i32"))


def _key(scalars: ScalarEmitter, value: Scalar, is_least: bool) -> Scalar:
    """Maps an element to an unsigned `i32` whose order is that of the elements, or its reverse."""
    if is_float(value.type):
        m, value = Arithmetic(scalars, "f32"), scalars.cast(value, "f32")
        value = m.negate(value) if is_least else value
        zero = m.constant(0)  # of either sign
        value = scalars.select(scalars.compare("eq", value, zero), zero, value)
        # NaN is larger than all numbers, as in PyTorch.
        value = scalars.select(scalars.compare("ne", value, value), m.absolute(value), value)
        return ordered_key(scalars, scalars.bitcast(value, "i32"))
    return _flipped(scalars, scalars.cast(value, "i32"), is_least)
