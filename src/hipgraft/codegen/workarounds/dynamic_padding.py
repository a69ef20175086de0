"""Padding fused into kernels for dynamic shapes."""

from __future__ import annotations

from hipgraft.codegen.target import FUSE_PADDING
from hipgraft.codegen.workarounds import Effect, Workaround

DYNAMIC_PADDING = Workaround(
    name="dynamic-padding",
    fault="Kernels with fused padding for dynamic shapes read uninitialized memory.",
    effect=Effect.WRONG,
    targets="AMDGPU",
    remedy="Dynamic programs are compiled without fused padding.",
)


def dynamic_flags() -> tuple[str, ...]:
    """Returns the compiler's flags for programs with dynamic shapes."""
    return tuple(f"{flag}=false" for flag in FUSE_PADDING) if DYNAMIC_PADDING.is_on else ()
