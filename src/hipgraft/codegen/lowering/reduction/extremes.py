"""Lowers maximum and minimum reductions, which return NaN if any element is NaN.

IREE's AMDGPU reductions ignore NaN. So floats are mapped to integers in the same order, with NaN as
the largest; integer reductions are as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.reduction.reduction import accumulate
from hipgraft.dialects.hipdnn import ReductionMode
from hipgraft.ir.element_types import bit_width


def extreme(
    emitter: Emitter, mode: ReductionMode, x: Tensor, dims: Sequence[int], compute: str
) -> Tensor:
    """Emits the reduction of `dims` to extent 1 in mode MAX, MIN or AMAX.

    Args:
        emitter: emitter that receives the ops.
        mode: MAX, MIN or AMAX.
        x: tensor to reduce.
        dims: the reduced dims.
        compute: type of the result, a floating-point type.
    """
    integer = f"i{bit_width(compute)}"

    def step(m: Arithmetic, values: list[Scalar], total: Scalar) -> Scalar:
        value = values[0]
        if mode is ReductionMode.MIN:
            value = m.negate(value)
        if mode is ReductionMode.AMAX:
            value = m.absolute(value)
        return m.scalars.op("arith.maxui", total, key_of(m.scalars, value, integer))

    def value_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        value = scalars.bitcast(bits_of_key(scalars, arguments[0]), compute)
        return [Arithmetic(scalars, compute).negate(value) if mode is ReductionMode.MIN else value]

    # The reduction computes the keys itself, because IREE does not split a reduction whose keys are
    # computed by a separate op.
    largest = accumulate(emitter, mode.value.lower(), [x], dims, integer, 0, step, compute)
    return emitter.pointwise("extreme", [largest], largest.shape, compute, value_of)


def key_of(scalars: ScalarEmitter, value: Scalar, integer: str) -> Scalar:
    """Maps floats to unsigned integers in the same order; each NaN becomes the largest integer.

    The bits of a NaN are not compared, because operations may set its sign bit, and not even
    `math.absf` clears it on all targets.

    Args:
        scalars: emitter that receives the ops.
        value: the float.
        integer: the integer type of the same size.
    """
    bits = scalars.bitcast(value, integer)
    key = _flipped(scalars, bits, _sign(scalars, bits))
    is_nan = scalars.compare("ne", value, value)
    return scalars.select(is_nan, scalars.constant(-1, integer), key)


def bits_of_key(scalars: ScalarEmitter, key: Scalar) -> Scalar:
    """Emits the bits of the float with this key: the inverse of `key_of`."""
    every = scalars.constant(-1, key.type)
    return _flipped(scalars, key, scalars.op("arith.xori", _sign(scalars, key), every))


def _sign(scalars: ScalarEmitter, bits: Scalar) -> Scalar:
    """Emits all ones if the sign bit is set, else 0."""
    return scalars.op("arith.shrsi", bits, scalars.constant(bit_width(bits.type) - 1, bits.type))


def _flipped(scalars: ScalarEmitter, bits: Scalar, which: Scalar) -> Scalar:
    """Inverts the sign bit and the bits set in `which`."""
    first = scalars.constant(-(2 ** (bit_width(bits.type) - 1)), bits.type)
    return scalars.op("arith.xori", bits, scalars.op("arith.ori", which, first))
