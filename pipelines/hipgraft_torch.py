"""The pipeline from a torch-dialect module to a host program with grafted binaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.diagnostics import HipgraftError
from hipgraft.pass_base import option
from hipgraft.registry import PipelineElement

PIPELINE_NAME = "hipgraft-torch"

# torch-mlir decomposes all of these into many ops; hipDNN has an op, or code generation a better
# form, for each.
_KEPT_WHOLE = (
    "aten.batch_norm",
    "aten.convolution_backward",
    "aten.elu",
    "aten.embedding",
    "aten.gelu",
    "aten.leaky_relu",
    "aten.log_sigmoid",
    "aten.mean.dim",
    "aten.native_batch_norm",
    "aten.native_layer_norm",
    "aten.prelu",
    "aten.scaled_dot_product_attention",
    "aten.silu",
    "aten.softmax.int",
)

# Brings any import of PyTorch to stage 0: value semantics, static types, and few variants of each
# op. Legalisation comes first because torch-mlir stops at operators that it does not know.
PHASE_TORCH_BACKEND_FORM: tuple[PipelineElement, ...] = (
    "torch-functionalize-in-place",
    "torch-legalize-operators",
    "torch-function-to-torch-backend-pipeline{backend-legal-ops=" + ",".join(_KEPT_WHOLE) + "}",
)

# Extents that a model computes as tensors become numbers, which the host computes. Types are
# refined by what is known of them then, which may make further extents numbers.
PHASE_SCALARIZE: tuple[PipelineElement, ...] = (
    "func.func(torch-scalarize-shapes)",
    "torch-shape-refinement-pipeline",
    "func.func(torch-scalarize-shapes)",
    "torch-shape-refinement-pipeline",
    "func.func(canonicalize)",
    "torch-normalize-views",
)

# Op by op, so that what does not convert stays and is told, instead of failing the model. Masks
# and tables that depend on no input are evaluated before, so that they cost no launch. Whole nodes
# are recognised afterwards, in one spelling of the arithmetic instead of each frontend's.
PHASE_CONVERT: tuple[PipelineElement, ...] = (
    "torch-fold-constants",
    "convert-torch-to-hipdnn",
    "hipdnn-recognize",
)

# hipDNN's graphs are chosen first; whatever is left then becomes kernels too. Copies that only
# reorder go where a graph can write the other order. Equal graphs are merged before code
# generation, which is the expensive part.
PHASE_OUTLINE: tuple[PipelineElement, ...] = (
    "hipdnn-outline",
    "hipdnn-outline-fallback",
    "hipdnn-fold-copies",
    "hipdnn-deduplicate",
)

# Code generation still sees values, because IREE compiles functions on tensors.
PHASE_COMPILE: tuple[PipelineElement, ...] = ("hipdnn-compile",)

# Buffers come after code generation, which tells the workspace that each executable needs.
PHASE_BUFFERIZE: tuple[PipelineElement, ...] = ("hipdnn-bufferize",)

# Launches come last: only then does the host program cease to be hipDNN's. Memory is planned when
# every launch, and thus every lifetime, is known. A program of several variants gets one function
# to call.
PHASE_MERGE: tuple[PipelineElement, ...] = (
    "hipdnn-merge",
    "hipdnn-plan-memory",
    "hipgraft-select-variants",
)

STAGE_PHASES: dict[str, tuple[PipelineElement, ...]] = {
    "torch": PHASE_TORCH_BACKEND_FORM,
    "hipdnn-ops": PHASE_CONVERT,
    "hipdnn-graphs": PHASE_OUTLINE,
    "hipdnn-executables": PHASE_COMPILE,
    "hipdnn-buffers": PHASE_BUFFERIZE,
    "host": PHASE_MERGE,
}
"""What makes each stage of the one before it, in order."""


@dataclass(frozen=True)
class HipgraftTorchConfig:
    """Options of `hipgraft-torch`."""

    target: tuple[str, ...] = option(("gfx942",), "architectures to compile for, or 'cpu'")
    extra_flags: tuple[str, ...] = option((), "further flags for IREE's compiler")
    save_temps: str = option("", "directory for compiler inputs, schedules and code objects")
    compile_to: str = option(
        "", "the last stage; by default 'host', and 'hipdnn-buffers' for 'cpu'"
    )


def final_stage(config: HipgraftTorchConfig) -> str:
    """Returns the stage of programs that run."""
    # What runs on the CPU are whole graphs, which have no launches to merge.
    return "hipdnn-buffers" if config.target == ("cpu",) else "host"


def last_stage(config: HipgraftTorchConfig) -> str:
    """Returns the stage at which the pipeline ends.

    Raises:
        HipgraftError: there is no such stage.
    """
    stage = config.compile_to or final_stage(config)
    if stage not in STAGE_PHASES:
        raise HipgraftError(f"unknown stage '{stage}'; expected one of {', '.join(STAGE_PHASES)}")
    return stage


def stage_pipeline(stage: str, config: HipgraftTorchConfig) -> Sequence[PipelineElement]:
    """Returns the passes that make `stage` of the stage before it."""
    if stage != "hipdnn-executables":
        return STAGE_PHASES[stage]
    # Only here, because the pass imports the code generator.
    from hipgraft.passes.hipdnn_compile import HipdnnCompilePass

    compile_pass = HipdnnCompilePass(
        target=config.target,
        extra_flags=config.extra_flags,
        save_temps=config.save_temps,
        # Who stops here may have other means for such an op; a host program has none.
        keep_failed=config.compile_to == stage,
    )
    return (compile_pass,)


def dynamic_pipeline(config: HipgraftTorchConfig) -> Sequence[PipelineElement]:
    """Returns the passes that make a host program of a torch function of dynamic shapes.

    Raises:
        HipgraftError: the pipeline is to end at a stage between, which dynamic shapes do not have.
    """
    if last_stage(config) != final_stage(config):
        raise HipgraftError(
            f"a program of dynamic shapes has no stage '{last_stage(config)}'; "
            "compile it for given extents by --specialize"
        )
    # Only here, because the pass imports the code generator.
    from hipgraft.passes.hipgraft_compile_dynamic import HipgraftCompileDynamicPass

    return (
        *PHASE_SCALARIZE,
        HipgraftCompileDynamicPass(
            target=config.target, extra_flags=config.extra_flags, save_temps=config.save_temps
        ),
    )


def stages_between(current: str, last: str) -> list[str]:
    """Returns the stages after `current` up to `last`, in order; none if it is reached."""
    order = list(STAGE_PHASES)
    first = 0 if current not in order else order.index(current) + 1
    return order[first : order.index(last) + 1]


def build_hipgraft_torch_pipeline(config: HipgraftTorchConfig) -> Sequence[PipelineElement]:
    """Compiles a torch-dialect module into a host program with grafted binaries.

    Takes any import of PyTorch with static shapes, plain or decomposed.
    """
    stages = stages_between("", last_stage(config))
    return [element for stage in stages for element in stage_pipeline(stage, config)]
