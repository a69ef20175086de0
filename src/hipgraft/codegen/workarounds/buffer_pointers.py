"""Crashes of LLVM's pass that lowers pointers into buffers."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

BUFFER_POINTERS = Workaround(
    name="buffer-pointers",
    fault="After loop strength reduction, LLVM's pass `amdgpu-lower-buffer-fat-pointers` does not "
    "end its recursion and the process ends (SIGSEGV) on some kernels, such as a product whose "
    "factors are parts of one buffer of intermediate results.",
    effect=Effect.CRASH,
    targets="AMDGPU",
    remedy="If the compiler ends with SIGSEGV, it is started again with `--disable-lsr`. Without "
    "buffer instructions (`--iree-rocdl-enable-buffer-instructions=false`) it does not crash "
    "either, but kernels rely on them to check the bounds of loads whose masks were lost.",
)

_OFF = "--disable-lsr"


def flags_after_crash(target: str, flags: Sequence[str], reason: str) -> tuple[str, ...]:
    """Returns the flags for another attempt to compile a kernel.

    Args:
        target: target of the kernel.
        flags: flags of the first attempt.
        reason: how the first attempt ended.
    """
    is_amd = Target.parse(target).kind is TargetKind.AMDGPU
    return (*flags, _OFF) if is_amd and _is_crash(reason) else tuple(flags)


@BUFFER_POINTERS.avoids
def _is_crash(reason: str) -> bool:
    return "SIGSEGV" in reason
