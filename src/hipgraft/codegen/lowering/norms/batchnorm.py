"""Lowers batch normalisation with given statistics, and with those of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers, unsupported
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.norms.norms import (
    in_rows,
    inverse_root,
    scale_and_shift,
    separated,
    statistics,
)
from hipgraft.codegen.target import TargetKind
from hipgraft.dialects.hipdnn import (
    BatchnormBackwardOp,
    BatchnormInferenceOp,
    BatchnormInferenceVarianceExtOp,
    BatchnormOp,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import element_of


@lowers(BatchnormInferenceOp)
def lower_batchnorm_inference(op: BatchnormInferenceOp, lowering: Lowering) -> Sequence[Tensor]:
    """Normalises with given statistics."""
    x = lowering.tensor(op.x)
    factors = [lowering.tensor(v) for v in (op.mean, op.inv_variance, op.scale, op.bias)]
    compute = float_compute_type(op, x.element)
    return [scale_and_shift(lowering.emitter, x, factors, compute, element_of(op.y))]


@lowers(BatchnormInferenceVarianceExtOp)
def lower_batchnorm_inference_variance_ext(
    op: BatchnormInferenceVarianceExtOp, lowering: Lowering
) -> Sequence[Tensor]:
    """Normalises with given statistics, which hold the variance instead of its inverse root."""
    emitter, x = lowering.emitter, lowering.tensor(op.x)
    compute = float_compute_type(op, x.element)
    variance = emitter.cast(lowering.tensor(op.variance), compute)
    inverse = inverse_root(emitter, variance, 1, lowering.tensor(op.epsilon))
    mean, scale, bias = (lowering.tensor(value) for value in (op.mean, op.scale, op.bias))
    factors = [mean, inverse, scale, bias]
    return [scale_and_shift(emitter, x, factors, compute, element_of(op.y))]


@lowers(BatchnormOp)
def lower_batchnorm(op: BatchnormOp, lowering: Lowering) -> Sequence[Tensor]:
    """Normalises with the batch's statistics, and updates the running statistics."""
    refuse_peer_stats(op)
    emitter, x = lowering.emitter, lowering.tensor(op.x)
    compute = float_compute_type(op, x.element)
    dims = [0, *range(2, x.rank)]
    if lowering.target.kind is TargetKind.AMDGPU:
        # IREE unrolls a channel of 256 f16 elements for 25 s, and one of 512 for minutes, unless
        # it is contiguous. Its split reductions of longer ones take five launches instead of two.
        # By estimated time, 64 channels of 512 f32 elements take 4.7 µs instead of 26.6 µs.
        x = in_rows(lowering, x, dims)
    count = math.prod(x.shape[dim] for dim in dims)
    mean, squares, inverse = statistics(emitter, x, dims, lowering.tensor(op.epsilon), compute)
    inverse = separated(lowering, x, dims, inverse)
    factors = [mean, inverse, lowering.tensor(op.scale), lowering.tensor(op.bias)]
    results = [scale_and_shift(emitter, x, factors, compute, element_of(op.y))]
    for value, statistic in ((op.mean, mean), (op.inv_variance, inverse)):
        if value is not None:
            results.append(emitter.cast(statistic, element_of(value)))
    unbiased = max(count - 1, 1)  # for one element, hipDNN uses the biased variance
    for value, previous, current, divisor in (
        (op.next_running_mean, op.prev_running_mean, mean, 1),
        (op.next_running_variance, op.prev_running_variance, squares, unbiased),
    ):
        if value is not None and previous is not None and op.momentum is not None:
            operands = [lowering.tensor(previous), current, lowering.tensor(op.momentum)]
            results.append(_running(lowering, operands, divisor, value))
    return results


def refuse_peer_stats(op: BatchnormOp | BatchnormBackwardOp) -> None:
    """Raises if the op needs statistics of other devices.

    hipDNN's schema declares them, but its reference and its engines reject them.

    Raises:
        CodegenError: the op has peer statistics.
    """
    if op.peer_stats:
        raise unsupported(op, "with 'peer_stats', whose contents hipDNN does not define,")


def _running(
    lowering: Lowering, operands: Sequence[Tensor], divisor: int, result: ir.Value
) -> Tensor:
    """Emits `(1 - momentum) · previous + momentum · current / divisor`."""
    compute, element = operands[1].element, element_of(result)

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        m = Arithmetic(scalars, compute)
        previous, current, momentum = (scalars.cast(value, compute) for value in arguments[:3])
        current = m.div(current, m.constant(divisor))
        kept = m.mul(m.sub(m.constant(1), momentum), previous)
        return [scalars.cast(m.add(kept, m.mul(momentum, current)), element)]

    shape = operands[1].shape
    return lowering.emitter.pointwise("running", operands, shape, element, body)
