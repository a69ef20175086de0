"""Other ways to multiply matrices than one product on the operands as they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import (
    Lowering,
    accumulator_type,
    element_of,
    shape_of,
    variant,
)
from hipgraft.codegen.lowering.matmul import multiply, operands_of
from hipgraft.codegen.lowering.padding import padded
from hipgraft.codegen.lowering.reduction import reduce_dims
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.codegen.lowering.windows import cropped
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import MatmulOp, ReductionMode

# What a workgroup's tiles divide evenly.
_TILE = 64
# Below, padding multiplies the work; a product of so few rows is bound by memory anyway.
_FEWEST = 16

_PARTS = 8
_LONGEST_PART = 512


def _can_pad(op: MatmulOp, _: Target) -> bool:
    a, b = shape_of(op.a), shape_of(op.b)
    extents = (a[-2], a[-1], b[-1])
    return min(extents) >= _FEWEST and any(extent % _TILE for extent in extents)


def _can_split(op: MatmulOp, _: Target) -> bool:
    a, b, c = (shape_of(value) for value in (op.a, op.b, op.c))
    is_single = math.prod(a[:-2]) == math.prod(b[:-2]) == math.prod(c[:-2]) == 1
    return is_single and a[-1] % _PARTS == 0 and a[-1] // _PARTS >= _LONGEST_PART


@variant(MatmulOp, "padded", _can_pad)
def lower_padded(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Adds zeros around M, N and K up to whole tiles and cuts the result."""
    emitter = lowering.emitter
    a, b = (_tiled(lowering, value) for value in operands_of(op, lowering))
    shape = shape_of(op.c)
    wide = (*([1] * (a.rank - len(shape))), *shape[:-2], a.shape[-2], b.shape[-1])
    product = multiply(emitter, a, b, wide, accumulator_type(op, a.element, b.element))
    after = [0] * (a.rank - 4) + [shape[-2] - wide[-2], shape[-1] - wide[-1]]
    result = cropped(emitter, product, [0] * len(after), after)
    return [emitter.cast(emitter.reshape(result, shape), element_of(op.c))]


@variant(MatmulOp, "split-k", _can_split)
def lower_split(op: MatmulOp, lowering: Lowering) -> Sequence[Tensor]:
    """Multiplies parts of K as a batch and adds their products in the accumulator's type."""
    emitter = lowering.emitter
    a, b = operands_of(op, lowering)
    accumulator = accumulator_type(op, a.element, b.element)
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    part = depth // _PARTS
    a = emitter.reshape(emitter.reshape(a, (rows, depth)), (rows, _PARTS, part))
    b = emitter.reshape(emitter.reshape(b, (depth, columns)), (_PARTS, part, columns))
    a = a.permuted((1, 0, 2))
    products = multiply(emitter, a, b, (_PARTS, rows, columns), accumulator)
    total = reduce_dims(emitter, ReductionMode.ADD, products, [0], accumulator)
    return [emitter.cast(emitter.reshape(total, shape_of(op.c)), element_of(op.c))]


def _tiled(lowering: Lowering, value: Tensor) -> Tensor:
    """Pads the matrix dims; `padded` leaves the two outermost dims alone."""
    while value.rank < 4:
        value = value.with_unit_dim(0)
    after = [-extent % _TILE for extent in value.shape[-2:]]
    return padded(lowering.emitter, value, [0] * (value.rank - 2), [0] * (value.rank - 4) + after)
