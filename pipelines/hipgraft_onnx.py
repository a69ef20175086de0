"""The pipeline from ONNX operators in the torch dialect to a host program."""

from __future__ import annotations

from hipgraft.registry import PipelineElement

# ONNX operators become ATen ops. Their shape operands become constants only after simplification,
# and legalisation needs static shapes; so nothing is decomposed yet.
PHASE_ONNX_TO_TORCH: tuple[PipelineElement, ...] = (
    "func.func(convert-torch-onnx-to-torch)",
    "torch-function-to-torch-backend-pipeline{decompose-complex-ops=false}",
)
