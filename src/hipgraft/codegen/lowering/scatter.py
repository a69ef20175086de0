"""Reduces rows that are scattered to given indices, each result by its own work items.

IREE adds one element after the other in a single workgroup, because several may have the same
index: 13,264 rows of 16 f32 elements take 22 ms on gfx942, by estimate. Here each result looks for
its elements among all. That is more work, but done by all compute units.
"""

from __future__ import annotations

import math
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

# With more results of a column, a single workgroup is as fast.
_MOST_ROWS = 1 << 18

# Work items that fill the compute units, and the fewest elements that each should look at.
_MOST_ITEMS = 1 << 20
_LEAST_STEPS = 16

_MODES: dict[str, tuple[ReductionMode, Combine]] = {
    "sum": (ReductionMode.ADD, Arithmetic.add),
    "amax": (ReductionMode.MAX, Arithmetic.maximum),
    "amin": (ReductionMode.MIN, Arithmetic.minimum),
}


def lower_scatter(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> list[Tensor] | None:
    """Returns the result of a `torch.aten.scatter_reduce.two`; None for forms left to IREE."""
    mode, is_included = map(_constant, list(op.operands)[4:])
    dim = known_int(op.operands[1])
    if lowering.target.kind is TargetKind.CPU or dim is None:
        return None
    if not is_included or not isinstance(mode, str) or mode not in _MODES:
        return None
    x, index, source = (copier.tensor(op.operands[at], lowering) for at in (0, 2, 3))
    if x.element == "i1" or ",ui" in str(op.results[0].type):
        return None
    dim %= x.rank
    fits = [
        each == own or at == dim
        for at, (each, own) in enumerate(zip(index.shape, x.shape, strict=True))
    ]
    if index.shape != source.shape or not all(fits) or x.shape[dim] > _MOST_ROWS:
        return None
    return [_scattered(lowering, x, index, source, dim, *_MODES[mode])]


def _constant(value: ir.Value) -> str | bool | None:
    """Returns the value of a constant string or truth value; None for any other."""
    made = defining_op(value)
    if made is None or made.name not in ("torch.constant.str", "torch.constant.bool"):
        return None
    held = made.attributes["value"]
    return held.value if isinstance(held, ir.StringAttr) else bool(ir.IntegerAttr(held).value)


def _parts(results: int, count: int) -> int:
    """Returns the number of parts of the elements that work items look through."""
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
    """Emits the reduction of the elements of `source` whose index is that of the result.

    Args:
        lowering: of the container.
        x: what the results are combined with [..., N, ...].
        index: indices in `dim` [..., E, ...].
        source: elements of the shape of `index`.
        dim: the dim of N and E.
        mode: mode of the reduction.
        combine: its arithmetic.
    """
    emitter, element = lowering.emitter, x.element
    accumulator = "f32" if is_float(element) and (bit_width(element) or 0) < 32 else element
    rank, count = x.rank, index.shape[dim]
    parts = _parts(math.prod(x.shape), count)
    last = [each + (each >= dim) for each in range(rank) if each != dim]
    order = [*last[:dim], dim, *last[dim:], dim + 1]
    # Both as [..., 1, ..., parts, E / parts], where 1 is the dim of N.
    operands = [
        emitter.split_dim(value.with_unit_dim(dim).permuted(order), rank, parts)
        for value in (index, source)
    ]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        at, value, total = arguments
        row = scalars.cast(scalars.index(dim), at.type)
        combined = combine(
            Arithmetic(scalars, accumulator), total, scalars.cast(value, accumulator)
        )
        return [scalars.select(scalars.compare("eq", at, row), combined, total)]

    # The parts are outermost, so that neighbouring lanes read neighbouring elements.
    loops = [rank, *range(rank), rank + 1]
    form = Tensor("", (*x.shape, parts, 1), accumulator, tuple(loops[:-1]))
    shape = (*x.shape, parts, count // parts)
    (found,) = emitter.generic(
        "scattered",
        operands,
        [emitter.filled(form, neutral(mode, accumulator))],
        body,
        shape=shape,
        order=loops,
        reduced=[rank + 1],
    )
    found = replace(found, shape=found.shape[:-1])
    total = reduce_dims(emitter, mode, found, [rank], accumulator)
    total = replace(total, shape=x.shape)

    def add(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, accumulator)
        own, other = (scalars.cast(value, accumulator) for value in arguments[:2])
        return [scalars.cast(combine(m, own, other), element)]

    return emitter.pointwise("combined", [x, total], x.shape, element, add)
