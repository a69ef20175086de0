"""Lowers normalisations to reductions and pointwise ops, which IREE fuses into one dispatch.

The variance is computed as the mean of squared deviations from the mean, which avoids the
cancellation of `mean(x²) - mean(x)²`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import LONGEST_ROW, accumulate, reduce_dims
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import (
    LayernormOp,
    PointwiseOp,
    ReductionMode,
    RmsnormOp,
)
from hipgraft.ir.element_types import bit_width
from hipgraft.ir.tensors import element_of, shape_of

# The longest row of 32-bit elements that may have a partial wavefront; a work item gets many
# elements of longer rows. A row of shorter floats may have at most one wavefront: compiling 162
# elements of f16 took minutes, 162 of f32 a second.
_LONGEST_ODD_ROW = 512

# The longest row that takes less time in one dispatch although its parts have factors, by estimate.
_LONGEST_OF_PARTS = 512

# From these numbers of elements on, in all or in each row, inputs are copied for a reduction over a
# non-contiguous dimension.
_MANY_ACROSS, _LONG_ACROSS = 1 << 17, 96


@lowers(LayernormOp)
def lower_layernorm(op: LayernormOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns y, and the statistics that the op has as results."""
    return _together(lowering, op, lambda: _layernorm(op, lowering))


def _layernorm(op: LayernormOp, lowering: Lowering) -> list[Tensor]:
    emitter, x = lowering.emitter, in_rows(lowering, lowering.tensor(op.x), op.dims)
    compute = float_compute_type(op, x.element)
    mean, _, inverse = statistics(emitter, x, op.dims, lowering.tensor(op.epsilon), compute)
    if _has_factors_of_parts(lowering.target, op):
        inverse = emitter.materialized(inverse)
    else:
        inverse = separated(lowering, x, op.dims, inverse)
    factors = [mean, inverse, lowering.tensor(op.scale), lowering.tensor(op.bias)]
    results = [scale_and_shift(emitter, x, factors, compute, element_of(op.y))]
    for value, statistic in ((op.mean, mean), (op.inv_variance, inverse)):
        if value is not None:
            results.append(emitter.cast(statistic, element_of(value)))
    return results


