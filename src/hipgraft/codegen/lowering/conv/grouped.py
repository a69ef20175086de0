"""Merges groups of few channels until they fill a matrix instruction."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.context import Lowering, accumulator_type, alternative
from hipgraft.codegen.lowering.conv.convolution import convolve, operands_of
from hipgraft.codegen.lowering.conv.geometry import ConvParams
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.scalar_builder import Scalar
from hipgraft.codegen.lowering.emit.scalars import ScalarEmitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.dialects.hipdnn import ConvFpropOp
from hipgraft.ir.tensors import element_of, shape_of

# The fewest channels that fill a matrix instruction.
_CHANNELS = 16


def _groups(op: ConvFpropOp) -> int:
    return shape_of(op.x)[1] // shape_of(op.w)[1]


def _has_small_groups(op: ConvFpropOp, _: Target) -> bool:
    groups, channels = _groups(op), shape_of(op.w)[1]
    together = _CHANNELS // channels
    return 1 < channels < _CHANNELS == together * channels and groups % together == 0


@alternative(ConvFpropOp, "merged-groups", _has_small_groups)
def lower_merged_groups(op: ConvFpropOp, lowering: Lowering) -> Sequence[Tensor]:
    """Merges groups, with zeros for the channels outside of a filter's own group."""
    x, w = operands_of(op, lowering)
    accumulator = accumulator_type(op, x.element, w.element)
    wide = _merged(lowering.emitter, w, _groups(op), _CHANNELS // w.shape[1])
    result = Tensor.logical("", shape_of(op.y), accumulator)
    sums = convolve(lowering, ConvParams.of(op), x, wide, result)
    return [lowering.emitter.cast(sums, element_of(op.y))]


def _merged(emitter: Emitter, w: Tensor, groups: int, together: int) -> Tensor:
    """Returns filters over the channels of `together` groups."""
    w = emitter.logical(w)
    filters, own, *window = w.shape

    def body(scalars: ScalarEmitter, _: list[Scalar]) -> list[Scalar]:
        def index(value: int) -> Scalar:
            return scalars.constant(value, "index")

        group = scalars.op("arith.divui", scalars.index(0), index(filters // groups))
        group = scalars.op("arith.remui", group, index(together))
        seen = scalars.op("arith.divui", scalars.index(1), index(own))
        channel = scalars.op("arith.remui", scalars.index(1), index(own))
        taps = [scalars.index(dim) for dim in range(2, w.rank)]
        value = scalars.element(w, scalars.index(0), channel, *taps)
        return [
            scalars.select(
                scalars.compare("eq", group, seen), value, scalars.constant(0, w.element)
            )
        ]

    shape = (filters, own * together, *window)
    init = emitter.empty(Tensor.logical("", shape, w.element))
    return emitter.generic("filters", [], [init], body, shape=shape)[0]
