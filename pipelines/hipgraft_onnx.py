"""The pipeline from ONNX operators in the torch dialect to a host program."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.passmanager.registry import PipelineElement
from hipgraft.pipelines import HipgraftConfig, elements

PIPELINE_NAME = "hipgraft-onnx"


def build_hipgraft_onnx_pipeline(config: HipgraftConfig) -> Sequence[PipelineElement]:
    """Compiles an import of ONNX, as `iree-import-onnx` makes it, into a host program.

    `hipgraft-compile` also folds shape computations in the ONNX model before it is imported;
    this pipeline takes imports whose shapes are static without that.
    """
    return elements("onnx", config)
