"""Lowers dropout of attention weights, by a given mask or by random numbers.

Weights are numbered in row-major order. Weight `n` uses the first word that Philox generates for
the counter `offset + n` and the key `seed`; it is kept if this word, divided by 2³², is at least
`dropout_probability`. hipDNN leaves the choice of counters to the engine; hipgraft uses those of
Triton's attention kernels on AMD GPUs.
"""

from __future__ import annotations

from hipgraft.codegen.lowering.attention.philox import random_word
from hipgraft.codegen.lowering.context import Lowering, float_compute_type, unsupported
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.elementwise import elementwise
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import AttentionOp, SdpaBackwardOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.tensors import Shape

# Bits of the random fraction: as many as f32 represents exactly.
_FRACTION_BITS = 24


def kept_weights(op: AttentionOp, lowering: Lowering) -> Tensor | None:
    """Emits 1 where dropout keeps a weight and 0 elsewhere; None if it keeps all.

    Raises:
        CodegenError: the op has a dropout probability, but neither a mask nor seed and offset.
    """
    if op.dropout_mask is not None:
        return lowering.tensor(op.dropout_mask)
    if not op.dropout_probability:
        return None
    if op.seed is None or op.offset is None:
        raise unsupported(op, "with dropout but neither 'dropout_mask' nor 'seed' and 'offset'")
    return _random_mask(op, lowering, op.dropout_probability, op.seed, op.offset)


def dropout_factors(op: AttentionOp, lowering: Lowering) -> list[Tensor]:
    """Emits the factors by which dropout multiplies the weights."""
    kept = kept_weights(op, lowering)
    if kept is None:
        return []
    return [kept, *_scales(op, lowering)]


def _scales(op: AttentionOp, lowering: Lowering) -> list[Tensor]:
    emitter = lowering.emitter
    if op.dropout_scale is not None:
        return [lowering.tensor(op.dropout_scale)]
    if isinstance(op, SdpaBackwardOp) and op.dropout_scale_inv is not None:
        inverse = lowering.tensor(op.dropout_scale_inv)
        compute = float_compute_type(op, inverse.element)
        return [elementwise(emitter, "scale", [inverse], lambda m, v: m.reciprocal(v[0]), compute)]
    if op.dropout_mask is not None or not op.dropout_probability:
        return []
    scale = 1 / (1 - op.dropout_probability)
    return [emitter.filled(Tensor.logical("", (1,), "f32"), scale)]


def _random_mask(
    op: AttentionOp, lowering: Lowering, probability: float, seed: ir.Value, offset: ir.Value
) -> Tensor:
    shape = op.scores_shape
    operands = [lowering.tensor(seed), lowering.tensor(offset)]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        key, start = (scalars.cast(value, "i64") for value in arguments[:2])
        counter = scalars.op("arith.addi", start, _position(scalars, shape))
        word = random_word(scalars, key, counter)
        shift = scalars.constant(32 - _FRACTION_BITS, "i64")
        m = Arithmetic(scalars, "f32")
        bits = scalars.cast(scalars.op("arith.shrui", word, shift), "f32")
        fraction = m.mul(bits, m.constant(2.0**-_FRACTION_BITS))
        return [m.select("ge", fraction, probability, m.constant(1), m.constant(0))]

    return lowering.emitter.pointwise("kept", operands, shape, "f32", body)


def _position(scalars: ScalarEmitter, shape: Shape) -> Scalar:
    """Emits the row-major index of the current element in loops over `shape`."""
    position = scalars.cast(scalars.index(0), "i64")
    for dim, extent in enumerate(shape[1:], start=1):
        position = scalars.op("arith.muli", position, scalars.constant(extent, "i64"))
        index = scalars.cast(scalars.index(dim), "i64")
        position = scalars.op("arith.addi", position, index)
    return position
