"""The hipdnn dialect: hipDNN's operations and graphs in MLIR.

Ops are classes (`ConvFpropOp`) with a builder beside each (`conv_fprop`); `wrap` finds the class
of an operation and `verify` checks all of a module.
"""

from hipgraft.dialects.hipdnn import builders
from hipgraft.dialects.hipdnn.arithmetic import Arithmetic
from hipgraft.dialects.hipdnn.builders import *  # noqa: F403
from hipgraft.dialects.hipdnn.container import ContainerOp
from hipgraft.dialects.hipdnn.enums import (
    AttentionImplementation,
    ConvMode,
    DiagonalAlignment,
    MoeGroupedMatmulMode,
    NormFwdPhase,
    PaddingMode,
    ReductionMode,
    ResampleMode,
)
from hipgraft.dialects.hipdnn.modes import ModeInfo, PointwiseMode
from hipgraft.dialects.hipdnn.op import OPS, ComputeOp, HipdnnOp, wrap
from hipgraft.dialects.hipdnn.ops.attention import AttentionOp
from hipgraft.dialects.hipdnn.ops.batchnorm import (
    BatchnormBackwardOp,
    BatchnormInferenceOp,
    BatchnormInferenceVarianceExtOp,
    BatchnormOp,
)
from hipgraft.dialects.hipdnn.ops.block_scale import BlockScaleDequantizeOp, BlockScaleQuantizeOp
from hipgraft.dialects.hipdnn.ops.containers import (
    FallbackOp,
    GraphOp,
    YieldOp,
    fallback,
    graph,
    yield_,
)
from hipgraft.dialects.hipdnn.ops.convolution import (
    ConvDgradOp,
    ConvFpropOp,
    ConvolutionOp,
    ConvWgradOp,
)
from hipgraft.dialects.hipdnn.ops.custom import CustomOp
from hipgraft.dialects.hipdnn.ops.executable import ExecutableOp, ExecuteOp, executable, execute
from hipgraft.dialects.hipdnn.ops.matmul import MatmulOp
from hipgraft.dialects.hipdnn.ops.moe import MoeGroupedMatmulBwdOp, MoeGroupedMatmulOp
from hipgraft.dialects.hipdnn.ops.norms import (
    LayernormBackwardOp,
    LayernormOp,
    NormOp,
    RmsnormBackwardOp,
    RmsnormOp,
)
from hipgraft.dialects.hipdnn.ops.pointwise import PointwiseOp
from hipgraft.dialects.hipdnn.ops.reduction import ReductionOp
from hipgraft.dialects.hipdnn.ops.resample import ResampleBwdOp, ResampleFwdOp
from hipgraft.dialects.hipdnn.ops.sdpa import SdpaBackwardOp, SdpaOp
from hipgraft.dialects.hipdnn.ops.view import ViewOp, view
from hipgraft.dialects.hipdnn.verifier import verify, verify_op

__all__ = [
    "OPS",
    "Arithmetic",
    "AttentionImplementation",
    "AttentionOp",
    "BatchnormBackwardOp",
    "BatchnormInferenceOp",
    "BatchnormInferenceVarianceExtOp",
    "BatchnormOp",
    "BlockScaleDequantizeOp",
    "BlockScaleQuantizeOp",
    "ComputeOp",
    "ContainerOp",
    "ConvDgradOp",
    "ConvFpropOp",
    "ConvMode",
    "ConvWgradOp",
    "ConvolutionOp",
    "CustomOp",
    "DiagonalAlignment",
    "ExecutableOp",
    "ExecuteOp",
    "FallbackOp",
    "GraphOp",
    "HipdnnOp",
    "LayernormBackwardOp",
    "LayernormOp",
    "MatmulOp",
    "ModeInfo",
    "MoeGroupedMatmulBwdOp",
    "MoeGroupedMatmulMode",
    "MoeGroupedMatmulOp",
    "NormFwdPhase",
    "NormOp",
    "PaddingMode",
    "PointwiseMode",
    "PointwiseOp",
    "ReductionMode",
    "ReductionOp",
    "ResampleBwdOp",
    "ResampleFwdOp",
    "ResampleMode",
    "RmsnormBackwardOp",
    "RmsnormOp",
    "SdpaBackwardOp",
    "SdpaOp",
    "ViewOp",
    "YieldOp",
    "executable",
    "execute",
    "fallback",
    "graph",
    "verify",
    "verify_op",
    "view",
    "wrap",
    "yield_",
]
__all__ += builders.__all__
