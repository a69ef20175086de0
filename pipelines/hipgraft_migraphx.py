"""The pipeline from a migraphx-dialect module to a host program with grafted binaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.pass_base import option
from hipgraft.pipelines.hipgraft_torch import (
    HipgraftTorchConfig,
    last_stage,
    stage_pipeline,
    stages_between,
)
from hipgraft.registry import PipelineElement

PIPELINE_NAME = "hipgraft-migraphx"

# MIGraphX has chosen the subgraphs already: all that is left is to say them in hipDNN's ops.
PHASE_CONVERT_MIGRAPHX: tuple[PipelineElement, ...] = ("convert-migraphx-to-hipdnn",)


@dataclass(frozen=True)
class HipgraftMigraphxConfig(HipgraftTorchConfig):
    """Options of `hipgraft-migraphx`."""

    flat_arguments: bool = option(False, "pass memory as tensors of one dimension, as rocMLIR does")


def build_hipgraft_migraphx_pipeline(
    config: HipgraftMigraphxConfig,
) -> Sequence[PipelineElement]:
    """Compiles a migraphx-dialect module into a host program with grafted binaries.

    Takes modules of any generation; kernels become graphs of hipDNN ops.
    """
    # Imported only here: the passes of other pipelines do not need the conversions.
    from hipgraft.passes.convert_migraphx_to_hipdnn import ConvertMigraphxToHipdnnPass

    convert = ConvertMigraphxToHipdnnPass(flat_arguments=config.flat_arguments)
    stages = stages_between("hipdnn-ops", last_stage(config))
    return [convert, *(element for stage in stages for element in stage_pipeline(stage, config))]
