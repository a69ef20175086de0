"""Attributes that tell IREE how to compile a dispatch, in place of its own choice."""

from __future__ import annotations

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
        f"lowering_config = #iree_gpu.lowering_config<{{{config}}}>, "
        f"translation_info = {translation}>"
    )


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


def largest_divisor(extent: int, most: int) -> int:
    """Returns the largest divisor of `extent` that is at most `most`."""
    return max(each for each in range(1, most + 1) if extent % each == 0)
