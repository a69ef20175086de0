"""Largest and smallest elements, NaN if there is one.

IREE's AMDGPU reductions drop NaN. So floats are compared as integers of the same order, in which
NaN is the largest: integer reductions are as fast.
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
        key = _in_order(m.scalars, m.scalars.bitcast(value, integer))
        return m.scalars.op("arith.maxsi", total, key)

    def value_of(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        value = scalars.bitcast(_in_order(scalars, arguments[0]), compute)
        return [Arithmetic(scalars, compute).negate(value) if mode is ReductionMode.MIN else value]

    # Keys made by an op of their own keep IREE from splitting the reduction.
    lowest = -(2 ** (bit_width(compute) - 1))
    largest = accumulate(emitter, mode.value.lower(), [x], dims, integer, lowest, step, compute)
    return emitter.pointwise("extreme", [largest], largest.shape, compute, value_of)


def _in_order(scalars: ScalarEmitter, bits: Scalar) -> Scalar:
    """Emits integers in the order of the floats whose bits are given; its own inverse."""
    width = bit_width(bits.type)
    sign = scalars.op("arith.shrsi", bits, scalars.constant(width - 1, bits.type))
    rest = scalars.constant(2 ** (width - 1) - 1, bits.type)
    return scalars.op("arith.xori", bits, scalars.op("arith.andi", sign, rest))
