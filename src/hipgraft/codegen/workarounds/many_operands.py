"""Kernels that read many tensors."""

from __future__ import annotations

import sys

from hipgraft.codegen.workarounds import Effect, Workaround

MANY_OPERANDS = Workaround(
    name="many-operands",
    fault="Kernels with more bindings than a pipeline layout has room for do not compile.",
    effect=Effect.FAILS,
    targets="AMDGPU, CUDA",
    remedy="A graph reads at most 24 tensors; outlining starts another one instead.",
)


def most_operands() -> int:
    """Returns how many tensors one graph may read."""
    return 24 if MANY_OPERANDS.is_on else sys.maxsize
