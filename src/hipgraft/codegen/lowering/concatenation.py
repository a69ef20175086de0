"""Concatenates two halves along the last dim, as rotary embeddings do with `cat(-x2, x1)`.

IREE copies both halves to another storage order, concatenates them there and copies the result
back. This lowering selects each element of the result from the two halves, in one dispatch.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.flat import by_element, element_at, has_short_rows
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import is_float


@dataclass(frozen=True)
class _Half:
    """One operand of the concatenation.

    Attributes:
        tensor: the elements.
        negated: whether the operand is the negative of `tensor`.
    """

    tensor: Tensor
    negated: bool

    def signed(self, scalars: ScalarEmitter, value: Scalar) -> Scalar:
        """Emits an element of the half, given the tensor's element."""
        return scalars.op("arith.negf", value) if self.negated else value


def lower_concatenation(op: ir.Operation, lowering: Lowering) -> Tensor | None:
    """Returns the result of a `torch.aten.cat` of two equal halves; None for other forms."""
    parts = ir.OpResult(op.operands[0]).owner.operands
    halves = [_half(value, lowering) for value in parts]
    found = [half for half in halves if half is not None]
    if len(found) < 2 or len(halves) > 2 or not _is_last_dim(op, found[0].tensor.rank):
        return None
    first, second = found
    if first.tensor.shape != second.tensor.shape or first.tensor.rank < 2:
        return None
    make = _gathered if has_short_rows(first.tensor.shape) else _selected
    return make(lowering.emitter, first, second)


def _half(value: ir.Value, lowering: Lowering) -> _Half | None:
    cast = value.owner
    if isinstance(cast, ir.Block) or cast.name != "torch_c.from_builtin_tensor":
        return None
    source = cast.operands[0]
    negated = _negated(source)
    tensor = lowering.in_own_type(source if negated is None else negated)
    is_whole = not tensor.broadcast_dims and is_float(tensor.element)
    return _Half(tensor, negated is not None) if is_whole else None


def _negated(value: ir.Value) -> ir.Value | None:
    """Returns the operand of the NEG op that computes `value`; None if it is another op or type."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != PointwiseOp.OP_NAME:
        return None
    op = PointwiseOp(owner.operation)
    same = op.in_0.type == value.type
    return op.in_0 if op.mode is PointwiseMode.NEG and same else None


def _is_last_dim(op: ir.Operation, rank: int) -> bool:
    owner = op.operands[1].owner
    if isinstance(owner, ir.Block) or owner.name != "torch.constant.int":
        return False
    return ir.IntegerAttr(owner.attributes["value"]).value in (-1, rank - 1)


def _selected(emitter: Emitter, first: _Half, second: _Half) -> Tensor:
    """Selects whole rows, in loops over [..., 2, columns]."""
    dim = first.tensor.rank - 1
    operands = [half.tensor.with_unit_dim(dim) for half in (first, second)]

    def body(scalars: ScalarEmitter, arguments: list[Scalar]) -> list[Scalar]:
        is_first = scalars.compare("eq", scalars.index(dim), scalars.constant(0, "index"))
        pairs = zip((first, second), arguments[:2], strict=True)
        values = [half.signed(scalars, value) for half, value in pairs]
        return [scalars.select(is_first, *values)]

    *outer, columns = first.tensor.shape
    whole = emitter.pointwise("joined", operands, (*outer, 2, columns), first.tensor.element, body)
    return emitter.merge_dims(whole, dim)


def _gathered(emitter: Emitter, first: _Half, second: _Half) -> Tensor:
    """Reads each element of the result at its own index."""
    *outer, columns = first.tensor.shape

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        *lead, column = indices
        half = scalars.constant(columns, "index")
        is_first = scalars.compare("lt", column, half)
        column = scalars.select(is_first, column, scalars.op("arith.subi", column, half))
        values = [
            part.signed(scalars, element_at(scalars, part.tensor, [*lead, column]))
            for part in (first, second)
        ]
        return scalars.select(is_first, *values)

    return by_element(emitter, (*outer, 2 * columns), first.tensor.element, read)
