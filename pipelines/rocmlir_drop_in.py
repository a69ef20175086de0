"""The pipeline that does the job of the iree-rocMLIR prototype in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipgraft.passmanager.base import option
from hipgraft.passmanager.registry import PipelineElement

PIPELINE_NAME = "rocmlir-drop-in"


@dataclass(frozen=True)
class RocmlirDropInConfig:
    """Options of `rocmlir-drop-in`."""

    arch: str = option("", "architecture, as gfx90a:sramecc+:xnack-; by default the module's")
    features: str = option("", "features, as +sramecc,-xnack; by default the architecture's")
    iree_bin: str = option("", "folder of an iree-compile to use; by default IREE_BIN's, or ours")
    iree_debug: int = option(-1, "0, 1 or 2: how much to tell; by default IREE_DEBUG's")
    iree_config: str = option("", "YAML list of further compiler flags; by default IREE_CONFIG's")
    iree_disable: bool = option(False, "do nothing; IREE_DISABLE=1 does the same")


def build_rocmlir_drop_in_pipeline(config: RocmlirDropInConfig) -> Sequence[PipelineElement]:
    """Compiles MIGraphX's kernel functions and grafts the binaries, as the prototype did.

    Takes a module as MIGraphX hands it to rocMLIR, or one in which rocMLIR's `gpu.binary` and
    launches are beside the functions. The prototype's environment variables hold.
    """
    # Imported here because the pass imports the code generator.
    from hipgraft.passes.migraphx_iree_gen import MigraphxIreeGenPass
    from hipgraft.passes.rock_iree_merge import RockIreeMergePass

    return (
        MigraphxIreeGenPass(
            arch=config.arch,
            features=config.features,
            iree_bin=config.iree_bin,
            iree_debug=config.iree_debug,
            iree_config=config.iree_config,
            iree_disable=config.iree_disable,
        ),
        RockIreeMergePass(iree_debug=config.iree_debug, iree_disable=config.iree_disable),
    )
