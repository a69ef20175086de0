"""Products on CUDA's matrix instructions."""

from __future__ import annotations

import math

from hipgraft.codegen.lowering.emit.scalar_builder import bit_width, is_float
from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds import Effect, Workaround

SWAPPED_FACTORS = Workaround(
    name="cuda-swapped-factors",
    fault="A product of 16-bit elements whose first factor has the result's later dim has its rows "
    "and columns confused. Convolutions with 1x1 windows and weight gradients become such "
    "products.",
    effect=Effect.WRONG,
    targets="CUDA",
    remedy="Convolutions are emitted with their factors in the other order; other products get "
    "tiles without matrix instructions.",
)

PARTIAL_DEPTH = Workaround(
    name="cuda-partial-depth",
    fault="If K is not a multiple of the matrix instructions' depth, elements behind the rows of "
    "the right matrix are read: those of the next matrix, or of unknown memory, which may be NaN.",
    effect=Effect.WRONG,
    targets="CUDA",
    remedy="K is padded with zeros, or the product uses no matrix instructions.",
)

_DEPTH = 16


def on_cuda_matrix_units(target: Target, value: Tensor) -> bool:
    """Returns whether the target is CUDA and its matrix instructions take elements like these."""
    is_narrow = is_float(value.element) and bit_width(value.element) <= 16
    return target.kind is TargetKind.CUDA and is_narrow


@SWAPPED_FACTORS.avoids
def confuses_factors(target: Target, value: Tensor) -> bool:
    """Returns whether the first factor of a product like `value` must have the earlier dim."""
    return on_cuda_matrix_units(target, value)


@PARTIAL_DEPTH.avoids
def depth_to_add(target: Target, b: Tensor) -> int:
    """Returns by how much K has to be padded for the right matrices `b` [batch..., K, N]."""
    is_stacked = math.prod(b.shape[:-2]) > 1
    if not is_stacked or not on_cuda_matrix_units(target, b):
        return 0
    return -b.shape[-2] % _DEPTH


@SWAPPED_FACTORS.avoids
def is_confused(is_swapped: bool) -> bool:
    """Returns whether a product with factors in this order must avoid matrix instructions."""
    return is_swapped


@PARTIAL_DEPTH.avoids
def is_partial(depth: int) -> bool:
    """Returns whether a product of this depth K must avoid matrix instructions."""
    return depth % _DEPTH > 0
