"""Lowers hipDNN graphs to linalg on tensors, the input of IREE.

One file per family of ops; each registers its lowering functions by op class.
"""

from hipgraft.codegen.lowering import (
    batchnorm,
    block_scale,
    conv_backward,
    conv_grouped,
    conv_variants,
    custom,
    matmul,
    matmul_variants,
    moe,
    norms,
    norms_backward,
    pointwise,
    pointwise_variants,
    reduction_op,
    reduction_variants,
    resample,
    resample_backward,
    sdpa,
    sdpa_backward,
    view,
)
from hipgraft.codegen.lowering.container import lower_container, operand_layouts, result_layouts

__all__ = ["lower_container", "operand_layouts", "result_layouts"]

# Imported for their registration.
_ = (
    batchnorm,
    block_scale,
    conv_backward,
    conv_grouped,
    conv_variants,
    custom,
    matmul,
    matmul_variants,
    moe,
    norms,
    norms_backward,
    pointwise,
    pointwise_variants,
    reduction_op,
    reduction_variants,
    resample,
    resample_backward,
    sdpa,
    sdpa_backward,
    view,
)
