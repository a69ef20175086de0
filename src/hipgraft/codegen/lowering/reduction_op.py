"""Reductions, accumulated in the compute type and rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.context import (
    Lowering,
    element_of,
    float_compute_type,
    lowers,
)
from hipgraft.codegen.lowering.extremes import extreme
from hipgraft.codegen.lowering.reduction import reduce_dims
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter, bit_width, is_float
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.dialects.hipdnn import ReductionMode as Mode
from hipgraft.dialects.hipdnn import ReductionOp

_EXTREMES = (Mode.MAX, Mode.MIN, Mode.AMAX)


@lowers(ReductionOp)
def lower_reduction(op: ReductionOp, lowering: Lowering) -> Sequence[Tensor]:
    """Reduces into an accumulator, finishes (mean, root) and rounds."""
    emitter = lowering.emitter
    x, element = lowering.tensor(op.in_), element_of(op.out)
    accumulator = _accumulator_type(op, x.element, element)
    if op.mode in _EXTREMES and is_float(accumulator):
        largest = extreme(emitter, op.mode, x, op.axes, accumulator)
        # An element of `x` needs no rounding to the type of `x`, and IREE ends a dispatch where
        # it rounds: a softmax would take two.
        return [largest if x.element == element else emitter.cast(largest, element)]
    total = reduce_dims(emitter, op.mode, x, op.axes, accumulator)
    count = math.prod(x.shape[dim] for dim in op.axes)

    def finish(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        arithmetic = Arithmetic(scalars, accumulator)
        result = arguments[0]
        if op.mode is Mode.AVG:
            result = arithmetic.div(result, arithmetic.constant(count))
        if op.mode is Mode.NORM2:
            result = arithmetic.math("sqrt", result)
        return [scalars.cast(result, element)]

    if accumulator == element and op.mode not in (Mode.AVG, Mode.NORM2):
        return [total]
    return [emitter.pointwise("reduced", [total], total.shape, element, finish)]


def _accumulator_type(op: ReductionOp, source: str, result: str) -> str:
    if is_float(source) or is_float(result) or op.mode in (Mode.AVG, Mode.NORM2):
        return float_compute_type(op, source)
    return f"i{max(32, bit_width(source), bit_width(result))}"
