"""Grouped convolutions whose operands or results are stored in another order."""

from __future__ import annotations

from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

GROUPED_TRANSPOSES = Workaround(
    name="grouped-transposes",
    fault="A transposition of the image or the result is folded into a grouped convolution (the "
    "flag `TRANSPOSES_THROUGH_CONVOLUTIONS` of `codegen/target.py`). For some shapes, the matrix "
    "product that the convolution then becomes mixes up groups and positions.",
    effect=Effect.WRONG,
    targets="AMDGPU: f32 and f16 on gfx942, f16 on gfx1100",
    remedy="Modules with a grouped convolution are compiled without this flag.",
)


@GROUPED_TRANSPOSES.avoids
def mixes_up_groups(target: Target) -> bool:
    """Returns whether no transposition may be folded into a grouped convolution."""
    return target.kind is TargetKind.AMDGPU
