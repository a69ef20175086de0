"""Operands with gaps between their elements, read by convolutions with strides."""

from __future__ import annotations

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir

OPERAND_GAPS = Workaround(
    name="operand-gaps",
    fault="A strided convolution with a 1x1 window reads wrong elements of an operand whose rows "
    "are slices of a larger buffer.",
    effect=Effect.WRONG,
    targets="gfx1100",
    remedy="The operand is copied to a packed tensor in a dispatch of its own. All convolutions "
    "and reductions get such copies, on all targets.",
)


@OPERAND_GAPS.avoids
def is_read_with_gaps(value: ir.Value, layout: Layout) -> bool:
    """Returns whether an operand has gaps and one of its users is a convolution or a reduction."""
    return layout.has_gaps and any(use.owner.name in REDUCES_DIMS for use in value.uses)


REDUCES_DIMS = (
    "hipdnn.conv_dgrad", "hipdnn.conv_fprop", "hipdnn.conv_wgrad", "hipdnn.reduction",
)  # fmt: skip
"""Ops whose lowerings reduce dims of their operands."""
