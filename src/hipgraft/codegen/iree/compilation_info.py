"""Builds attributes that override how IREE compiles a dispatch."""

from __future__ import annotations

import re
from collections.abc import Sequence

CUDA_OPTIONS = "no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false"
"""The options of pipelines for CUDA."""


def compilation_info(
    config: str, pipeline: str, threads: int, subgroup: int, options: str = ""
) -> str:
    """Returns the text of IREE's attribute `#iree_codegen.compilation_info`.

    Args:
        config: fields of the attribute's lowering config.
        pipeline: name of one of IREE's GPU pipelines.
        threads: work items in a workgroup.
        subgroup: work items in a wavefront.
        options: the fields of the pipeline's options.
    """
    translation = translation_info(pipeline, threads, subgroup, options)
    return (
        "#iree_codegen.compilation_info<"
        f"lowering_config = {lowering_config(config)}, "
        f"translation_info = {translation}>"
    )


def lowering_config(fields: str) -> str:
    """Returns the text of IREE's attribute `#iree_gpu.lowering_config` with some fields."""
    return f"#iree_gpu.lowering_config<{{{fields}}}>"


def distribution(
    kind: str,
    *,
    lanes: Sequence[int],
    wavefronts: Sequence[int],
    tile: Sequence[int],
    thread: Sequence[int],
    workgroup: Sequence[int] = (),
) -> str:
    """Returns the fields of a lowering config for the pipeline `VectorDistribute`.

    Args:
        kind: `partial_reduction` for a reduction, `serial` for another op.
        lanes: lanes of a wavefront along each loop.
        wavefronts: wavefronts along each loop.
        tile: elements of a workgroup's iteration along each loop; 0 for loops that are not tiled.
        thread: elements that a lane reads at once along each loop.
        workgroup: elements of a workgroup along each loop, for the op that determines them.
    """
    order = list(range(len(lanes)))
    fields = (
        f"lane_basis = [{list(lanes)}, {order}], subgroup_basis = [{list(wavefronts)}, {order}], "
        f"{kind} = {list(tile)}, thread = {list(thread)}"
    )
    return f"{fields}, workgroup = {list(workgroup)}" if workgroup else fields


def translation_info(pipeline: str, threads: int, subgroup: int, options: str = "") -> str:
    """Returns the text of IREE's attribute `#iree_codegen.translation_info`.

    Args:
        pipeline: name of one of IREE's GPU pipelines.
        threads: work items in a workgroup.
        subgroup: work items in a wavefront.
        options: the fields of the pipeline's options.
    """
    settings = f", {{gpu_pipeline_options = #iree_gpu.pipeline_options<{options}>}}"
    return (
        f"#iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<{pipeline}> "
        f"workgroup_size = [{threads}, 1, 1] subgroup_size = {subgroup}"
        f"{settings if options else ''}>"
    )


def list_in(config: str, name: str) -> list[int]:
    """Returns a list of a lowering config, for a basis the counts; empty if there is none."""
    found = _list_of(name).search(config)
    return [int(one) for one in re.findall(r"\d+", found[2])] if found else []


def with_list(config: str, name: str, values: Sequence[int]) -> str:
    """Returns a lowering config with other values in a list, for a basis other counts."""
    return _list_of(name).sub(rf"\g<1>{list(values)}", config)


def _list_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(\b{name} = \[?)(\[[\d, ]*\])")


def largest_divisor(extent: int, most: int) -> int:
    """Returns the largest divisor of `extent` that is at most `most`."""
    return max(each for each in range(1, most + 1) if extent % each == 0)
