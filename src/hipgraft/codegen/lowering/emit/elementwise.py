"""Emits formulas over tensor elements, computed in one type and rounded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor

Formula = Callable[[Arithmetic, list[Scalar]], Scalar]


def elementwise(
    emitter: Emitter,
    hint: str,
    operands: Sequence[Tensor],
    formula: Formula,
    compute: str,
    *,
    element: str | None = None,
    shape: Sequence[int] | None = None,
) -> Tensor:
    """Emits a formula over the elements of operands.

    Args:
        emitter: emitter that receives the ops.
        hint: prefix of the result's name.
        operands: tensors that broadcast by numpy's rules.
        formula: emits the result from one element of each operand, all in the type `compute`.
        compute: type of the arithmetic.
        element: type of the result, `compute` if None.
        shape: shape of the result, that of the first operand if None.
    """

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        values = [scalars.cast(value, compute) for value in arguments[: len(operands)]]
        return [scalars.cast(formula(Arithmetic(scalars, compute), values), element or compute)]

    extents = operands[0].shape if shape is None else shape
    return emitter.pointwise(hint, operands, extents, element or compute, body)
