"""Largest and smallest elements, NaN if there is one.

IREE's AMDGPU reductions drop NaN. So floats are compared as integers of the same order, in which
NaN is the largest: integer reductions are as fast. The integers are unsigned ones, as IREE 3.13.0
masks lanes of signed ones with what would be neutral for those (`codegen/rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emitter import Emitter
from hipgraft.codegen.lowering.reduction import accumulate
from hipgraft.codegen.lowering.scalars import Scalar, ScalarEmitter, bit_width
from hipgraft.codegen.lowering.tensor import Tensor
from hipgraft.dialects.hipdnn import ReductionMode


def extreme(
    emitter: Emitter, mode: ReductionMode, x: Tensor, dims: Sequence[int], compute: str
) -> Tensor:
    """Emits the reduction of `dims` to extent 1 in mode MAX, MIN or AMAX.

    Args:
        emitter: where the ops go.
        mode: which of the three.
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
        # NaN may have a sign, which must not count.
        value = m.scalars.select(m.scalars.compare("ne", value, value), m.absolute(value), value)
        key = _key(m.scalars, m.scalars.bitcast(value, integer))
        return m.scalars.op("arith.maxui", total, key)

    def value_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        value = scalars.bitcast(_bits(scalars, arguments[0]), compute)
        return [Arithmetic(scalars, compute).negate(value) if mode is ReductionMode.MIN else value]

    # Keys made by an op of their own keep IREE from splitting the reduction.
    largest = accumulate(emitter, mode.value.lower(), [x], dims, integer, 0, step, compute)
    return emitter.pointwise("extreme", [largest], largest.shape, compute, value_of)


def _key(scalars: ScalarEmitter, bits: Scalar) -> Scalar:
    """Emits unsigned integers in the order of the floats whose bits are given."""
    return _flipped(scalars, bits, _sign(scalars, bits))


def _bits(scalars: ScalarEmitter, key: Scalar) -> Scalar:
    """Emits the bits of the float that has this key."""
    every = scalars.constant(-1, key.type)
    return _flipped(scalars, key, scalars.op("arith.xori", _sign(scalars, key), every))


def _sign(scalars: ScalarEmitter, bits: Scalar) -> Scalar:
    """Emits all bits where the first one is set, else none."""
    return scalars.op("arith.shrsi", bits, scalars.constant(bit_width(bits.type) - 1, bits.type))


def _flipped(scalars: ScalarEmitter, bits: Scalar, which: Scalar) -> Scalar:
    """Emits bits of which the first and those of `which` are inverted."""
    first = scalars.constant(-(2 ** (bit_width(bits.type) - 1)), bits.type)
    return scalars.op("arith.xori", bits, scalars.op("arith.ori", which, first))
