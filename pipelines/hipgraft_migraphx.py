"""The pipeline from a migraphx-dialect module to a host program with grafted binaries."""

from __future__ import annotations

from collections.abc import Sequence

from hipgraft.passmanager.registry import PipelineElement
from hipgraft.pipelines import HipgraftMigraphxConfig, elements

PIPELINE_NAME = "hipgraft-migraphx"


def build_hipgraft_migraphx_pipeline(
    config: HipgraftMigraphxConfig,
) -> Sequence[PipelineElement]:
    """Compiles a migraphx-dialect module into a host program with grafted binaries.

    Takes modules of any generation; kernels become graphs of hipDNN ops.
    """
    return elements("migraphx", config)
