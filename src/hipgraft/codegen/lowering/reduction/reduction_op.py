"""Lowers reductions, accumulated in the compute type and rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, float_compute_type
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.extremes import extreme
from hipgraft.codegen.lowering.reduction.reduction import reduce_dims
from hipgraft.dialects.hipdnn import ReductionMode as Mode
from hipgraft.dialects.hipdnn import ReductionOp
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.tensors import element_of

_EXTREMES = (Mode.MAX, Mode.MIN, Mode.AMAX)


def reduced(op: ReductionOp, lowering: Lowering) -> list[Tensor]:
    """Reduces into an accumulator, applies the mode's last step (mean, root) and rounds."""
    emitter, x = lowering.emitter, lowering.tensor(op.in_)
    total = total_of(emitter, op.mode, x, op.axes, accumulator_of(op, x))
    return [finished(op, emitter, x, total)]


def total_of(emitter: Emitter, mode: Mode, x: Tensor, dims: Sequence[int], element: str) -> Tensor:
    """Emits the reduction of `dims` to extent 1 in type `element`, without the mode's last step."""
    reduce = extreme if mode in _EXTREMES and is_float(element) else reduce_dims
    return reduce(emitter, mode, x, dims, element)


def finished(op: ReductionOp, emitter: Emitter, x: Tensor, total: Tensor) -> Tensor:
    """Emits the last step of the op's mode and rounds.

    Args:
        op: the reduction.
        emitter: emitter that receives the ops.
        x: the op's operand.
        total: result of the reduction, without the last step.
    """
    element = element_of(op.out)
    if op.mode in _EXTREMES and x.element == element:
        # The result is an element of `x`, so that it needs no rounding to the type of `x`. IREE
        # would end the dispatch at a cast, and a softmax would take two dispatches.
        return total
    count = math.prod(x.shape[dim] for dim in op.axes)

    def finish(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        arithmetic = Arithmetic(scalars, total.element)
        result = arguments[0]
        if op.mode is Mode.AVG:
            result = arithmetic.over(result, count)
        if op.mode is Mode.NORM2:
            result = arithmetic.math("sqrt", result)
        return [scalars.cast(result, element)]

    if total.element == element and op.mode not in (Mode.AVG, Mode.NORM2):
        return total
    return emitter.pointwise("reduced", [total], total.shape, element, finish)


def accumulator_of(op: ReductionOp, x: Tensor) -> str:
    """Returns the type in which the op accumulates the elements of `x`."""
    result = element_of(op.out)
    if is_float(x.element) or is_float(result) or op.mode in (Mode.AVG, Mode.NORM2):
        return float_compute_type(op, x.element)
    return f"i{max(32, bit_width(x.element), bit_width(result))}"
