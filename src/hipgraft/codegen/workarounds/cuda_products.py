"""Products that use CUDA's matrix instructions."""

from __future__ import annotations

from hipgraft.codegen.workarounds import Effect, Workaround

SWAPPED_FACTORS = Workaround(
    name="cuda-swapped-factors",
    fault="The compiler confuses rows and columns in a product of 16-bit elements whose first "
    "factor has the result's later dim. Convolutions with 1x1 windows and weight gradients "
    "become such products.",
    effect=Effect.WRONG,
    targets="CUDA",
    remedy="Convolutions are emitted with their factors in the other order; other products get "
    "tiles without matrix instructions.",
)

PARTIAL_DEPTH = Workaround(
    name="cuda-partial-depth",
    fault="If K is not a multiple of the matrix instructions' depth, the kernel reads elements "
    "past the rows of the right matrix: elements of the next matrix, or unknown memory, "
    "which may be NaN.",
    effect=Effect.WRONG,
    targets="CUDA",
    remedy="K is padded with zeros, or the product uses no matrix instructions.",
)

CUDA_DEPTH = 16
"""Extent of K in one matrix instruction."""


@SWAPPED_FACTORS.avoids
def is_confused(is_swapped: bool) -> bool:
    """Returns whether a product with factors in this order must avoid matrix instructions."""
    return is_swapped


@PARTIAL_DEPTH.avoids
def is_partial(depth: int) -> bool:
    """Returns whether a product of this depth K must avoid matrix instructions."""
    return depth % CUDA_DEPTH > 0
