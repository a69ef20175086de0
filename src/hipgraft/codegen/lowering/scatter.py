"""Scatters elements to given indices, each result by its own work items.

IREE adds one element after the other in a single workgroup, because several may have the same
index: 13,264 rows of 16 f32 elements take 22 ms on gfx942, by estimate. In this lowering each
result looks for its elements among all elements. That is more work, but all compute units share it.
Where elements overwrite each other, as in the unpooling of windows that overlap, the last one is
kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import Combine, neutral, reduce_dims
from hipgraft.codegen.lowering.verbatim import VerbatimCopier
from hipgraft.codegen.target import TargetKind
from hipgraft.dialects.hipdnn import ReductionMode
from hipgraft.ir.bindings import ir
from hipgraft.ir.builders import defining_op
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.torch_dialect import known_int

# If a column has more results, a single workgroup is as fast.
_MOST_ROWS = 1 << 18

# The number of work items that fill the compute units, and the fewest elements for each.
_MOST_ITEMS = 1 << 20
_LEAST_STEPS = 16

# A quarter of these comparisons took 0.5 ms on an H200. With more comparisons, IREE's scatter is
# faster; among elements that overwrite each other, it keeps an arbitrary one.
_MOST_COMPARISONS = 1 << 34

_NUMBERS = "i32"
"""The type of the numbers of elements."""

_MODES: dict[str, tuple[ReductionMode, Combine]] = {
    "sum": (ReductionMode.ADD, Arithmetic.add),
    "amax": (ReductionMode.MAX, Arithmetic.maximum),
    "amin": (ReductionMode.MIN, Arithmetic.minimum),
}


def lower_scatter(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> list[Tensor] | None:
    """Returns the result of an op that scatters elements; None for forms left to IREE.

    Args:
        op: a `torch.aten.scatter_reduce.two` or `torch.aten.scatter.src`.
        lowering: lowering of the container.
        copier: holds the op's operands.
    """
    dim = known_int(op.operands[1])
    if lowering.target.kind is TargetKind.CPU or dim is None:
        return None
    reduced = [_constant(value) for value in list(op.operands)[4:]]
    if reduced and (reduced[0] not in _MODES or not reduced[1]):
        return None
    x, index, source = (copier.tensor(op.operands[at], lowering) for at in (0, 2, 3))
    if reduced and (x.element == "i1" or ",ui" in str(op.results[0].type)):
        return None
    dim %= x.rank
    fits = [
        each == own or at == dim
        for at, (each, own) in enumerate(zip(index.shape, x.shape, strict=True))
    ]
    if index.shape != source.shape or not all(fits) or x.shape[dim] > _MOST_ROWS:
        return None
    if not reduced:
        if math.prod(x.shape) * index.shape[dim] > _MOST_COMPARISONS:
            return None
        return [_overwritten(lowering, x, index, source, dim)]
    return [_scattered(lowering, x, index, source, dim, *_MODES[str(reduced[0])])]


def _constant(value: ir.Value) -> str | bool | None:
    """Returns the value of a constant string or truth value; None for any other."""
    made = defining_op(value)
    if made is None or made.name not in ("torch.constant.str", "torch.constant.bool"):
        return None
    held = made.attributes["value"]
    return held.value if isinstance(held, ir.StringAttr) else bool(ir.IntegerAttr(held).value)


def _parts(results: int, count: int) -> int:
    """Returns into how many parts to split the elements that work items look through."""
    most = min(_MOST_ITEMS // results, count // _LEAST_STEPS)
    return next((parts for parts in range(most, 1, -1) if count % parts == 0), 1)


def _scattered(
    lowering: Lowering,
    x: Tensor,
    index: Tensor,
    source: Tensor,
    dim: int,
    mode: ReductionMode,
    combine: Combine,
) -> Tensor:
    """Emits the reduction of `x` and the elements of `source` whose index is that of the result."""
    element = x.element
    accumulator = "f32" if is_float(element) and (bit_width(element) or 0) < 32 else element

    def value(scalars: ScalarEmitter, arguments: Sequence[Scalar], step: int) -> Scalar:
        return scalars.cast(arguments[0], accumulator)

    form = replace(x, element=accumulator)
    total = _reduced(lowering, form, index, [source], dim, mode, combine, value)

    def add(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, accumulator)
        own, other = (scalars.cast(value, accumulator) for value in arguments[:2])
        return [scalars.cast(combine(m, own, other), element)]

    return lowering.emitter.pointwise("combined", [x, total], x.shape, element, add)


def _overwritten(lowering: Lowering, x: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    """Emits the last element of `source` whose index is that of the result, else that of `x`."""

    def number(scalars: ScalarEmitter, arguments: Sequence[Scalar], step: int) -> Scalar:
        before = scalars.op("arith.muli", scalars.index(x.rank), scalars.constant(step, "index"))
        return scalars.cast(scalars.op("arith.addi", before, scalars.index(x.rank + 1)), _NUMBERS)

    form = replace(x, element=_NUMBERS)
    last = _reduced(lowering, form, index, [], dim, *_MODES["amax"], number)

    def take(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        own, at = arguments[:2]
        none = scalars.constant(0, _NUMBERS)
        indices = [scalars.index(each) for each in range(x.rank)]
        indices[dim] = scalars.cast(scalars.op("arith.maxsi", at, none), "index")
        taken = scalars.element(source, *indices)
        return [scalars.select(scalars.compare("lt", at, none), own, taken)]

    return lowering.emitter.pointwise("overwritten", [x, last], x.shape, x.element, take)


def _reduced(
    lowering: Lowering,
    form: Tensor,
    index: Tensor,
    sources: Sequence[Tensor],
    dim: int,
    mode: ReductionMode,
    combine: Combine,
    value: Callable[[ScalarEmitter, Sequence[Scalar], int], Scalar],
) -> Tensor:
    """Emits, for each result, the reduction of the elements whose index is that of the result.

    Args:
        lowering: lowering of the container.
        form: shape [..., N, ...] and element type of the results.
        index: indices in `dim` [..., E, ...].
        sources: tensors of the shape of `index`.
        dim: the dim of N and E.
        mode: mode of the reduction, whose neutral value is the result if there are no elements.
        combine: arithmetic of the reduction.
        value: emits the element to reduce from the elements of the sources and the number of
            elements of a part. The loop over parts is number `form.rank`; the loop over elements
            follows.
    """
    emitter, accumulator = lowering.emitter, form.element
    rank, count = form.rank, index.shape[dim]
    parts = _parts(math.prod(form.shape), count)
    last = [each + (each >= dim) for each in range(rank) if each != dim]
    order = [*last[:dim], dim, *last[dim:], dim + 1]
    # All as [..., 1, ..., parts, E / parts], where 1 is the dim of N.
    operands = [
        emitter.split_dim(each.with_unit_dim(dim).permuted(order), rank, parts)
        for each in (index, *sources)
    ]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        at, *elements, total = arguments
        row = scalars.cast(scalars.index(dim), at.type)
        combined = combine(
            Arithmetic(scalars, accumulator), total, value(scalars, elements, count // parts)
        )
        return [scalars.select(scalars.compare("eq", at, row), combined, total)]

    # The parts are outermost, so that neighbouring lanes read neighbouring elements.
    loops = [rank, *range(rank), rank + 1]
    partial = Tensor("", (*form.shape, parts, 1), accumulator, tuple(loops[:-1]))
    (found,) = emitter.generic(
        "scattered",
        operands,
        [emitter.filled(partial, neutral(mode, accumulator))],
        body,
        shape=(*form.shape, parts, count // parts),
        order=loops,
        reduced=[rank + 1],
    )
    found = replace(found, shape=found.shape[:-1])
    total = reduce_dims(emitter, mode, found, [rank], accumulator)
    return replace(total, shape=form.shape)
