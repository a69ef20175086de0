"""The pipeline from a torch-dialect module to a host program with grafted binaries."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.passmanager.registry import PipelineElement
from hipgraft.pipelines import HipgraftConfig, elements

PIPELINE_NAME = "hipgraft-torch"


def build_hipgraft_torch_pipeline(config: HipgraftConfig) -> Sequence[PipelineElement]:
    """Compiles a torch-dialect module into a host program with grafted binaries.

    Takes any import of PyTorch with static shapes, plain or decomposed.
    """
    return elements("torch", config)
