"""Registers the lowerings of all ops by op class when it is imported."""

from hipgraft.codegen.lowering import block_scale, custom, view
from hipgraft.codegen.lowering.attention import backward as attention_backward
from hipgraft.codegen.lowering.attention import sdpa
from hipgraft.codegen.lowering.container import lower_container, operand_layouts, result_layouts
from hipgraft.codegen.lowering.conv import alternatives as conv_alternatives
from hipgraft.codegen.lowering.conv import backward as conv_backward
from hipgraft.codegen.lowering.conv import grouped as conv_grouped
from hipgraft.codegen.lowering.matmul import alternatives as matmul_alternatives
from hipgraft.codegen.lowering.matmul import matmul
from hipgraft.codegen.lowering.moe import moe
from hipgraft.codegen.lowering.norms import backward as norms_backward
from hipgraft.codegen.lowering.norms import batchnorm, norms
from hipgraft.codegen.lowering.pointwise import pointwise
from hipgraft.codegen.lowering.reduction import alternatives as reduction_alternatives
from hipgraft.codegen.lowering.reduction import reduction_op
from hipgraft.codegen.lowering.resample import backward as resample_backward
from hipgraft.codegen.lowering.resample import resample

__all__ = ["lower_container", "operand_layouts", "result_layouts"]

# These modules are imported to register their lowerings.
_ = (
    attention_backward,
    batchnorm,
    block_scale,
    conv_backward,
    conv_grouped,
    conv_alternatives,
    custom,
    matmul,
    matmul_alternatives,
    moe,
    norms,
    norms_backward,
    pointwise,
    reduction_op,
    reduction_alternatives,
    resample,
    resample_backward,
    sdpa,
    view,
)
