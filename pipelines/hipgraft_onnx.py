"""The pipeline from ONNX operators in the torch dialect to a host program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.pipelines.hipgraft_torch import HipgraftTorchConfig, build_hipgraft_torch_pipeline
from hipgraft.registry import PipelineElement

PIPELINE_NAME = "hipgraft-onnx"

# ONNX operators become ATen ops. Their shape operands become constants only after simplification,
# and legalisation needs static shapes; so nothing is decomposed yet.
PHASE_ONNX_TO_TORCH: tuple[PipelineElement, ...] = (
    "func.func(convert-torch-onnx-to-torch)",
    "torch-function-to-torch-backend-pipeline{decompose-complex-ops=false}",
)


@dataclass(frozen=True)
class HipgraftOnnxConfig(HipgraftTorchConfig):
    """Options of `hipgraft-onnx`."""


def build_hipgraft_onnx_pipeline(config: HipgraftOnnxConfig) -> Sequence[PipelineElement]:
    """Compiles an import of ONNX, as `iree-import-onnx` makes it, into a host program.

    `hipgraft-compile` also folds shape computations in the ONNX model before it is imported;
    this pipeline takes imports whose shapes are static without that.
    """
    return [*PHASE_ONNX_TO_TORCH, *build_hipgraft_torch_pipeline(config)]
