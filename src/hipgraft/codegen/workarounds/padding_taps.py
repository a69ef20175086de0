"""Filter elements that see only padding, in dims with one output position."""

from __future__ import annotations

from dataclasses import replace

from hipgraft.codegen.lowering.conv.geometry import ConvParams
from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.workarounds import Effect, Workaround

PADDING_TAPS = Workaround(
    name="padding-taps",
    fault="A padded convolution with one output position in a dim becomes a matrix product whose "
    "operand is padded in a dispatch of its own. The padded copy fails to compile, or is "
    "wrong.",
    effect=Effect.FAILS,
    targets="AMDGPU",
    remedy="Elements of the filter that see only padding are dropped, and the padding with them.",
)


def drop_padding_taps(
    emitter: Emitter, params: ConvParams, x: Tensor, w: Tensor, result: Tensor
) -> tuple[ConvParams, Tensor]:
    """Drops filter elements that see only padding, in dims with one output position.

    Args:
        emitter: emitter that receives the ops.
        params: padding and steps of the window.
        x: activations [N, C, spatial...].
        w: filters [K, C / groups, window...].
        result: shape of the result [N, K, spatial...].

    Returns:
        The parameters and filters of the remaining window.
    """
    if not PADDING_TAPS.is_on:
        return params, w
    before, after = list(params.before), list(params.after)
    first, count = [0] * w.rank, list(w.shape)
    for dim in range(len(before)):
        if result.shape[dim + 2] > 1 or not (before[dim] or after[dim]):
            continue
        step, extent = params.dilation[dim], x.shape[dim + 2]
        offsets = [tap * step - before[dim] for tap in range(w.shape[dim + 2])]
        seen = [tap for tap, offset in enumerate(offsets) if 0 <= offset < extent]
        if not seen:
            continue
        first[dim + 2], count[dim + 2] = seen[0], len(seen)
        before[dim] = -offsets[seen[0]]
        after[dim] = offsets[seen[-1]] + 1 - extent
    if count == list(w.shape):
        return params, w
    kept = replace(w, shape=tuple(count))
    text = (
        f"tensor.extract_slice {w.name}{[first[dim] for dim in w.dims]} {list(kept.extents)} "
        f"{[1] * len(w.dims)} : {w.type} to {kept.type}"
    )
    kept = replace(kept, name=emitter.op("taps", text))
    return replace(params, before=before, after=after), kept
