"""Maxima and minima of signed integers in reductions over partial tiles."""

from __future__ import annotations

from collections.abc import Iterable

from hipgraft.codegen.workarounds import Effect, Workaround

SIGNED_EXTREMES = Workaround(
    name="signed-extremes",
    fault="Lanes beyond a row's end are filled with 0 for `arith.maxsi` and -1 for `arith.minsi`, "
    "the neutral elements of unsigned integers.",
    effect=Effect.WRONG,
    targets="AMDGPU, CUDA",
    remedy="Such reductions get no tiles that distribute a row over lanes; maxima and minima of "
    "floats are reduced as unsigned integers in the same order.",
)

_SIGNED = ("arith.maxsi", "arith.minsi")


@SIGNED_EXTREMES.avoids
def has_signed_extreme(ops: Iterable[str]) -> bool:
    """Returns whether a reduction with these ops in its body must not be masked."""
    return any(name in _SIGNED for name in ops)
