"""Concatenates tensors that form non-contiguous parts of the result.

IREE copies the operands to another storage order, concatenates them there and copies the result
back. This lowering selects each element of the result from the operands, in one dispatch, and
recomputes operands that are elementwise ops, slices, or concatenations. It stores the results of
the container's other ops, except halves of the last dim, as in rotary embeddings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.lowering.context import Lowering
from hipgraft.codegen.lowering.elements import MOST_READS, Elements, Source, joined, parts_of
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.flat import by_element, has_short_rows
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.verbatim import VerbatimCopier
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.element_types import is_float
from hipgraft.ir.torch_dialect import known_int, shape_and_element

# Elements that are copied in less time than a launch takes.
_FEW_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class _Part:
    """One operand of the concatenation.

    Attributes:
        tensor: the elements.
        negated: whether the operand is the negative of `tensor`.
    """

    tensor: Tensor
    negated: bool

    def signed(self, scalars: ScalarEmitter, value: Scalar) -> Scalar:
        """Emits an element of the part, given the tensor's element."""
        return scalars.op("arith.negf", value) if self.negated else value


def lower_concatenation(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> list[Tensor] | None:
    """Returns the result of a `torch.aten.cat`; None for forms that are left to IREE."""
    made = _concatenated(op, lowering, copier)
    return None if made is None else [made]


def _concatenated(op: ir.Operation, lowering: Lowering, copier: VerbatimCopier) -> Tensor | None:
    halves = _halves(op, lowering)
    if halves is not None and not has_short_rows(halves[0].tensor.shape):
        return _selected(lowering.emitter, *halves)
    found = parts_of(op, Source(lowering))
    if found is None or (halves is None and any(part.reads_computed for part in found[0])):
        found = _stored_parts(op, lowering, copier)
    if found is None:
        return None
    parts, dim = found
    shape, tensors = parts[0].shape, [tensor for part in parts for tensor in part.tensors]
    if len(tensors) < 2:
        return None
    if math.prod(shape[:dim]) == 1 and not _costs_a_launch(parts):
        return None
    if all(map(_is_packed, parts)):
        return _rows(lowering.emitter, tensors, dim)
    return _emitted(lowering.emitter, parts, dim)


def _stored_parts(
    op: ir.Operation, lowering: Lowering, copier: VerbatimCopier
) -> tuple[list[Elements], int] | None:
    """Returns the operands and the dim, and stores the results of the container's other ops.

    None if the operands are contiguous parts of the result, which these ops can write themselves.
    """
    values = list(ir.OpResult(op.operands[0]).owner.operands)
    kinds = [shape_and_element(value.type) for value in values]
    dim = known_int(op.operands[1])
    if dim is None or len({kind and (len(kind[0]), kind[1]) for kind in kinds}) > 1:
        return None
    shape = kinds[0][0] if kinds and kinds[0] else ()
    if not shape or math.prod(shape[: dim % len(shape)]) == 1 or len(values) > MOST_READS:
        return None
    stored: dict[ir.Value, Tensor] = {}

    def store(value: ir.Value) -> Tensor:
        if value not in stored:
            known = value in lowering.tensors
            made = lowering.in_own_type(value) if known else copier.tensor(value, lowering)
            stored[value] = lowering.emitter.materialized(lowering.emitter.logical(made))
        return stored[value]

    source, share = Source(lowering, store), MOST_READS // len(values)
    found = [Elements.of(value, source) for value in values]
    parts = [
        part if part and len(part.tensors) <= share else Elements.stored(store(value))
        for value, part in zip(values, found, strict=True)
    ]
    return parts, dim % len(shape)


def _is_packed(part: Elements) -> bool:
    """Whether a part is a tensor that is stored in logical order."""
    return part.source is not None and part.source.lies_in(range(part.rank))


def _costs_a_launch(parts: Sequence[Elements]) -> bool:
    """Whether contiguous parts take a launch anyway; that launch can copy all of them.

    The producer of a whole tensor may write it where it is read, so that no launch copies it.
    """
    whole = [part for part in parts if _is_packed(part) and not part.is_window]
    elements = sum(math.prod(part.shape) for part in whole)
    return len(whole) < len(parts) and elements <= _FEW_ELEMENTS


def _halves(op: ir.Operation, lowering: Lowering) -> tuple[_Part, _Part] | None:
    """Returns the two halves of the last dim; None if the concatenation has other parts."""
    values = list(ir.OpResult(op.operands[0]).owner.operands)
    parts = [part for value in values if (part := _part(value, lowering)) is not None]
    if len(values) != 2 or len(parts) < 2:
        return None
    first, second = (part.tensor for part in parts)
    is_last = known_int(op.operands[1]) in (-1, first.rank - 1) and first.rank > 1
    is_uniform = (first.shape, first.element) == (second.shape, second.element)
    return (parts[0], parts[1]) if is_last and is_uniform else None


def _part(value: ir.Value, lowering: Lowering) -> _Part | None:
    cast = value.owner
    if isinstance(cast, ir.Block) or cast.name != "torch_c.from_builtin_tensor":
        return None
    negated = _negated(cast.operands[0])
    source = cast.operands[0] if negated is None else negated
    tensor = lowering.in_own_type(source)
    if tensor.broadcast_dims or (negated is not None and not is_float(tensor.element)):
        return None
    return _Part(tensor, negated is not None)


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


def _rows(emitter: Emitter, tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Joins tensors that are stored in logical order, in loops over the longest common rows."""
    shape, extents = tensors[0].shape, [tensor.shape[dim] for tensor in tensors]
    outer, common = math.prod(shape[:dim]), math.gcd(*extents)
    columns = common * math.prod(shape[dim + 1 :])
    parts = [
        _reshaped(emitter, tensor, (outer, extent // common, columns))
        for tensor, extent in zip(tensors, extents, strict=True)
    ]
    whole = _emitted(emitter, [Elements.stored(part) for part in parts], 1)
    return _reshaped(emitter, whole, (*shape[:dim], sum(extents), *shape[dim + 1 :]))


def _emitted(emitter: Emitter, parts: Sequence[Elements], dim: int) -> Tensor:
    """Computes each element of the result at its own index of the part that holds it."""
    if dim == parts[0].rank - 1:
        columns = math.gcd(*(part.shape[-1] for part in parts))
        split = [part.split(columns) for part in parts]
        return emitter.merge_dims(_emitted(emitter, split, dim), dim)
    whole = joined(parts, dim)

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        return [whole.read(scalars, [scalars.index(loop) for loop in range(whole.rank)])]

    if has_short_rows(whole.shape):
        return by_element(emitter, whole.shape, whole.element, whole.read)
    return emitter.pointwise("joined", [], whole.shape, whole.element, body)


def _reshaped(emitter: Emitter, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    flat = emitter.reshape(tensor, (math.prod(tensor.shape),))
    return emitter.reshape(flat, shape)
