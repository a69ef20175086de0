"""Operands with gaps between their elements that strided convolutions read."""

from __future__ import annotations

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir

OPERAND_GAPS = Workaround(
    name="operand-gaps",
    fault="A strided convolution does not compile with a filter that is a slice of a larger buffer "
    "(the types of a `memref.collapse_shape` differ). On gfx1100 a strided 1x1 convolution reads "
    "wrong elements of an image whose rows have gaps. Products whose K is [heads, rows] read the "
    "elements between the heads of a slice.",
    effect=Effect.FAILS,
    targets="AMDGPU",
    remedy="The operand is copied to a packed tensor in a dispatch of its own. All convolutions, "
    "reductions and gradients of attention get such copies, on all targets.",
)


@OPERAND_GAPS.avoids
def is_read_with_gaps(value: ir.Value, layout: Layout) -> bool:
    """Returns whether an operand of a convolution, reduction or gradient must be copied.

    Such an operand has rows with gaps, or it is a slice that is a convolution's filter (the second
    operand) or any operand of a gradient of attention, which merges the heads with the rows.
    """
    is_slice = layout.window is not None and not layout.window.is_whole
    return any(
        is_slice
        if use.owner.name == _GRADIENT
        else use.owner.name in REDUCES_DIMS
        and (layout.has_gaps or (is_slice and use.operand_number == 1))
        for use in value.uses
    )


REDUCES_DIMS = (
    "hipdnn.conv_dgrad", "hipdnn.conv_fprop", "hipdnn.conv_wgrad", "hipdnn.reduction",
)  # fmt: skip
"""Ops whose lowerings reduce dims of their operands."""

_GRADIENT = "hipdnn.sdpa_backward"
