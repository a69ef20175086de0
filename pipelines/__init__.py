"""Defines a program's stages, the phases between them, and the pipelines built from these.

`hipgraft-compile`, `hipgraft.compile`, the frontends and the named pipelines of `hipgraft-opt` all
run the phases in this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.codegen.chips import product_of
from hipgraft.codegen.lowered import LOWERED_FOR
from hipgraft.codegen.target import Target, TargetKind
from hipgraft.dialects.hipdnn import GraphOp
from hipgraft.ir.bindings import ir
from hipgraft.ir.diagnostics import HipgraftError
from hipgraft.ir.entry_points import SYMBOLS
from hipgraft.passmanager import stages
from hipgraft.passmanager.base import option
from hipgraft.passmanager.registry import PipelineElement, make_pass
from hipgraft.passmanager.stages import Contents, Stage

# torch-mlir decomposes each of these into many ops. hipDNN has an op for it, or the code generator
# a better form.
_KEPT_WHOLE = (
    "aten.batch_norm",
    "aten.convolution_backward",
    "aten.elu",
    "aten.embedding",
    "aten.fmod.Tensor",
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
    "aten.softplus",
)

# ONNX operators become ATen ops. Their shape operands become constants only after simplification,
# and legalization needs static shapes; so nothing is decomposed yet.
PHASE_ONNX_TO_TORCH: tuple[PipelineElement, ...] = (
    "func.func(convert-torch-onnx-to-torch)",
    "torch-simplify{decompose=false}",
)

# Brings any import of PyTorch to stage `torch`: value semantics, static types, and few overloads of
# each op. Legalization comes first because torch-mlir stops at operators that it does not know.
PHASE_TORCH_BACKEND_FORM: tuple[PipelineElement, ...] = (
    "torch-functionalize-in-place",
    "torch-legalize-operators",
    "torch-simplify{backend-legal-ops=" + ",".join(_KEPT_WHOLE) + "}",
    "torch-check-backend-form",
)

# Extents that a model computes as tensors become numbers that the host computes. Known numbers then
# refine the types, which may make more extents known.
PHASE_SCALARIZE: tuple[PipelineElement, ...] = (
    "func.func(torch-scalarize-shapes)",
    "torch-shape-refinement-pipeline",
    "func.func(torch-scalarize-shapes)",
    "torch-shape-refinement-pipeline",
    "func.func(canonicalize)",
    "torch-normalize-views",
)

# Ops convert one by one, so that an op that does not convert stays and is reported, instead of
# failing the model. Masks and tables that depend on no input are evaluated first, so that they cost
# no launch. Whole nodes are recognized last, in one spelling of the arithmetic instead of each
# frontend's.
PHASE_CONVERT: tuple[PipelineElement, ...] = (
    "torch-fold-constants",
    "convert-torch-to-hipdnn",
    "hipdnn-recognize",
)

# The graphs of hipDNNEP stay as they are. What is outside of them is outlined later.
PHASE_HIPDNNEP: tuple[PipelineElement, ...] = ("convert-hipdnnep-to-hipdnn",)

# Buffers come after code generation, which determines each executable's workspace.
PHASE_BUFFERIZE: tuple[PipelineElement, ...] = ("hipdnn-bufferize",)

# Launches come last: from here on the host program holds no hipDNN ops. Memory is planned when
# every launch, and thus every lifetime, is known. A program of several variants gets one function
# that selects among them.
PHASE_MERGE: tuple[PipelineElement, ...] = (
    "hipdnn-merge",
    "hipdnn-plan-memory",
    "hipgraft-select-variants",
)


@dataclass(frozen=True)
class HipgraftConfig:
    """Options of the pipelines that compile a model."""

    target: tuple[str, ...] = option(("gfx942",), "architectures to compile for, or 'cpu'")
    extra_flags: tuple[str, ...] = option((), "further flags for IREE's compiler")
    save_temps: str = option("", "directory for compiler inputs, schedules and code objects")
    compile_to: str = option(
        "", "the last stage; by default 'host', and 'hipdnn-buffers' for 'cpu'"
    )
    gpu: str = option(
        "", "GPU that graphs are formed for, e.g. 'mi325x'; by default one of the first target's"
    )
    calibration: str = option("", "JSON file of measured factors for the estimates of graphs")


@dataclass(frozen=True)
class HipgraftMigraphxConfig(HipgraftConfig):
    """Options of `hipgraft-migraphx`."""

    flat_arguments: bool = option(False, "pass memory as tensors of one dimension, as rocMLIR does")


def _onnx_to_torch(config: HipgraftConfig) -> Sequence[PipelineElement]:
    return (*PHASE_ONNX_TO_TORCH, *PHASE_TORCH_BACKEND_FORM)


def _convert_migraphx(config: HipgraftConfig) -> Sequence[PipelineElement]:
    # MIGraphX has chosen the subgraphs already; they only have to be written as hipDNN ops.
    flat = isinstance(config, HipgraftMigraphxConfig) and config.flat_arguments
    return (make_pass("convert-migraphx-to-hipdnn", flat_arguments=flat),)


def _outline(config: HipgraftConfig) -> Sequence[PipelineElement]:
    # Transposed convolutions get filters for the elements that they read, instead of an image with
    # zeros. Contractions of f32 that are exact in f16 read f16. On AMD GPUs, products are split
    # where one kernel can combine the parts. Products of one matrix are joined, and views move out
    # of the way of fusion. hipDNN graphs are formed next; all that remains then becomes fallback
    # kernels. Conversions to bytes and back end in a graph. Copies that only reorder move to where
    # a graph can write the other order. On GPUs, convolutions get their images channels last; on
    # those of AMD, with padding. Launches are ordered while results are tensors. Equal graphs are
    # merged before code generation, which is the expensive part.
    gpu = config.gpu or product_of(config.target[0])
    kind = Target.parse(config.target[0]).kind
    is_cpu = kind is TargetKind.CPU  # other layouts and wider products gain nothing there
    parts = ("hipdnn-split-products",) if kind is TargetKind.AMDGPU else ()
    narrow = make_pass("hipdnn-narrow-contractions", target=config.target)
    products = (narrow, *parts, "hipdnn-batch-products")
    outline_pass = make_pass("hipdnn-outline", gpu=gpu, calibration=config.calibration)
    layouts = () if is_cpu else (make_pass("hipdnn-assign-layouts", gpu=gpu),)
    # Dense convolutions gain from padding in memory only if all targets are CDNA.
    strictest = min(config.target, key=lambda target: Target.parse(target).is_gfx9)
    placed = make_pass("hipdnn-place-in-padding", target=strictest)
    padding = (placed,) if kind is TargetKind.AMDGPU else ()
    return (
        "hipdnn-subpixel-convolutions",
        *(() if is_cpu else products),
        "hipdnn-raise-dequantization",
        "hipdnn-sink-views",
        outline_pass,
        "hipdnn-outline-fallback",
        "hipdnn-fold-conversions",
        "hipdnn-fold-copies",
        *layouts,
        *padding,
        "hipdnn-order-launches",
        "hipdnn-deduplicate",
    )


def _lower(config: HipgraftConfig) -> Sequence[PipelineElement]:
    return (make_pass("convert-hipdnn-to-linalg", target=config.target),)


def _compile(config: HipgraftConfig) -> Sequence[PipelineElement]:
    # The code generator still sees values, because IREE compiles functions on tensors.
    compile_pass = make_pass(
        "hipdnn-compile",
        target=config.target,
        extra_flags=config.extra_flags,
        save_temps=config.save_temps,
        # A user who stops here may handle such an op otherwise; a host program cannot.
        keep_failed=config.compile_to == "hipdnn-executables",
    )
    return (compile_pass,)


def _compile_dynamic(config: HipgraftConfig) -> Sequence[PipelineElement]:
    compile_pass = make_pass(
        "hipgraft-compile-dynamic",
        target=config.target,
        extra_flags=config.extra_flags,
        save_temps=config.save_temps,
    )
    return (*PHASE_SCALARIZE, compile_pass)


def _computes(module: Contents) -> bool:
    """Returns whether some op outside of containers computes: not all is outlined yet."""
    return module.has("torch.", "migraphx.") or any(map(GraphOp.computes, module.ops))


STAGES = (
    Stage("onnx", lambda module: module.has("torch.operator onnx.")),
    Stage(
        "torch",
        # Any function that nothing else recognizes. Only the phase can see whether it is an import
        # or already in backend form, so the phase always runs.
        lambda module: not module.has("torch.operator onnx."),
        {"onnx": _onnx_to_torch, "torch": lambda _: PHASE_TORCH_BACKEND_FORM},
    ),
    Stage("hipdnnep", lambda module: module.has("torch.operator hipdnn.graph")),
    Stage("migraphx", lambda module: module.has("migraphx.") or module.takes("!migraphx.shaped<")),
    Stage(
        "hipdnn-ops",
        lambda module: module.has("hipdnn.", "migraphx.mlir."),
        {
            "torch": lambda _: PHASE_CONVERT,
            "hipdnnep": lambda _: PHASE_HIPDNNEP,
            "migraphx": _convert_migraphx,
        },
    ),
    Stage(
        "hipdnn-graphs",
        lambda module: module.has("hipdnn.graph", "hipdnn.fallback") and not _computes(module),
        {"hipdnn-ops": _outline},
    ),
    Stage(
        "hipdnn-linalg",
        lambda module: LOWERED_FOR in module.notes,
        {"hipdnn-graphs": _lower},
    ),
    Stage(
        "hipdnn-executables",
        lambda module: module.has("hipdnn.executable"),
        {"hipdnn-graphs": _compile, "hipdnn-linalg": _compile},
    ),
    Stage(
        "hipdnn-buffers",
        lambda module: module.has("hipdnn.executable") and module.takes("memref<"),
        {"hipdnn-executables": lambda _: PHASE_BUFFERIZE},
    ),
    Stage(
        "host",
        lambda module: module.has("gpu."),
        {"hipdnn-buffers": lambda _: PHASE_MERGE},
    ),
)
"""All stages in compilation order; the last one that recognizes a module is its stage."""

STAGE_NAMES = tuple(stage.name for stage in STAGES if stage.phases)
"""The stages that a phase produces, at which a pipeline can end."""


def stage_of(module: ir.Module) -> str:
    """Returns the name of the stage that a program is at.

    Raises:
        HipgraftError: the module has no function.
    """
    return stages.stage_of(module, STAGES)


def has_symbols(module: ir.Module) -> bool:
    """Returns whether a module has a function with dynamic shapes."""
    return any(SYMBOLS in op.operation.attributes for op in module.body.operations)


def final_stage(config: HipgraftConfig) -> str:
    """Returns the stage of executable programs."""
    # The CPU runs whole graphs, which have no launches to merge.
    return "hipdnn-buffers" if config.target == ("cpu",) else "host"


def last_stage(config: HipgraftConfig) -> str:
    """Returns the stage at which the pipeline ends.

    Raises:
        HipgraftError: there is no such stage.
    """
    stage = config.compile_to or final_stage(config)
    if stage not in STAGE_NAMES:
        raise HipgraftError(f"unknown stage '{stage}'; expected one of {', '.join(STAGE_NAMES)}")
    return stage


def route(
    current: str, config: HipgraftConfig, *, dynamic: bool = False
) -> list[tuple[str, Sequence[PipelineElement]]]:
    """Returns the phases that bring a program from a stage to the last one of `config`.

    Args:
        current: the stage that the program is at.
        config: targets, and the last stage.
        dynamic: whether the program has functions with dynamic shapes.

    Returns:
        The name of each stage with the passes that produce it.

    Raises:
        HipgraftError: there is no such last stage, or programs with dynamic shapes lack it.
    """
    last = last_stage(config)
    if not dynamic or current not in ("onnx", "torch") or last == "torch":
        phases = stages.route(STAGES, current, last)
        return [(stage.name, phase(config)) for stage, phase in phases]
    if last != final_stage(config):
        raise HipgraftError(
            f"a program of dynamic shapes has no stage '{last}'; "
            "compile it for given extents by --specialize"
        )
    phases = stages.route(STAGES, current, "torch")
    return [
        *((stage.name, phase(config)) for stage, phase in phases),
        (last, _compile_dynamic(config)),
    ]


def elements(current: str, config: HipgraftConfig) -> list[PipelineElement]:
    """Returns all passes from a stage to the last one of `config`."""
    return [element for _, phase in route(current, config) for element in phase]
