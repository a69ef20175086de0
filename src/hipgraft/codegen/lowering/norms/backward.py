"""Lowers gradients of the normalisations.

All share one formula. With `z = (x - mean) · inverse` and `g = dy · scale`, and means over the
normalised dims, `dx = inverse · (g - mean(g) - z · mean(g · z))`; `dscale` sums `dy · z` and
`dbias` sums `dy` over the dims that the scale broadcasts over. RMS normalisation has neither the
mean nor the term `mean(g)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.elementwise import elementwise
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.norms.batchnorm import refuse_peer_stats
from hipgraft.codegen.lowering.norms.norms import statistics
from hipgraft.codegen.lowering.reduction.reduction import accumulate
from hipgraft.codegen.workarounds.broadcast_scale import is_taken_for_contraction
from hipgraft.dialects.hipdnn import (
    BatchnormBackwardOp,
    LayernormBackwardOp,
    RmsnormBackwardOp,
)
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import element_of, shape_of

_EPSILON = 1e-5  # used if neither statistics nor epsilon are given

_BackwardOp = BatchnormBackwardOp | LayernormBackwardOp | RmsnormBackwardOp


@lowers(BatchnormBackwardOp)
def lower_batchnorm_backward(op: BatchnormBackwardOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns dx, dscale and dbias."""
    refuse_peer_stats(op)
    dims = [0, *range(2, lowering.tensor(op.x).rank)]
    return _gradients(op, lowering, dims, _statistics(op, lowering, dims, None))


@lowers(LayernormBackwardOp)
def lower_layernorm_backward(op: LayernormBackwardOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns dx, dscale and dbias."""
    epsilon = lowering.optional(op.epsilon)
    return _gradients(op, lowering, op.dims, _statistics(op, lowering, op.dims, epsilon))


@lowers(RmsnormBackwardOp)
def lower_rmsnorm_backward(op: RmsnormBackwardOp, lowering: Lowering) -> Sequence[Tensor]:
    """Returns dx, dscale, and dbias if the op has it as a result."""
    return _gradients(op, lowering, op.dims, [lowering.tensor(op.inv_rms)])


def _statistics(
    op: BatchnormBackwardOp | LayernormBackwardOp,
    lowering: Lowering,
    dims: Sequence[int],
    epsilon: Tensor | None,
) -> list[Tensor]:
    """Returns the inverse standard deviation and the mean: the given ones, or those of `x`."""
    if op.inv_variance is not None and op.mean is not None:
        return [lowering.tensor(op.inv_variance), lowering.tensor(op.mean)]
    emitter, x = lowering.emitter, lowering.tensor(op.x)
    compute = float_compute_type(op, x.element)
    if epsilon is None:
        scalar = emitter.constant(_EPSILON, compute)
        epsilon = Tensor.logical(
            emitter.op("epsilon", f"tensor.from_elements {scalar.name} : tensor<1x{compute}>"),
            (1,),
            compute,
        )
    mean, _, inverse = statistics(emitter, x, dims, epsilon, compute)
    return [inverse, mean]


def _gradients(
    op: _BackwardOp, lowering: Lowering, dims: Sequence[int], factors: Sequence[Tensor]
) -> list[Tensor]:
    """Emits the gradients; `factors` are the inverse deviation and, unless RMS, the mean."""
    x = lowering.tensor(op.x)
    scale = _whole(lowering.emitter, lowering.tensor(op.scale), x, dims)
    operands = [lowering.tensor(op.dy), x, scale, *factors]
    norm = _Norm(lowering.emitter, float_compute_type(op, x.element), operands)
    gradients = [norm.dx(dims, element_of(op.dx)), norm.parameter("dscale", _scaled, op.dscale)]
    if op.dbias is not None:
        gradients.append(norm.parameter("dbias", _unscaled, op.dbias))
    return gradients


def _whole(emitter: Emitter, scale: Tensor, x: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns the scale, materialized if it broadcasts over only some of the normalised `dims`."""
    if not is_taken_for_contraction(scale, x, dims):
        return scale
    aligned = (1,) * (x.rank - scale.rank) + scale.shape
    shape = [x.shape[dim] if dim in dims else extent for dim, extent in enumerate(aligned)]
    whole = elementwise(
        emitter, "scale", [scale], lambda _, values: values[0], scale.element, shape=shape
    )
    return emitter.barrier(whole)


# Emits a term of a sum from elements of dy, x, scale, inverse and (unless RMS) mean.
_Term = Callable[..., Scalar]


def _normalized(m: Arithmetic, x: Scalar, inverse: Scalar, *mean: Scalar) -> Scalar:
    return m.mul(m.sub(x, mean[0]) if mean else x, inverse)


def _unscaled(m: Arithmetic, dy: Scalar, *_: Scalar) -> Scalar:
    return dy


def _scaled(m: Arithmetic, dy: Scalar, x: Scalar, _: Scalar, *factors: Scalar) -> Scalar:
    return m.mul(dy, _normalized(m, x, *factors))


def _inner(m: Arithmetic, dy: Scalar, _: Scalar, scale: Scalar, *__: Scalar) -> Scalar:
    return m.mul(dy, scale)


def _product(m: Arithmetic, dy: Scalar, x: Scalar, scale: Scalar, *factors: Scalar) -> Scalar:
    return m.mul(dy, scale, _normalized(m, x, *factors))


@dataclass(frozen=True)
class _Norm:
    """The operands of a gradient.

    Attributes:
        emitter: emitter that receives the ops.
        compute: type of the arithmetic.
        operands: dy, x, scale, inverse and (unless RMS) mean.
    """

    emitter: Emitter
    compute: str
    operands: Sequence[Tensor]

    def dx(self, dims: Sequence[int], element: str) -> Tensor:
        """Emits the gradient of `x`, which was normalised over `dims`."""
        share = 1 / math.prod(self.operands[1].shape[dim] for dim in dims)
        terms = [_product] if len(self.operands) == 4 else [_product, _inner]
        sums = [self._sum("sum", dims, term) for term in terms]

        def formula(m: Arithmetic, values: list[Scalar]) -> Scalar:
            dy, x, scale, *factors = values[: len(self.operands)]
            products, *inner = (m.mul(v, m.constant(share)) for v in values[len(self.operands) :])
            slope = m.mul(_normalized(m, x, *factors), products)
            for mean in inner:
                slope = m.add(slope, mean)
            return m.mul(factors[0], m.sub(m.mul(dy, scale), slope))

        operands = [*self.operands, *sums]
        return elementwise(self.emitter, "dx", operands, formula, self.compute, element=element)

    def parameter(self, hint: str, term: _Term, result: ir.Value) -> Tensor:
        """Emits the sum of `term` over the dims that the scale broadcasts over."""
        shape = shape_of(result)
        aligned = (1,) * (self.operands[1].rank - len(shape)) + shape
        dims = [dim for dim, extent in enumerate(aligned) if extent == 1]
        total = self.emitter.cast(self._sum(hint, dims, term), element_of(result))
        return self.emitter.reshape(total, shape)

    def _sum(self, hint: str, dims: Sequence[int], term: _Term) -> Tensor:
        def step(m: Arithmetic, values: list[Scalar], total: Scalar) -> Scalar:
            return m.add(total, term(m, *values))

        return accumulate(self.emitter, hint, self.operands, dims, self.compute, 0, step)
