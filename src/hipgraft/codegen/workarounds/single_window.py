"""Convolutions and poolings with only one window in a dim."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import cropped
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds import Effect, Workaround

SINGLE_WINDOW = Workaround(
    name="single-window",
    fault="If a window has one position in a dim, the compiler folds the loop over positions and "
    "takes the operand's whole extent for the window's, including elements past the window.",
    effect=Effect.FAILS,
    targets="all",
    remedy="The operand is cropped to the window in such dims.",
)


def crop_unread(
    emitter: Emitter, x: Tensor, spans: Sequence[int], positions: Sequence[int]
) -> Tensor:
    """Crops the elements after the window in dims with only one window.

    Args:
        emitter: emitter that receives the ops.
        x: padded operand of the windows, [N, C, spatial...].
        spans: elements from the first to the last of a window, per spatial dim.
        positions: number of windows, per spatial dim.
    """
    if not SINGLE_WINDOW.is_on:
        return x
    unread = [
        span - extent if count == 1 else 0
        for span, extent, count in zip(spans, x.shape[2:], positions, strict=True)
    ]
    return cropped(emitter, x, [0] * len(unread), unread)
