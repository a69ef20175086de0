"""Images stored channels last that hold only one window in one of the spatial dims."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

SINGLE_POSITION = Workaround(
    name="single-position",
    fault="The transposition of an image stored as [N, H, W, C] is folded into the convolution. If "
    "the window fits only once in one of the spatial dims, the matrix product that the convolution "
    "becomes has invalid extents or, with groups, reads the wrong elements.",
    effect=Effect.WRONG,
    targets="AMDGPU: f32 and f16 on gfx942 and gfx1100",
    remedy="Such an image is transposed in a dispatch of its own.",
)


@SINGLE_POSITION.avoids
def has_single_position(
    x: Tensor, window: Sequence[int], result: Sequence[int], groups: int, target: Target
) -> bool:
    """Returns whether an image stored channels last must be transposed first.

    Args:
        x: image [N, C, spatial...], as it is stored.
        window: spatial extents of the filters.
        result: spatial extents of the result.
        groups: groups of channels.
        target: target of the kernel.
    """
    if target.kind is TargetKind.CPU or x.dims[-1] != 1:
        return False
    is_single = [taps > 1 and extent == 1 for taps, extent in zip(window, result, strict=True)]
    return any(is_single) and (groups > 1 or not all(is_single))