@lowers(RmsnormOp)
def lower_rmsnorm(op: RmsnormOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns y, and the inverse root mean square if the op has it as a result."""
    return _together(lowering, op, lambda: _rmsnorm(op, lowering))


def _rmsnorm(op: RmsnormOp, lowering: Lowering) -> list[Tensor]:
    emitter, x = lowering.emitter, in_rows(lowering, lowering.tensor(op.x), op.dims)
    scale, bias = lowering.tensor(op.scale), lowering.optional(op.bias)
    compute, element = float_compute_type(op, x.element), element_of(op.y)
    count = math.prod(x.shape[dim] for dim in op.dims)
    squares = _squares(emitter, x, op.dims, compute)
    inverse = inverse_root(emitter, squares, count, lowering.tensor(op.epsilon))

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, compute)
        values = [scalars.cast(value, compute) for value in arguments]
        y = m.mul(*values[:3])
        return [scalars.cast(y if bias is None else m.add(y, values[3]), element)]

    operands = [x, inverse, scale] if bias is None else [x, inverse, scale, bias]
    y = emitter.pointwise("normalized", operands, x.shape, element, body)
    return [y] if op.inv_rms is None else [y, emitter.cast(inverse, element_of(op.inv_rms))]


def in_rows(lowering: Lowering, x: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns an input with its reduced dims as contiguous rows, unless reductions are fast as is.

    For a reduction over a non-contiguous dimension, IREE assigns each row to one GPU thread: few
    threads run, and each reads its row element by element. A copy takes one more launch. On the
    CPU, a copy is 2 to 27 times faster for some inputs of more than 2^17 elements.
    """
    is_slow = _is_slow_across(lowering.target, x, dims)
    return lowering.emitter.in_rows(x, dims) if is_slow else x


def _is_slow_across(target: Target, x: Tensor, dims: Sequence[int]) -> bool:
    """Whether reducing non-contiguous dims takes longer than copying and reducing the copy."""
    if target.kind is TargetKind.CUDA or math.prod(x.shape) >= _MANY_ACROSS:
        return True
    is_gpu = target.kind is not TargetKind.CPU
    return is_gpu and math.prod(x.shape[dim] for dim in dims) >= _LONG_ACROSS


def separated(lowering: Lowering, x: Tensor, dims: Sequence[int], statistic: Tensor) -> Tensor:
    """Returns a statistic over `dims`, materialized where normalization needs its own dispatch."""
    is_odd = _is_odd(lowering.target, x, dims)
    return lowering.emitter.materialized(statistic) if is_odd else statistic


def _is_odd(target: Target, x: Tensor, dims: Sequence[int]) -> bool:
    """Whether normalization takes minutes to compile in the same dispatch as the rows' sums.

    This happens if rows are long and IREE cannot collapse their dims, for example because scales
    are per channel.
    """
    longest = _LONGEST_ODD_ROW if bit_width(x.element) >= 32 else target.wavefront_size
    extents = [x.shape[dim] for dim in dims if x.shape[dim] > 1]
    length = math.prod(extents)
    is_long = length > longest and length % target.wavefront_size > 0
    are_several = len(extents) > 1 and math.prod(x.shape) > length
    return target.is_gfx9 and is_long and are_several


def _has_factors_of_parts(target: Target, op: LayernormOp) -> bool:
    """Whether the ops after a norm read a factor for each part of a row, such as a group's channel.

    IREE then reads the factors element by element in the dispatch that sums the rows. One more
    dispatch, which uses all compute units, takes less time.
    """
    extents = {dim: shape_of(op.x)[dim] for dim in op.dims if shape_of(op.x)[dim] > 1}
    if target.kind is not TargetKind.AMDGPU or math.prod(extents.values()) <= _LONGEST_OF_PARTS:
        return False
    waiting = [op.y]
    while waiting:
        value = waiting.pop()
        for user in [use.owner.operation for use in value.uses]:
            if user.name != PointwiseOp.OP_NAME:
                continue
            waiting.append(user.results[0])
            for shape in map(shape_of, user.operands):
                kept = [len(shape) > dim and shape[dim] > 1 for dim in extents]
                if any(kept) and not all(kept):
                    return True
    return False


def _together(
    lowering: Lowering, op: LayernormOp | RmsnormOp, build: Callable[[], list[Tensor]]
) -> list[Tensor]:
    """Emits a norm of one row as one dispatch on a GPU; IREE itself fuses norms of several rows."""
    if _is_one_row(lowering.target, op):
        return lowering.emitter.one_row(build)
    return build()


def _is_one_row(target: Target, op: LayernormOp | RmsnormOp) -> bool:
    """Whether a norm has only one row, which one workgroup of a GPU normalizes."""
    x = shape_of(op.x)
    rows = math.prod(extent for dim, extent in enumerate(x) if dim not in op.dims)
    return target.kind is not TargetKind.CPU and rows == 1 and math.prod(x) <= LONGEST_ROW


def statistics(
    emitter: Emitter, x: Tensor, dims: Sequence[int], epsilon: Tensor, compute: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Emits mean, sum of squared deviations and inverse standard deviation over `dims`."""
    count = math.prod(x.shape[dim] for dim in dims)
    mean = _divided(emitter, reduce_dims(emitter, ReductionMode.ADD, x, dims, compute), count)
    squares = _squared_deviations(emitter, x, mean, dims)
    return mean, squares, inverse_root(emitter, squares, count, epsilon)


def _squared_deviations(emitter: Emitter, x: Tensor, mean: Tensor, dims: Sequence[int]) -> Tensor:
    """Emits the sum of `(x - mean)²` over `dims`."""

    def step(m: Arithmetic, values: list[Scalar], total: Scalar) -> Scalar:
        deviation = m.sub(values[0], values[1])
        return m.add(total, m.mul(deviation, deviation))

    return accumulate(emitter, "squares", [x, mean], dims, mean.element, 0, step)


def inverse_root(emitter: Emitter, squares: Tensor, count: int, epsilon: Tensor) -> Tensor:
    """Emits `1 / sqrt(squares / count + epsilon)`."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, squares.element)
        mean = arguments[0] if count == 1 else m.over(arguments[0], count)
        return [m.math("rsqrt", m.add(mean, scalars.cast(arguments[1], squares.element)))]

    operands = [squares, epsilon]
    return emitter.pointwise("inverse", operands, squares.shape, squares.element, body)


def scale_and_shift(
    emitter: Emitter, x: Tensor, factors: Sequence[Tensor], compute: str, element: str
) -> Tensor:
    """Emits `(x - mean) · inverse · scale + bias`; `factors` are mean, inverse, scale and bias."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, compute)
        values = [scalars.cast(value, compute) for value in arguments[:5]]
        value, mean, inverse, scale, bias = values
        y = m.add(m.mul(m.sub(value, mean), inverse, scale), bias)
        return [scalars.cast(y, element)]

    return emitter.pointwise("normalized", [x, *factors], x.shape, element, body)


def _divided(emitter: Emitter, total: Tensor, count: int) -> Tensor:
    """Emits `total / count`."""

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, total.element)
        return [m.over(arguments[0], count)]

    return emitter.pointwise("mean", [total], total.shape, total.element, body)


def _squares(emitter: Emitter, x: Tensor, dims: Sequence[int], compute: str) -> Tensor:
    def step(m: Arithmetic, values: list[Scalar], total: Scalar) -> Scalar:
        return m.add(total, m.mul(values[0], values[0]))

    return accumulate(emitter, "squares", [x], dims, compute, 0, step)
