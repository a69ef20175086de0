"""Loops with several results, one of which is transposed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

TRANSPOSED_RESULTS = Workaround(
    name="transposed-results",
    fault="`FuseTransposeWithProducerLinalgOp` replaces a `linalg.generic` with several results by "
    "one with a single init if a `linalg.transpose` reads one of them. Unless it verifies the IR "
    "between passes, the compiler crashes.",
    effect=Effect.FAILS,
    targets="AMDGPU",
    remedy="A result is materialized before it is transposed. Loops whose results are stored in "
    "different orders are not joined.",
)


@TRANSPOSED_RESULTS.avoids
def is_one_of_several(value: Tensor, target: Target) -> bool:
    """Whether a value is one of several results of a loop, in a kernel for an AMD GPU."""
    return target.kind is TargetKind.AMDGPU and "#" in value.name


@TRANSPOSED_RESULTS.avoids
def are_different(orders: Collection[Sequence[int]]) -> bool:
    """Whether results are stored in different orders of dims."""
    return len(orders) > 1
