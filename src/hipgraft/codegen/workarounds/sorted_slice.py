"""Sorted slices of larger buffers."""

from __future__ import annotations

from hipgraft.codegen.layout import Layout
from hipgraft.codegen.workarounds import Effect, Workaround
from hipgraft.ir.bindings import ir

SORTED_SLICE = Workaround(
    name="sorted-slice",
    fault="A sort works in place on a copy of its operand. The copy of a slice is made beside the "
    "sort, outside of the loops that are distributed to workgroups.",
    effect=Effect.FAILS,
    targets="all",
    remedy="The operand is copied to a packed tensor in a dispatch of its own.",
)

_CAST = "torch_c.from_builtin_tensor"


@SORTED_SLICE.avoids
def is_sorted_slice(value: ir.Value, layout: Layout) -> bool:
    """Returns whether a fallback's operand must be copied because a sort reads a part of it."""
    is_part = layout.has_gaps or (layout.window is not None and not layout.window.is_whole)
    return is_part and any(
        inner.owner.name == "torch.aten.sort"
        for use in value.uses
        if use.owner.name == _CAST
        for inner in use.owner.results[0].uses
    )
