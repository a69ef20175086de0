"""Filters that store their dims in another order than the convolution reads them."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

FILTER_ORDER = Workaround(
    name="filter-order",
    fault="The transposition of a filter is folded into the convolution, which becomes a matrix "
    "product whose K dim is [channels, window] in the image's order. If a filter is stored "
    "in a third order, its elements are multiplied by the wrong elements of the image.",
    effect=Effect.WRONG,
    targets="AMDGPU: f32 and f16 on gfx942, f16 on gfx1100",
    remedy="Such a filter is transposed in a dispatch of its own.",
)


def in_read_order(emitter: Emitter, w: Tensor, order: Sequence[int]) -> Tensor:
    """Returns filters in the order of dims that the convolution expects."""
    taps = emitter.in_order(w, order)
    return emitter.materialized(taps) if is_misordered(w, order, emitter.target) else taps


@FILTER_ORDER.avoids
def is_misordered(w: Tensor, order: Sequence[int], target: Target) -> bool:
    """Returns whether a filter must be transposed first.

    Args:
        w: filter [K, C, window...], as it is stored.
        order: the order in which the convolution reads its dims.
        target: target of the kernel.
    """
    if target.kind is TargetKind.CPU:
        return False
    stored = [dim for dim in w.dims if dim > 0 and w.shape[dim] > 1]
    taken = [dim for dim in order if dim in stored]
    return stored not in (taken, sorted(stored))
