"""Lists the torch form of each hipDNN op that has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipgraft.dialects import hipdnn
from hipgraft.ir.bindings import ir
from hipgraft.ir.registration import Registry
from hipgraft.transforms.hipdnn_to_torch import (
    attention,
    block_scale,
    contractions,
    moe,
    norms,
    windows,
)
from hipgraft.transforms.hipdnn_to_torch.expressions import Torch
from hipgraft.transforms.hipdnn_to_torch.pointwise import pointwise
from hipgraft.transforms.hipdnn_to_torch.reductions import reduction

Form = Callable[[Torch, hipdnn.HipdnnOp], Sequence[ir.Value]]
"""Writes an op's torch form; returns its results in the arithmetic's type or their own."""

FORMS: Registry[Form] = Registry(
    "torch form",
    {
        "hipdnn.pointwise": pointwise,
        "hipdnn.reduction": reduction,
        "hipdnn.matmul": contractions.matmul,
        "hipdnn.conv_fprop": contractions.conv_fprop,
        "hipdnn.conv_dgrad": contractions.conv_dgrad,
        "hipdnn.conv_wgrad": contractions.conv_wgrad,
        "hipdnn.batchnorm": norms.batchnorm,
        "hipdnn.batchnorm_backward": norms.batchnorm_backward,
        "hipdnn.batchnorm_inference": norms.batchnorm_inference,
        "hipdnn.batchnorm_inference_variance_ext": norms.batchnorm_inference,
        "hipdnn.layernorm": norms.layernorm,
        "hipdnn.layernorm_backward": norms.layernorm_backward,
        "hipdnn.rmsnorm": norms.rmsnorm,
        "hipdnn.rmsnorm_backward": norms.rmsnorm_backward,
        "hipdnn.sdpa": attention.sdpa,
        "hipdnn.sdpa_backward": attention.sdpa_backward,
        "hipdnn.resample_fwd": windows.resample_fwd,
        "hipdnn.resample_bwd": windows.resample_bwd,
        "hipdnn.block_scale_dequantize": block_scale.block_scale_dequantize,
        "hipdnn.moe_grouped_matmul": moe.moe_grouped_matmul,
        "hipdnn.moe_grouped_matmul_bwd": moe.moe_grouped_matmul_bwd,
    },
)
"""The torch forms by name of the hipDNN op."""
