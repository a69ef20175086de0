"""Weight gradients with long reductions."""

from __future__ import annotations

from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

WEIGHT_GRADIENT = Workaround(
    name="weight-gradient",
    fault="A weight gradient whose first factor is `dy` is not recognised as a convolution. Its "
    "long reduction is split, and the compiler fails to pack the reduced dims.",
    effect=Effect.FAILS,
    targets="AMDGPU",
    remedy="The product is emitted with `x` as its first factor.",
)


@WEIGHT_GRADIENT.avoids
def starts_with_x(target: Target) -> bool:
    """Returns whether the first factor of a weight gradient has to be `x`."""
    return target.kind is not TargetKind.CUDA
