"""Concatenates tensors whose parts of the result are not contiguous.

IREE copies the operands to another storage order, concatenates them there and copies the result
back. This lowering selects each element of the result from the operands, in one dispatch. Halves
of the last dim may be computed, as rotary embeddings do with `cat(-x2, x1)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.flat import by_element, element_at, has_short_rows
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds.scatter_dim import dim_of
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import is_float

# For an element of the result, lanes read one of each operand, and use one of these.
_MOST_PARTS = 8


@dataclass(frozen=True)
class _Part:
    """One operand of the concatenation.

    Attributes:
        tensor: the elements.
        negated: whether the operand is the negative of `tensor`.
        is_computed: whether the container computes `tensor`.
    """

    tensor: Tensor
    negated: bool
    is_computed: bool

    def signed(self, scalars: ScalarEmitter, value: Scalar) -> Scalar:
        """Emits an element of the part, given the tensor's element."""
        return scalars.op("arith.negf", value) if self.negated else value


def lower_concatenation(op: ir.Operation, lowering: Lowering) -> Tensor | None:
    """Returns the result of a `torch.aten.cat`; None for forms that are left to IREE."""
    values = list(ir.OpResult(op.operands[0]).owner.operands)
    parts = [part for value in values if (part := _part(value, lowering)) is not None]
    dim = dim_of(op)
    if not 2 <= len(parts) <= _MOST_PARTS or len(parts) < len(values) or dim is None:
        return None
    shape = parts[0].tensor.shape
    if not shape or len({part.tensor.element for part in parts}) > 1:
        return None
    dim %= len(shape)
    if _are_halves(parts) and dim == len(shape) - 1 > 0:
        make = _gathered if has_short_rows(shape) else _selected
        return make(lowering.emitter, *parts)
    tensors = [part.tensor for part in parts if not (part.is_computed or part.negated)]
    if len(tensors) < len(parts) or math.prod(shape[:dim]) == 1:
        return None
    if all(tensor.lies_in(range(len(shape))) for tensor in tensors):
        return _rows(lowering.emitter, tensors, dim)
    if dim < len(shape) - 1 and all(map(_has_rows, tensors)):
        return _joined(lowering.emitter, tensors, dim)
    return None


def _has_rows(tensor: Tensor) -> bool:
    """Whether elements that differ in the last dim only are next to each other."""
    stored = [dim for dim in tensor.dims if tensor.shape[dim] > 1]
    return stored[-1:] == [tensor.rank - 1]


def _part(value: ir.Value, lowering: Lowering) -> _Part | None:
    cast = value.owner
    if isinstance(cast, ir.Block) or cast.name != "torch_c.from_builtin_tensor":
        return None
    negated = _negated(cast.operands[0])
    source = cast.operands[0] if negated is None else negated
    tensor = lowering.in_own_type(source)
    if tensor.broadcast_dims or (negated is not None and not is_float(tensor.element)):
        return None
    return _Part(tensor, negated is not None, not isinstance(source.owner, ir.Block))


def _are_halves(parts: Sequence[_Part]) -> bool:
    tensors = [part.tensor for part in parts]
    return len(parts) == 2 and len({tensor.shape for tensor in tensors}) == 1


def _negated(value: ir.Value) -> ir.Value | None:
    """Returns the operand of the NEG op that computes `value`; None if it is another op or type."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != PointwiseOp.OP_NAME:
        return None
    op = PointwiseOp(owner.operation)
    same = op.in_0.type == value.type
    return op.in_0 if op.mode is PointwiseMode.NEG and same else None


def _selected(emitter: Emitter, first: _Part, second: _Part) -> Tensor:
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


def _gathered(emitter: Emitter, first: _Part, second: _Part) -> Tensor:
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


def _rows(emitter: Emitter, tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Joins tensors that are stored in logical order, in loops over the longest common rows."""
    shape, extents = tensors[0].shape, [tensor.shape[dim] for tensor in tensors]
    outer, common = math.prod(shape[:dim]), math.gcd(*extents)
    columns = common * math.prod(shape[dim + 1 :])
    parts = [
        _reshaped(emitter, tensor, (outer, extent // common, columns))
        for tensor, extent in zip(tensors, extents, strict=True)
    ]
    joined = _joined(emitter, parts, 1)
    return _reshaped(emitter, joined, (*shape[:dim], sum(extents), *shape[dim + 1 :]))


def _joined(emitter: Emitter, parts: Sequence[Tensor], dim: int) -> Tensor:
    """Reads each element of the result at its own index of the part that holds it."""
    starts = [0, *accumulate(part.shape[dim] for part in parts)]
    shape, element = parts[0].shape, parts[0].element
    whole = (*shape[:dim], starts[-1], *shape[dim + 1 :])

    def read(scalars: ScalarEmitter, indices: list[Scalar]) -> Scalar:
        row, values = indices[dim], list[Scalar]()
        for part, (start, end) in zip(parts, pairwise(starts), strict=True):
            # Rows of other parts read the first or last one.
            first, last = (scalars.constant(at, "index") for at in (start, end - 1))
            bounded = scalars.op("arith.minui", scalars.op("arith.maxui", row, first), last)
            own = scalars.op("arith.subi", bounded, first)
            values.append(element_at(scalars, part, [*indices[:dim], own, *indices[dim + 1 :]]))
        found = values.pop()
        for value, end in zip(reversed(values), reversed(starts[1:-1]), strict=True):
            is_before = scalars.compare("lt", row, scalars.constant(end, "index"))
            found = scalars.select(is_before, value, found)
        return found

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        return [read(scalars, [scalars.index(loop) for loop in range(len(whole))])]

    if has_short_rows(whole):
        return by_element(emitter, whole, element, read)
    return emitter.pointwise("joined", [], whole, element, body)


def _reshaped(emitter: Emitter, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    flat = emitter.reshape(tensor, (math.prod(tensor.shape),))
    return emitter.reshape(flat, shape)
