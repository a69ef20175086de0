"""Images that store their spatial dims in another order than the convolution reads them."""

from __future__ import annotations

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

IMAGE_ORDER = Workaround(
    name="image-order",
    fault="The transposition of an image stored as [N, W, C, H] is folded into the convolution, "
    "which becomes a product whose operand has invalid extents.",
    effect=Effect.FAILS,
    targets="AMDGPU: f32 and f16 on gfx942, f16 on gfx1100",
    remedy="An image whose spatial dims are not stored in ascending order is transposed in a "
    "dispatch of its own.",
)


@IMAGE_ORDER.avoids
def has_swapped_dims(x: Tensor, target: Target) -> bool:
    """Returns whether an image [N, C, spatial...] must be transposed first."""
    spatial = [dim for dim in x.dims if dim > 1 and x.shape[dim] > 1]
    return target.kind is not TargetKind.CPU and spatial != sorted(spatial)
