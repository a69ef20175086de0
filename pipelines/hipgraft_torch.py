"""The pipeline from a torch-dialect module to a host program with grafted binaries."""

from __future__ import annotations

from hipgraft.registry import PipelineElement

# torch-mlir decomposes all of these into many ops; hipDNN has an op, or code generation a better
# form, for each.
_KEPT_WHOLE = (
    "aten.batch_norm",
    "aten.embedding",
    "aten.gelu",
    "aten.mean.dim",
    "aten.native_layer_norm",
    "aten.scaled_dot_product_attention",
    "aten.silu",
    "aten.softmax.int",
)

# Brings any import of PyTorch to stage 0: value semantics, static types, and few variants of each
# op. Legalisation comes first because torch-mlir stops at operators that it does not know.
PHASE_TORCH_BACKEND_FORM: tuple[PipelineElement, ...] = (
    "torch-legalize-operators",
    "torch-function-to-torch-backend-pipeline{backend-legal-ops=" + ",".join(_KEPT_WHOLE) + "}",
)
