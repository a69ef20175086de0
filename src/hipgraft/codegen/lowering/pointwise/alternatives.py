"""Registers an alternative to the default lowering of pointwise ops, one loop over all elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hipgraft.codegen.lowering.context import Lowering, alternative
from hipgraft.codegen.lowering.emit.boundary import reshaped
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.lowering.pointwise.pointwise import compute_elements
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import PointwiseMode, PointwiseOp
from hipgraft.ir.tensors import shape_of

# IREE assigns vectors of 16 bytes to a lane if the workgroup's tile divides the extent, and single
# elements otherwise. All types are split as if they were 16-bit, in vectors of 8 elements, so that
# all ops of a chain split at the same element.
_OF_A_LANE = 8

# For fewer elements, an additional launch costs more than lanes with single elements.
_WORTH = 1 << 16


def _has_rest(op: PointwiseOp, target: Target) -> bool:
    shape = shape_of(op.out_0)
    is_even = all(shape_of(value) == shape for value in op.inputs)
    is_plain = op.mode is not PointwiseMode.GEN_INDEX and target.kind is TargetKind.AMDGPU
    return is_plain and is_even and math.prod(shape) >= _WORTH and _rest(op, target) > 0


def _rest(op: PointwiseOp, target: Target) -> int:
    """Returns the elements of the partial tile that follows all wavefronts with whole vectors."""
    return math.prod(shape_of(op.out_0)) % (target.wavefront_size * _OF_A_LANE)


@alternative(PointwiseOp, "split", _has_rest)
def lower_split(op: PointwiseOp, lowering: Lowering) -> Sequence[Tensor]:
    """Computes the elements that fill vectors in one dispatch, and the remainder in another."""
    emitter, shape = lowering.emitter, shape_of(op.out_0)
    rest = _rest(op, lowering.target)
    sizes = (math.prod(shape) - rest, rest)
    operands = [_pieces(lowering, lowering.tensor(value), sizes) for value in op.inputs]
    parts = tuple(
        compute_elements(op, emitter, [pieces[part] for pieces in operands], (size,))
        for part, size in enumerate(sizes)
    )
    whole = reshaped(emitter, _joined(emitter, parts), shape)
    lowering.pieces[whole.name] = parts
    return [whole]


def _pieces(lowering: Lowering, value: Tensor, sizes: tuple[int, int]) -> tuple[Tensor, ...]:
    """Returns the pieces that a tensor was joined from, or slices of it."""
    known = lowering.pieces.get(value.name, ())
    if tuple(piece.shape for piece in known) == tuple((size,) for size in sizes):
        return known
    flat = reshaped(lowering.emitter, value, (sum(sizes),))
    starts = (0, sizes[0])
    return tuple(
        _slice(lowering.emitter, flat, *bounds) for bounds in zip(starts, sizes, strict=True)
    )


def _joined(emitter: Emitter, parts: Sequence[Tensor]) -> Tensor:
    whole = Tensor.logical("", (sum(part.shape[0] for part in parts),), parts[0].element)
    names = ", ".join(part.name for part in parts)
    types = ", ".join(part.type for part in parts)
    text = f"tensor.concat dim(0) {names} : ({types}) -> {whole.type}"
    return replace(whole, name=emitter.op("joined", text))


def _slice(emitter: Emitter, value: Tensor, start: int, size: int) -> Tensor:
    part = replace(value, shape=(size,))
    text = f"tensor.extract_slice {value.name}[{start}] [{size}] [1] : {value.type} to {part.type}"
    return replace(part, name=emitter.op("part", text))
