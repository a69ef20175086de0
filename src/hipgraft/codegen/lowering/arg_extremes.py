"""Lowers the index of a row's largest or smallest element, the first one of several.

IREE lets one work item compare the elements of a row one after the other, which takes an estimated
3 ms on gfx942 for a vocabulary of 50,000. This lowering packs each element and its index into one
integer: the upper half orders the elements, the lower half the indices. Lanes then share a row as
for any other maximum. If a row is not contiguous, each lane reduces a row or a part of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.iree.row_tiles import SHARED_FROM
from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Body, Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.extremes import bits_of_key, key_of
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.codegen.lowering.verbatim import VerbatimCopier
from hipgraft.codegen.target import TargetKind
from hipgraft.dialects.hipdnn import ReductionMode
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.tensors import shape_of
from hipgraft.ir.torch_dialect import shape_and_element

# Work items compare the elements of shorter rows in less time.
_SHORTEST = 32

# The most parts of all rows of contiguous elements, and the fewest elements of each.
_MOST_PARTS, _SHORTEST_PART = 128, 1 << 10

# The most work items, each for a part of a row that is not contiguous.
_MOST_ITEMS = 1 << 18

_LAST = (1 << 32) - 1

_TRANSPOSES = frozenset({f"torch.aten.{name}" for name in ("permute", "t", "transpose.int")})
_SLICES = frozenset({"torch.aten.select.int", "torch.aten.slice.Tensor"})

ARG_EXTREMES = {
    "torch.aten.argmax": False,
    "torch.aten.argmin": True,
    "torch.aten.max.dim": False,
    "torch.aten.min.dim": True,
}
"""Whether ops look for the smallest element, by name."""


def lower_arg_extreme(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> Sequence[Tensor | None] | None:
    """Returns the results of one of `ARG_EXTREMES`; None for forms left to IREE."""
    if lowering.target.kind is TargetKind.CPU:
        return None
    found, result = copier.operand_along(op, lowering), shape_and_element(op.results[0].type)
    if found is None or result is None:
        return None
    x, dim = found
    emitter, is_least = lowering.emitter, ARG_EXTREMES[op.name]
    width = bit_width(x.element) or 64
    if width >= 8 and not is_float(x.element) and not _reads_index(op):
        mode = ReductionMode.MIN if is_least else ReductionMode.MAX
        extreme = reduce_dims(emitter, mode, x, [dim], x.element)
        return [emitter.viewed(extreme, result[0]), None]
    if not 8 <= width <= 32 or x.shape[dim] < _SHORTEST:
        return None
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
    is_long = x.shape[dim] >= SHARED_FROM[lowering.target.wavefront_size]
    is_shared = inner == 1 and is_long and _is_contiguous(x, op.operands[0], lowering)
    find = _largest_of_row if is_shared else _largest_apart
    index, key = find(emitter, emitter.viewed(x, (outer, x.shape[dim], inner)), is_least)
    if is_shared and _is_stretched(op):
        # IREE would fuse the reader, and let a work item compare the elements of a row.
        index, key = emitter.barrier(index), emitter.barrier(key)

    def element_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [_element(scalars, arguments[0], x.element, is_least)]

    results = [index]
    if len(op.results) > 1:
        results.insert(0, emitter.pointwise("extreme", [key], key.shape, x.element, element_of))
    return [emitter.viewed(one, result[0]) for one in results]


def _is_stretched(op: ir.Operation) -> bool:
    """Whether another op of the kernel stretches a result, as a read of rows by index does."""
    count = _size(op.results[0]) or 0
    seen: set[ir.Value] = set()
    pending = list(op.results)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if (_size(value) or 0) > count:
            return True
        pending += [result for use in value.uses for result in use.owner.results]
    return False


def _is_contiguous(x: Tensor, value: ir.Value, lowering: Lowering) -> bool:
    """Whether rows are contiguous in memory, as far as a kernel that reads them may reach.

    IREE folds transposes, slices and pointwise operators into their readers.
    """
    seen: set[ir.Value] = set()
    pending = [value]
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        op, known = defining_op(one), lowering.tensors.get(one)
        if known is not None and not known.lies_in(range(known.rank)):
            return False
        if op is None:
            continue
        if op.name in _TRANSPOSES:
            return False
        count, is_slice = _size(one), op.name in _SLICES
        pending += [each for each in op.operands if is_slice or _size(each) == count]
    return x.lies_in(range(x.rank))


def _size(value: ir.Value) -> int | None:
    """Returns the number of elements of a tensor; None for other values."""
    if isinstance(value.type, ir.RankedTensorType):
        return math.prod(shape_of(value))
    found = shape_and_element(value.type)
    return None if found is None else math.prod(found[0])


def _reads_index(op: ir.Operation) -> bool:
    return len(op.results) == 1 or bool(list(op.results[1].uses))


def _largest_of_row(emitter: Emitter, x: Tensor, is_least: bool) -> tuple[Tensor, Tensor]:
    """Emits the index and the key of the extreme element of each row [outer, L, 1].

    Lanes share a reduction with one result: the key, and the reversed index as its lower half.
    """
    outer, count, _ = x.shape
    parts = _parts(outer, count, _MOST_PARTS, _SHORTEST_PART)
    length = count // parts
    # IREE does not share a row that spans several loops, not even one of extent 1.
    sizes = (outer,) * (outer > 1) + (parts,) * (parts > 1) + (length,)

    def keyed(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        key = scalars.convert("arith.extui", _key(scalars, arguments[0], is_least), "i64")
        upper = scalars.op("arith.shli", key, scalars.constant(32, "i64"))
        index = scalars.index(len(sizes) - 1)
        if parts > 1:
            part, extent = scalars.index(len(sizes) - 2), scalars.constant(length, "index")
            index = scalars.op("arith.addi", scalars.op("arith.muli", part, extent), index)
        lower = scalars.op("arith.subi", scalars.constant(_LAST, "i64"), scalars.cast(index, "i64"))
        return [scalars.op("arith.maxui", arguments[1], scalars.op("arith.ori", upper, lower))]

    def largest(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [scalars.op("arith.maxui", *arguments)]

    def index_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        every = scalars.constant(_LAST, "i64")
        lower = scalars.op("arith.andi", arguments[0], every)
        return [scalars.op("arith.subi", every, lower)]

    def key_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        upper = scalars.op("arith.shrui", arguments[0], scalars.constant(32, "i64"))
        return [scalars.convert("arith.trunci", upper, "i32")]

    (found,) = _reduced(emitter, [emitter.viewed(x, sizes)], ["i64"], keyed, len(sizes) - 1)
    if parts > 1:
        (found,) = _reduced(emitter, [found], ["i64"], largest, len(sizes) - 2)
    return (
        emitter.pointwise("index", [found], found.shape, "i64", index_of),
        emitter.pointwise("key", [found], found.shape, "i32", key_of),
    )


def _largest_apart(emitter: Emitter, x: Tensor, is_least: bool) -> tuple[Tensor, Tensor]:
    """Emits the index and the key of the extreme element along L of `x` [outer, L, inner].

    A work item compares its elements one after the other. LLVM does not finish compiling long
    chains of comparisons of keys that have a constant index as their lower half, so this lowering
    compares pairs of a key and an index.
    """
    outer, count, inner = x.shape
    # At most as many parts as elements in each: one work item compares the results of all parts.
    parts = _parts(outer * inner, count, _MOST_ITEMS, max(_SHORTEST, math.isqrt(count)))
    length = count // parts

    def of_part(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        key, index = _key(scalars, arguments[0], is_least), scalars.cast(scalars.index(2), "i64")
        return _better(scalars, [key, index], arguments[1:])

    def of_all(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        part, extent = scalars.cast(scalars.index(1), "i64"), scalars.constant(length, "i64")
        start = scalars.op("arith.muli", part, extent)
        index = scalars.op("arith.addi", start, arguments[1])
        return _better(scalars, [arguments[0], index], arguments[2:])

    elements = emitter.viewed(x, (outer, parts, length, inner))
    found = _reduced(emitter, [elements], ["i32", "i64"], of_part, 2)
    if parts > 1:
        found = _reduced(emitter, found, ["i32", "i64"], of_all, 1)
    key, index = found
    return index, key


def _better(scalars: ScalarEmitter, new: list[Scalar], best: list[Scalar]) -> list[Scalar]:
    """Returns the larger key with its index; the earlier one if keys are equal."""
    is_larger = scalars.op("arith.cmpi ugt,", new[0], best[0], result="i1")
    return [scalars.select(is_larger, *pair) for pair in zip(new, best, strict=True)]


def _reduced(
    emitter: Emitter, inputs: Sequence[Tensor], elements: Sequence[str], body: Body, dim: int
) -> list[Tensor]:
    """Emits the reduction of a dim; the results lack that dim and have these element types."""
    shape = inputs[0].shape
    others = [each for each in range(len(shape)) if each != dim]
    form = (*shape[:dim], 1, *shape[dim + 1 :])
    starts = [emitter.filled(Tensor("", form, each, tuple(others)), 0) for each in elements]
    order = [*others, dim]
    found = emitter.generic(
        "largest", inputs, starts, body, shape=shape, order=order, reduced=[dim]
    )
    return [Tensor.logical(one.name, one.extents, one.element) for one in found]


def _parts(rows: int, count: int, most: int, shortest: int) -> int:
    """Returns the parts per row: each has at least `shortest` elements, all rows at most `most`."""
    most = min(most // rows, count // shortest)
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
        return key_of(scalars, value, "i32")
    return _flipped(scalars, scalars.cast(value, "i32"), is_least)
