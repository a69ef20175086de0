"""Emits loops that reduce dims to extent 1, for the lowerings of several ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import ReductionMode as Mode
from hipgraft.ir.element_types import bit_width, is_float

LONGEST_ROW = 1 << 17
"""The most elements that one workgroup reduces faster than several, which have to synchronize."""

Step = Callable[[Arithmetic, Scalar], Scalar]
Combine = Callable[[Arithmetic, Scalar, Scalar], Scalar]
Accumulate = Callable[[Arithmetic, list[Scalar], Scalar], Scalar]


def _unchanged(_: Arithmetic, x: Scalar) -> Scalar:
    return x


def _square(m: Arithmetic, x: Scalar) -> Scalar:
    return m.mul(x, x)


def _zero_as_one(m: Arithmetic, x: Scalar) -> Scalar:
    return m.select("eq", x, 0, m.constant(1), x)


@dataclass(frozen=True)
class _Rule:
    """The definition of a mode: `combine(total, step(x))`, starting from `start`."""

    start: float
    combine: Combine
    step: Step = _unchanged


_RULES = {
    Mode.ADD: _Rule(0, Arithmetic.add),
    Mode.AVG: _Rule(0, Arithmetic.add),
    Mode.NORM1: _Rule(0, Arithmetic.add, Arithmetic.absolute),
    Mode.NORM2: _Rule(0, Arithmetic.add, _square),
    Mode.MUL: _Rule(1, Arithmetic.mul),
    Mode.MUL_NO_ZEROS: _Rule(1, Arithmetic.mul, _zero_as_one),
    Mode.MIN: _Rule(math.inf, Arithmetic.minimum),
    Mode.MAX: _Rule(-math.inf, Arithmetic.maximum),
    Mode.AMAX: _Rule(0, Arithmetic.maximum, Arithmetic.absolute),
}


def reduce_dims(
    emitter: Emitter,
    mode: Mode,
    x: Tensor,
    dims: Sequence[int],
    accumulator: str,
    start: float | None = None,
) -> Tensor:
    """Emits the reduction of `dims` to extent 1; the SSA value does not store these dims.

    Args:
        emitter: emitter that receives the ops.
        mode: mode of the reduction; the last step of AVG and NORM2 is left to the caller.
        x: tensor to reduce.
        dims: the reduced dims.
        accumulator: type of the arithmetic and of the result.
        start: value of an empty reduction, the mode's own if None.
    """
    rule = _RULES[mode]
    if start is None:
        start = neutral(mode, accumulator)

    def step(m: Arithmetic, values: list[Scalar], total: Scalar) -> Scalar:
        return rule.combine(m, total, rule.step(m, values[0]))

    return accumulate(emitter, mode.value.lower(), [x], dims, accumulator, start, step)


def accumulate(
    emitter: Emitter,
    hint: str,
    operands: Sequence[Tensor],
    dims: Sequence[int],
    accumulator: str,
    start: float,
    step: Accumulate,
    compute: str | None = None,
) -> Tensor:
    """Emits a reduction of `dims` to extent 1; the SSA value does not store these dims.

    Args:
        emitter: emitter that receives the ops.
        hint: prefix of the result's name.
        operands: the tensor to reduce, then tensors that broadcast to it.
        dims: the reduced dims.
        accumulator: type of the result.
        start: initial value.
        step: emits the new total from the operands' elements and the total.
        compute: type of the arithmetic, to which elements are converted; `accumulator` if None.
    """
    type_ = compute or accumulator

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        values = [scalars.cast(value, type_) for value in arguments[:-1]]
        return [step(Arithmetic(scalars, type_), values, arguments[-1])]

    form = _reduced_form(operands[0], dims, accumulator)
    if _is_total(operands[0], dims):
        operands, dims, form = _flattened(emitter, operands), [0], replace(form, dims=())
    init = emitter.filled(form, start)
    shape = operands[0].shape
    return emitter.generic(hint, operands, [init], body, shape=shape, reduced=dims)[0]


def _is_total(x: Tensor, dims: Sequence[int]) -> bool:
    """Whether a tensor with several stored dims is reduced to a single element."""
    stays = any(extent > 1 and dim not in dims for dim, extent in enumerate(x.shape))
    several = len(x.dims) > 1 and math.prod(x.shape) > 1
    return not stays and several and not x.broadcast_dims


def _flattened(emitter: Emitter, operands: Sequence[Tensor]) -> list[Tensor]:
    """Collapses all dims, because IREE does not distribute a total reduction over several loops.

    The elements are in the order in which the first operand stores them.
    """
    first = operands[0]
    order = sorted(range(first.rank), key=lambda dim: dim in first.dims and first.dims.index(dim))
    flat: list[Tensor] = []
    for operand in operands:
        value = emitter.without_unit_dims(operand)  # a tensor without dims broadcasts to any shape
        if value.dims:
            shift = first.rank - value.rank
            dims = tuple(dim + shift for dim in value.dims)
            full = replace(value, shape=first.shape, dims=dims).permuted(order)
            value = emitter.reshape(full, [math.prod(first.shape)])
        flat.append(value)
    return flat


def _reduced_form(x: Tensor, dims: Sequence[int], element: str) -> Tensor:
    shape = tuple(1 if dim in dims else extent for dim, extent in enumerate(x.shape))
    return Tensor("", shape, element, tuple(dim for dim in range(x.rank) if dim not in dims))


def neutral(mode: Mode, element: str) -> float:
    """Returns the neutral element of a mode; integers use their limits in place of infinities."""
    value = _RULES[mode].start
    if is_float(element) or math.isfinite(value):
        return value
    largest = 2 ** (bit_width(element) - 1) - 1
    return largest if value > 0 else -largest - 1
