"""Lowers each pointwise op to one `linalg.generic`; IREE fuses them."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, float_compute_type, lowers, unsupported
from hipgraft.codegen.lowering.emit.arithmetic import Arithmetic
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.element_types import bit_width, is_float
from hipgraft.ir.tensors import element_of, shape_of


@lowers(PointwiseOp)
def lower_pointwise(op: PointwiseOp, lowering: Lowering) -> Sequence[Tensor]:
    """Computes in the op's compute type and rounds to the result's type."""
    emitter = lowering.emitter
    element, shape = element_of(op.out_0), shape_of(op.out_0)
    if op.mode is PointwiseMode.GEN_INDEX:
        return [_gen_index(emitter, op.axis or 0, shape, element)]
    operands = [lowering.tensor(value) for value in op.inputs]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        return [compute_element(op, scalars, arguments[: len(operands)])]

    hint = op.mode.value.removesuffix("_op").removesuffix("_fwd")
    return [emitter.pointwise(hint, operands, shape, element, body)]


def compute_element(op: PointwiseOp, scalars: ScalarEmitter, values: list[Scalar]) -> Scalar:
    """Emits the op's arithmetic on one element of each operand, rounded to the result's type."""
    element = element_of(op.out_0)
    return scalars.cast(_compute(scalars, op, values, element), element)


def _gen_index(emitter: Emitter, axis: int, shape: Sequence[int], element: str) -> Tensor:
    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        # No op converts an index to a float directly.
        position = scalars.cast(scalars.index(axis), "i64")
        return [scalars.cast(position, element)]

    return emitter.pointwise("index", [], shape, element, body)


def _compute(scalars: ScalarEmitter, op: PointwiseOp, values: list[Scalar], element: str) -> Scalar:
    mode = op.mode
    if mode is PointwiseMode.IDENTITY:
        return values[0]
    if mode is PointwiseMode.BINARY_SELECT:
        mask, on_true, on_false = values
        yes, no = (scalars.cast(value, element) for value in (on_true, on_false))
        return scalars.select(scalars.cast(mask, "i1"), yes, no)
    info = op.info
    kind = "i1" if info.on_truth else _compute_type(op, values, "i1" if info.predicate else element)
    operands = [scalars.cast(value, kind) for value in values]
    if info.unary is not None:
        return info.unary(Arithmetic(scalars, kind), op.parameters, *operands)
    if info.binary is not None:
        return info.binary(Arithmetic(scalars, kind), op.parameters, *operands)
    raise unsupported(op, f"in mode '{mode}'")


def _compute_type(op: PointwiseOp, values: Sequence[Scalar], element: str) -> str:
    """Returns the type in which `op` computes on `values` for a result of type `element`."""
    types = [value.type for value in values]
    integers = not any(is_float(type_) for type_ in (*types, element))
    if integers and op.info.on_integers:
        width = max(bit_width(type_) for type_ in (*types, element))
        return f"i{width}" if width > 1 else "i32"  # as numbers, the i1 values are 0 and 1
    return float_compute_type(op, *types)
