"""Lowers operands around the faults of CUDA's matrix instructions in `cuda_products.py`.

This is a file of its own because compiler workers import `cuda_products.py` and must not load the
lowerings.
"""

from __future__ import annotations

import math

from hipgraft.codegen.lowering.emit.tensor import Tensor
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.codegen.workarounds.cuda_products import CUDA_DEPTH, PARTIAL_DEPTH, SWAPPED_FACTORS
from hipgraft.ir.element_types import bit_width, is_float


def on_cuda_matrix_units(target: Target, value: Tensor) -> bool:
    """Returns whether the target is CUDA and has matrix instructions for elements like these."""
    is_narrow = is_float(value.element) and bit_width(value.element) <= 16
    return target.kind is TargetKind.CUDA and is_narrow


@SWAPPED_FACTORS.avoids
def confuses_factors(target: Target, value: Tensor) -> bool:
    """Returns whether the first factor of a product like `value` must have the earlier dim."""
    return on_cuda_matrix_units(target, value)


@PARTIAL_DEPTH.avoids
def depth_to_add(target: Target, b: Tensor) -> int:
    """Returns by how much to pad K for the right matrices `b` [batch..., K, N]."""
    is_stacked = math.prod(b.shape[:-2]) > 1
    if not is_stacked or not on_cuda_matrix_units(target, b):
        return 0
    return -b.shape[-2] % CUDA_DEPTH
