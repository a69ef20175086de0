"""Dilated windows over one channel."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.emitter import Emitter
from hipgraft.codegen.lowering.emit.padding import resized
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target
from hipgraft.codegen.workarounds import Effect, Workaround

ONE_CHANNEL_DILATION = Workaround(
    name="one-channel-dilation",
    fault="A convolution over one channel on matrix instructions reads the rows of a dilated "
    "window as if they were not dilated.",
    effect=Effect.WRONG,
    targets="AMDGPU",
    remedy="Activations and filters get a second channel, of zeros.",
)


@ONE_CHANNEL_DILATION.avoids
def ignores_dilation(
    target: Target, element: str, channels: int, window: Sequence[int], dilation: Sequence[int]
) -> bool:
    """Returns whether activations need a second channel.

    Args:
        target: target of the kernel.
        element: type of the activations.
        channels: channels per group.
        window: extents of the window.
        dilation: step between the window's elements, per spatial dim.
    """
    is_dilated = dilation[-1] > 1 and window[-1] > 1 and math.prod(window[:-1]) > 1
    return channels == 1 and is_dilated and element in target.matrix_elements


def with_second_channel(emitter: Emitter, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """Returns activations and filters with a second channel, of zeros, in each group."""
    groups = x.shape[1]
    split = emitter.split_dim(x, 1, groups)
    return emitter.merge_dims(resized(emitter, split, 2, 1), 1), resized(emitter, w, 1, 1)
