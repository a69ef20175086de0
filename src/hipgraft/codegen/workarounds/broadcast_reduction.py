"""Reduced dims that the operand does not store."""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.codegen.workarounds.operand_gaps import REDUCES_DIMS
from hipgraft.ir.bindings import ir

BROADCAST_REDUCTION = Workaround(
    name="broadcast-reduction",
    fault="A reduction or convolution over a dim that no operand's indexing map contains has no "
    "extent for this loop, so the op is invalid.",
    effect=Effect.FAILS,
    targets="all",
    remedy="An operand with stride 0 along a dim is materialized before convolutions and "
    "reductions.",
)


@BROADCAST_REDUCTION.avoids
def is_reduced_broadcast(value: ir.Value, operand: Tensor) -> bool:
    """Returns whether an operand does not store all dims and one of its users reduces dims."""
    return bool(operand.broadcast_dims) and any(
        use.owner.name in REDUCES_DIMS for use in value.uses
    )
