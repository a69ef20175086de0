"""Lowers running sums; each work item adds the elements up to its own.

IREE adds them one after the other, in one work item per row: a row of 1,000 takes 1.4 ms on gfx942,
by estimate. This lowering first sums many or long rows in blocks, so that a work item adds only the
elements of its own block and the sums of the blocks before it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.codegen.lowering.verbatim import VerbatimCopier
from hipgraft.codegen.target import TargetKind
from hipgraft.dialects.hipdnn import ReductionMode
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.torch_dialect import shape_and_element

# IREE's serial sum is as fast for shorter rows.
_SHORTEST = 9

# The longest rows, and the most additions, that take no longer than the launches for blocks.
_LONGEST, _MOST_ADDITIONS = 384, 1 << 24


def lower_cumsum(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> list[Tensor] | None:
    """Returns the result of a `torch.aten.cumsum`; None for forms left to IREE."""
    found, result = copier.operand_along(op, lowering), shape_and_element(op.results[0].type)
    if found is None or result is None:
        return None
    (x, dim), element = found, result[1].removeprefix("s")
    accumulator = _accumulator(element)
    is_exact = accumulator == element  # otherwise, IREE rounds each sum
    is_left = lowering.target.kind is TargetKind.CPU or x.shape[dim] < _SHORTEST
    if x.element == "i1" or (is_exact and is_left):
        return None
    emitter = lowering.emitter
    outer, inner = math.prod(x.shape[:dim]), math.prod(x.shape[dim + 1 :])
    total = _sums(emitter, emitter.viewed(x, (outer, x.shape[dim], inner)), accumulator)
    return [emitter.viewed(emitter.cast(total, element), x.shape)]


def _accumulator(element: str) -> str:
    return "f32" if is_float(element) and (bit_width(element) or 0) < 32 else element


def _sums(emitter: Emitter, x: Tensor, accumulator: str) -> Tensor:
    """Emits the running sums of `x` [outer, L, inner] along L."""
    outer, length, inner = x.shape
    if length <= _LONGEST and outer * inner * length**2 <= _MOST_ADDITIONS:
        return _running(emitter, x, accumulator)
    block = _block(length)
    count = -(-length // block)
    more = count * block - length
    parts = emitter.viewed(resized(emitter, x, 1, more), (outer * count, block, inner))
    totals = reduce_dims(emitter, ReductionMode.ADD, parts, [1], accumulator)
    totals = emitter.viewed(emitter.materialized(totals), (outer, count, inner))
    before = _running(emitter, totals, accumulator, counts_itself=False)
    own = _running(emitter, parts, accumulator)
    own = emitter.viewed(own, (outer, count, block, inner))

    def add(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [Arithmetic(scalars, accumulator).add(*arguments[:2])]

    operands = [own, emitter.materialized(before).with_unit_dim(2)]
    both = emitter.pointwise("sums", operands, own.shape, accumulator, add)
    return resized(emitter, emitter.viewed(both, (outer, count * block, inner)), 1, -more)


def _block(length: int) -> int:
    """Returns the length of blocks: a divisor near the square root, or else a power of two."""
    root = math.isqrt(length)
    near = [each for each in range(root // 2 + 1, 2 * root) if length % each == 0]
    return min(near, key=lambda each: abs(each - root), default=1 << root.bit_length() - 1)


def _running(
    emitter: Emitter, x: Tensor, accumulator: str, *, counts_itself: bool = True
) -> Tensor:
    """Emits the sums of all elements of `x` [outer, L, inner] up to each one along L."""
    outer, length, inner = x.shape
    order = [0, 1, 3, 2]  # outer, result, inner, element

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        value, total = arguments
        is_before = scalars.compare(
            "le" if counts_itself else "lt", scalars.index(2), scalars.index(1)
        )
        more = Arithmetic(scalars, accumulator).add(total, scalars.cast(value, accumulator))
        return [scalars.select(is_before, more, total)]

    form = Tensor("", (outer, length, 1, inner), accumulator, (0, 1, 3))
    (found,) = emitter.generic(
        "running",
        [x.with_unit_dim(1)],
        [emitter.filled(form, 0)],
        body,
        shape=(outer, length, length, inner),
        order=order,
        reduced=[2],
    )
    return replace(found, shape=x.shape, dims=(0, 1, 2))
